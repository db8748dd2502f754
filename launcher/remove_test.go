package launcher

import (
	"os"
	"runtime"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// TestRemoveTreeOfAnyDepth: a program may leave a tree that is deeper than there are
// descriptors, and longer than any path, with read-only folders in it.
func TestRemoveTreeOfAnyDepth(t *testing.T) {
	if !needs.InChild(t) {
		return
	}
	top := resolved(t.TempDir())
	at, err := unix.Open(mkdir(t, top+"/run", 0o700, -1), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3000 {
		for _, name := range []string{"d", "side-" + strconv.Itoa(i%7)} {
			if err := unix.Mkdirat(at, name, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		next, err := openFolder(at, "d", "d")
		if err != nil {
			t.Fatal(err)
		}
		if i%100 == 99 {
			err = unix.Fchmod(at, 0o500)
		}
		unix.Close(at)
		if at = next; err != nil {
			t.Fatal(err)
		}
	}
	unix.Close(at)
	few := unix.Rlimit{Cur: 64, Max: 64}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	removeTree(top, "run")
	if _, err := os.Lstat(top + "/run"); err == nil {
		t.Error("the tree is still there")
	}
}

// TestRemoveTreeStopsAtMounts: what somebody mounted there is not the run's to remove.
func TestRemoveTreeStopsAtMounts(t *testing.T) {
	needs.Root(t)
	if !needs.InChild(t) {
		return
	}
	top := resolved(t.TempDir())
	mounted := mkdir(t, top+"/run/a/b/mounted", 0o700, -1)
	mkdir(t, top+"/run/a/c/d", 0o700, -1)
	runtime.LockOSThread() // never unlocked: the thread has a mount namespace of its own
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", mounted, "tmpfs", 0, "size=64k"); err != nil {
		t.Fatal(err)
	}
	write(t, mounted+"/kept", "kept")
	fd, err := unix.Open(mounted, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	removeTree(top, "run")
	if err := unix.Faccessat(fd, "kept", unix.R_OK, 0); err != nil {
		t.Errorf("in the mounted folder: %v", err)
	}
	if _, err := os.Lstat(top + "/run/a/c"); err == nil { // positive control
		t.Error("what lies beside it is still there")
	}
	if err := unix.Unmount(resolvedMount(t, fd), unix.MNT_DETACH); err != nil {
		t.Fatal(err)
	}
	removeTree(top, "run")
	if _, err := os.Lstat(top + "/run"); err == nil {
		t.Error("without the mount: the tree is still there")
	}
}

// resolvedMount is where a folder is now: it may have been moved.
func resolvedMount(t *testing.T, fd int) string {
	t.Helper()
	path, err := pathOf(fd)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
