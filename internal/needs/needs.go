package needs

import (
	"fmt"
	"os"
	"slices"
	"testing"
)

// LandlockABI asks for a kernel that offers Landlock at the given ABI or a
// later one.
func LandlockABI(t testing.TB, abi int) {
	t.Helper()
	d := read(t)
	settle(t, fmt.Sprintf("%s:%d", wordLandlock, abi), d.abi >= abi, tryLandlock(abi))
}

// Kernel asks for what every start and every look at another process is made of, and what an
// emulator of single programs lacks: clone(2) with CLONE_PIDFD (Linux 5.2),
// process_vm_readv(2) (Linux 3.2), openat2(2) (Linux 5.6), and a /proc that names the program which runs.
func Kernel(t testing.TB) { t.Helper(); need(t, wordKernel, tryKernel) }

// Seccomp asks for seccomp filters (Linux 3.17, seccomp(2)).
func Seccomp(t testing.TB) { t.Helper(); need(t, wordSeccomp, trySeccomp) }

// Notify asks for seccomp user notification with
// SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (Linux 5.19, seccomp_unotify(2)).
func Notify(t testing.TB) { t.Helper(); need(t, wordNotify, tryNotify) }

// Userns asks for a user namespace with an identity map, in which a mount
// namespace can be made and its root be made private.
func Userns(t testing.TB) { t.Helper(); need(t, wordUserns, tryUserns) }

// Netns asks for an own network namespace: by a user namespace for an ordinary
// user, directly for root.
func Netns(t testing.TB) { t.Helper(); need(t, wordNetns, tryNetns) }

// Root asks to run with effective uid 0.
func Root(t testing.TB) { t.Helper(); need(t, wordRoot, tryRoot) }

// User asks to run with another effective uid than 0.
func User(t testing.TB) { t.Helper(); need(t, wordUser, tryUser) }

// SysResource asks for CAP_SYS_RESOURCE, with which hard limits can be raised (setrlimit(2)).
func SysResource(t testing.TB) { t.Helper(); need(t, wordSysResource, trySysResource) }

// CgroupKill asks for a cgroup v2 hierarchy in which this process may make a
// group that has the file cgroup.kill (Linux 5.14, cgroups(7)).
func CgroupKill(t testing.TB) { t.Helper(); need(t, wordCgroupKill, tryCgroup("cgroup.kill")) }

// CgroupMemory asks for a cgroup v2 hierarchy in which this process may make a
// group that has the memory controller.
func CgroupMemory(t testing.TB) { t.Helper(); need(t, wordCgroupMemory, tryCgroup("memory.max")) }

// Overlay asks for an overlay mount in an own mount namespace: in a user
// namespace for an ordinary user (Linux 5.11).
func Overlay(t testing.TB) { t.Helper(); needIn(t, wordOverlay, tryOverlay) }

// Casefold asks for a directory whose names ignore case, on an ext4 image.
func Casefold(t testing.TB) { t.Helper(); needIn(t, wordCasefold, tryCasefold) }

// Btrfs asks for a mount of a btrfs image.
func Btrfs(t testing.TB) { t.Helper(); needIn(t, wordBtrfs, tryBtrfs) }

// Ext4 asks for a mount of an ext4 image.
func Ext4(t testing.TB) { t.Helper(); needIn(t, wordExt4, tryExt4) }

// XFS asks for a mount of an xfs image.
func XFS(t testing.TB) { t.Helper(); needIn(t, wordXFS, tryXFS) }

// VFAT asks for a mount of a vfat image.
func VFAT(t testing.TB) { t.Helper(); needIn(t, wordVFAT, tryVFAT) }

// FUSE asks for a mount of bindfs(1), a file system in a program.
func FUSE(t testing.TB) { t.Helper(); needIn(t, wordFUSE, tryFUSE) }

// TTY asks for a pseudo terminal (pty(7)).
func TTY(t testing.TB) { t.Helper(); need(t, wordTTY, tryTTY) }

// Tool asks for a program that has a gating word of its own, and returns its
// path. It is found when it is in PATH and "--version" ends with status 0.
// A name without a gating word fails the test; see [Program].
func Tool(t testing.TB, name string) string {
	t.Helper()
	if !slices.Contains(tools(), name) {
		t.Fatalf("needs: tool %q has no gating word; use Program", name)
	}
	path, err := tryTool(name)
	settle(t, name, read(t).has(name), err)
	return path
}

// Program asks for any other program, by name or by absolute path, and returns
// its path. It is looked up and not run. Its word is "programs".
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := tryProgram(name)
	settle(t, wordPrograms, read(t).has(wordPrograms), err)
	return path
}

// need settles one plain word by trying.
func need(t testing.TB, word string, try func() error) {
	t.Helper()
	settle(t, word, read(t).has(word), try())
}

// needIn settles one plain word by trying in a folder of the test's own.
func needIn(t testing.TB, word string, try func(dir string) error) {
	t.Helper()
	settle(t, word, read(t).has(word), try(t.TempDir()))
}

// settle goes on when nothing is missing, and otherwise skips, or fails when
// the need must be met.
func settle(t testing.TB, word string, must bool, missing error) {
	t.Helper()
	switch {
	case missing == nil:
	case must:
		t.Fatalf("needs: %s must run here (%s), but: %v", word, MustRun, missing)
	default:
		t.Skipf("needs: %s: %v", word, missing)
	}
}

// read parses BRAINBOX_TEST_MUST_RUN, and fails the test when it is wrong.
func read(t testing.TB) demands {
	t.Helper()
	d, err := parse(os.Getenv(MustRun))
	if err != nil {
		t.Fatal(err)
	}
	return d
}
