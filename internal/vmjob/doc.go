// Package vmjob is what the two halves of "make vm" tell each other: the host's
// internal/cmd/vm writes a list of jobs, the guest's internal/cmd/vminit runs them and writes
// what became of each.
//
//	text, err := json.Marshal(vmjob.List{Kernel: "7.3.4", Jobs: jobs})
//
// # Limits
//
// Both halves are built from one tree: there is no version of the format.
package vmjob
