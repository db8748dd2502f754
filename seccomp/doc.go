// Package seccomp holds the default seccomp filters, ready to load, and what is
// needed to read, run and judge a filter without loading it.
//
//	p, err := seccomp.Default(seccomp.Options{Network: seccomp.NetPorts})
//	if err != nil {
//		return err
//	}
//	// The spawning code passes &p[0] and len(p) to seccomp(2).
//	v, err := seccomp.Explain(p, "ptrace") // v.String() == "errno EPERM"
//
// The default filter is an allow list: what it does not name is answered with
// ENOSYS, so that a call that is newer than this package fails closed and
// programs fall back. A call that enters by another architecture or by x32 kills
// the process. docs/seccomp.md lists the groups that are treated apart.
//
// Nothing is compiled at start. Package profile states the policy in the OCI
// form, package tree compiles it, and the result is checked in. Package compile
// turns the OCI profile of a user into a [Program] by libseccomp; it needs cgo,
// and runs in a process of its own.
//
// [Observe] changes a filter for a program that is watched, without a change to what the
// program may do. [SoleListener] keeps a program from being the one who answers what its
// filter notifies.
//
// # Limits
//
// A filter sees the number and the registers of a call, never the memory they
// point to: paths, socket addresses and the arguments of clone3 and openat2 are
// out of its reach. It can not tell one socket from another, so a rule about
// listen or bind holds for every family. It judges calls, not what a process
// already has: descriptors that are inherited or received stay usable.
//
// Process numbers are not filtered but for prlimit64 and get_robust_list:
// setpriority, sched_setaffinity and ioprio_set reach other processes of the
// same user unless a pid namespace hides them.
//
// There are filters for amd64 and arm64. Those of both are checked by [Program.Eval]
// on every machine, and by a kernel where the tests run: for arm64 in an emulated
// machine.
package seccomp
