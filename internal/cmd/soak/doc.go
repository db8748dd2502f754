// Command soak starts, kills and disturbs brainbox at random for a given time, and looks at
// what is left.
//
//	go run ./internal/cmd/soak -time 1h
//	go run ./internal/cmd/soak -time 3m -seed 7
//	go run ./internal/cmd/soak -seed 7 -step 1234 -v
//	go run ./internal/cmd/soak -seed 7 -time 10m -only bridge
//
// It builds the commands with the race detector, and itself, and makes steps, several at once. What
// a step does follows from the seed and its number alone (plan.go): a run in either isolation, as
// root or as an ordinary user, of a program that ends, dies, stops, stays or makes others; with a
// bridge and an operator, hosts by name, a Unix socket, --explain, limits; the wrapper with its
// killer; why --verify, check, learn; a run of a long-lived launcher.Host, a launcher.Worker. One in three
// is disturbed: its supervisor, its brainbox-host or its operator gets a signal at some time, or it
// is short of space, descriptors, memory, a sibling, a policy, its folder.
//
// Each step has a set of outcomes that it may have (expect.go): the statuses of docs/interfaces.md;
// exactly one of refused and exited among the status lines; nothing written outside; what it
// started gone. A report of the race detector, a panic and a hang are failures. Every -look, when nothing
// runs, and at the end, what is there is counted and compared with what was there after the first look:
// processes, namespaces, mounts, control groups, files below the folders for them, System V objects, keys, descriptors and
// memory of the long-lived ones. Growth is a failure.
//
// A failure is printed with the call that makes the step again. The counts are written to -report.
//
// Run by root it works in a pid, mount and IPC namespace and a control group of its own: what
// it leaves is its own, and when it ends, all ends.
//
// # Limits
//
// A step made again does the same, and does not take the same time: what a signal meets, differs.
// Without root there is no ordinary user besides the caller, no file system that is full, and other
// processes of the caller are not told from its own but by their words. brainbox-seccomp is not
// started: it is a static program, which the race detector is not. In the launcher's children,
// between fork and execve, the detector sees nothing. What is short of memory runs without the
// detector, which itself takes more.
package main
