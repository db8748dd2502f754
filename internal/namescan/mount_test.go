package namescan

import (
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// Something else that is mounted in the tree is told and not entered, a bind of the same
// file system too; with openat2 and without.
func TestScanCrossesNoMount(t *testing.T) {
	needs.Root(t)
	if !needs.InChild(t) {
		return
	}
	top, other := t.TempDir(), t.TempDir()
	build(t, top, "in/.git/HEAD", "tmpfs/", "bind/", "f/.git/HEAD")
	build(t, other, ".git/HEAD")
	runtime.LockOSThread() // and never unlocked: the thread ends with the child
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		t.Fatal(err)
	}
	for _, m := range []struct {
		from, to, kind string
		flags          uintptr
	}{
		{"", "/", "", unix.MS_REC | unix.MS_PRIVATE},
		{"none", top + "/tmpfs", "tmpfs", 0},
		{other, top + "/bind", "", unix.MS_BIND},
	} {
		if err := unix.Mount(m.from, m.to, m.kind, m.flags, ""); err != nil {
			t.Fatal(err)
		}
		if m.flags&unix.MS_REC == 0 {
			defer func() { _ = unix.Unmount(m.to, unix.MNT_DETACH) }()
		}
	}
	build(t, top, "tmpfs/.git/HEAD")
	for _, steps := range []bool{false, true} {
		s := &scanner{opts: Options{Max: DefaultMax}, buf: make([]byte, bufferSize)}
		s.opener.steps = steps
		if err := s.scan(open(t, top)); err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(s.res.Git, byPath)
		slices.Sort(s.res.Mounts)
		if !slices.Equal(s.res.Mounts, []string{"bind", "tmpfs"}) || !slices.Equal(s.res.Git, []Found{{"f/.git", Folder}, {"in/.git", Folder}}) {
			t.Errorf("one component at a time %v: %+v", steps, s.res)
		}
	}
	// Positive control: what is mounted there can be scanned by itself.
	if got := scan(t, top+"/bind", Options{}); len(got.Git) != 1 {
		t.Errorf("the mounted folder: %+v", got)
	}
}
