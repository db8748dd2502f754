// Package needs lets a test say what it needs of the machine: it tries the
// thing, skips with the reason when it is not there, and fails instead when
// the environment says that it must be there.
//
//	func TestRefer(t *testing.T) {
//		needs.LandlockABI(t, 2)
//		if !needs.InChild(t) {
//			return // the child ran, and passed
//		}
//		… // what follows cannot be undone, and ends with the child
//	}
//
// BRAINBOX_TEST_MUST_RUN is a list of words, separated by commas or spaces. A
// need that is on the list and is not met fails the test. The words are
//
//	landlock:N kernel seccomp notify userns netns root user sys-resource cgroup-kill
//	cgroup-memory overlay casefold btrfs ext4 xfs vfat fuse tty bwrap git node
//	npm cc cargo runc crun strace gdb programs registry
//
// where "landlock:7" stands for every ABI up to 7, and "programs" for every
// program that [Program] is asked for. A word that is not on this list fails
// every test that asks for anything.
//
// [InChild], [IsChild] and [RunChild] run one test again in a process of its
// own, for system calls that cannot be taken back, and [InMounts] in one that may
// mount what it likes. A child that ran no test is
// a failure.
//
// # Limits
//
// A need is tried where the test runs: in the same container, with the same
// user. What it finds holds for now; another process may use up a limit (user
// namespaces, pseudo terminals) a moment later. [Overlay], [Casefold], [Btrfs],
// [Ext4], [XFS], [VFAT] and [FUSE] use the programs mount(8), mkfs(8) and
// bindfs(1), [Container] and [Crun] use runc(8) and crun(1), and they say so when these are what is missing.
// [NPM] takes a registry that is not there, or is slow, for a need that is not met.
package needs
