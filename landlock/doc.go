// Package landlock turns rules about held descriptors into a Landlock ruleset
// descriptor, and says beforehand what of it this kernel enforces.
//
//	sup, err := landlock.Probe()
//	…
//	dir, err := unix.Open("/srv/work", unix.O_PATH|unix.O_CLOEXEC, 0)
//	…
//	spec := landlock.Spec{Rules: []landlock.Rule{{FD: dir, Dir: true, Right: landlock.Write}}}
//	for _, e := range landlock.Decide(spec, sup) {
//		fmt.Println(e.Feature, e.State, e.Mechanism, e.Requirement)
//	}
//	ruleset, err := landlock.Build(spec, sup) // restricts nobody
//
// The zero [Spec] refuses everything Landlock can refuse. [Build] returns an
// error when the kernel cannot hold what the Spec asks for, unless the Spec
// names the feature in Degraded: nothing is dropped silently. All filesystem
// rights that the kernel knows are handled in every ruleset, so what no rule
// grants is refused.
//
// [Build] changes no thread and no process. The ruleset is meant for a child
// process, which calls landlock_restrict_self(2) between fork and execve.
//
// # Why not go-landlock's Config
//
// The numbers and the two system calls come from go-landlock's package
// landlock/syscall. Its Config is not used: it takes paths and opens them, which
// would look a name up a second time after it was judged; its Restrict confines
// every thread of the process; its BestEffort drops rights without a word.
// Importing landlock/syscall adds no package initialisation (GODEBUG=inittrace=1
// lists none) and no byte to a static binary that already has x/sys/unix, as
// the linker leaves psx out; importing package landlock adds 276 KiB and one
// initialisation of about 20 µs. With held descriptors Build takes about 3 µs a
// rule and allocates nothing (BenchmarkBuild has both).
//
// # Limits
//
// Landlock does not cover, at any ABI so far: chdir, stat, access, chmod,
// chown, utime, extended attributes, file locks, inotify, hard links that exist
// at start, descriptors that are already open or are received later, the mapping
// of libraries (so a program without execute can be run by ld.so or a shell),
// memfd, and sockets other than TCP and Unix. UDP is left to seccomp and to
// network namespaces: the rights of ABI 10 are listed in [Versions] and not
// used. TCP rules know ports, not addresses; MPTCP, TCP Fast Open and listen
// without bind pass.
//
// Rights only add up: a narrower rule inside a wider one takes nothing back. A
// rename or link between two rules is refused with EXDEV when the file would
// gain a right, as from write to write-execute. Below ABI 2 every rename and
// link between folders is refused. A rule follows the inode, not the name.
//
// renameat2 with RENAME_WHITEOUT leaves a character device 0:0 inside a write
// grant, for any user: the kernel asks neither for MAKE_CHAR nor for CAP_MKNOD.
// Where the kernel has fixed erratum 4 (seen with Linux 7.3) mknod of that device does the
// same. It cannot be opened (ENXIO); seccomp is what can refuse both.
package landlock
