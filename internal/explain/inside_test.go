package explain

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// otherRoot has a thread live in a mount namespace of its own, with root as its root folder
// and in the folder cwd there. It shares the memory with the test, and ends with it.
func otherRoot(t *testing.T, root, cwd string, mounts func() error) (tid int) {
	t.Helper()
	started := make(chan error)
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the function
		tid = unix.Gettid()
		started <- func() error {
			if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
				return err
			}
			if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
				return err
			}
			if err := unix.Mount("tmpfs", root, "tmpfs", 0, ""); err != nil {
				return err
			}
			if err := mounts(); err != nil {
				return err
			}
			if err := os.Mkdir(root+"/old", 0o700); err != nil {
				return err
			}
			if err := unix.PivotRoot(root, root+"/old"); err != nil {
				return err
			}
			if err := unix.Chdir("/"); err != nil {
				return err
			}
			if err := unix.Unmount("/old", unix.MNT_DETACH); err != nil {
				return err
			}
			return unix.Chdir(cwd)
		}()
		<-over
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	return tid
}

// In a file system of the program's own, names are found from its root, and what only the
// host has is a denial if the plan keeps it from the program.
func TestInside(t *testing.T) {
	if !needs.InMounts(t) {
		return
	}
	dir := realTemp(t)
	put(t, dir, "root/", "in/", "in/f", "in/l -> f", "in/abs -> "+dir+"/in/f", "in/out -> ../hidden/f",
		"hidden/", "hidden/f", "hidden/shut/",
		"hidden/shut/f", "ro/", "ro/f", "link -> hidden")
	root := dir + "/root"
	tid := otherRoot(t, root, dir+"/in", func() error {
		for _, name := range []string{"in", "ro"} {
			if err := os.MkdirAll(root+dir+"/"+name, 0o755); err != nil {
				return err
			}
			if err := unix.Mount(dir+"/"+name, root+dir+"/"+name, "", unix.MS_BIND, ""); err != nil {
				return err
			}
		}
		return unix.Mount("", root+dir+"/ro", "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "")
	})
	w := newWatch(t, Config{Judge: grants{below: []string{dir + "/in"}}, Inside: true})
	w.tid = tid
	for _, tc := range []struct {
		want, call string
		args       []any
	}{
		{"read hidden/f regular refused", "openat", []any{0, dir + "/hidden/f", 0}},
		{"read hidden/f regular refused", "openat", []any{unix.AT_FDCWD, "../hidden/f", 0}},
		{"read hidden/f regular refused", "openat", []any{unix.AT_FDCWD, "out", 0}},
		{"read hidden/f regular refused", "openat", []any{0, dir + "/link/f", 0}},
		{"read hidden folder refused", "openat", []any{0, dir + "/hidden", 0}},
		{"read hidden folder refused", "openat", []any{0, dir + "/hidden", unix.O_PATH}},
		{"read hidden/f regular refused", "openat", []any{0, dir + "/hidden/f", unix.O_PATH | create}},
		{"create hidden/n regular refused", "openat", []any{0, dir + "/hidden/n", create}},
		{"create hidden/n folder refused", "mkdir", []any{dir + "/hidden/n", 0}},
		{"remove hidden/f regular refused", "unlinkat", []any{0, dir + "/hidden/f", 0}},
		{"write ro/f regular refused", "openat", []any{0, dir + "/ro/f", unix.O_WRONLY}},
		{"create ro/n regular refused", "openat", []any{0, dir + "/ro/n", create}},
		{"remove hidden/f regular refused", "rename", []any{dir + "/hidden/f", dir + "/in/n"}},
		{"create hidden/n regular refused", "rename", []any{dir + "/in/f", dir + "/hidden/n"}},

		{"", "openat", []any{0, dir + "/none/f", 0}},
		{"", "openat", []any{unix.AT_FDCWD, "f", unix.O_RDWR}},
		{"", "openat", []any{unix.AT_FDCWD, "l", 0}},
		{"", "openat", []any{unix.AT_FDCWD, "abs", 0}},
		{"", "openat", []any{unix.AT_FDCWD, "n", 0}},
		{"", "openat", []any{unix.AT_FDCWD, "n", create}},
		{"", "openat", []any{unix.AT_FDCWD, "f", unix.O_PATH}},
		{"", "openat", []any{0, dir + "/ro", unix.O_PATH}},
		{"", "openat", []any{0, dir + "/none", unix.O_PATH}},
		{"", "openat", []any{0, dir + "/hidden/n", unix.O_PATH | create}},
		{"", "mkdir", []any{dir + "/none/n", 0}},
	} {
		got := w.call(tc.call, tc.args...)
		if s := words(got, dir); s != tc.want {
			t.Errorf("%s %q:\n got %q\nwant %q", tc.call, tc.args, s, tc.want)
		}
		for _, s := range got {
			if s.Certainty != Proven {
				t.Errorf("%s %q: certainty %d", tc.call, tc.args, s.Certainty)
			}
		}
	}
}

// Whoever has changed its root folder is told of as unknown, and only he.
func TestMovedRoot(t *testing.T) {
	if !needs.InMounts(t) {
		return
	}
	dir := realTemp(t)
	put(t, dir, "root/", "f")
	tid := otherRoot(t, dir+"/root", "/", func() error { return os.MkdirAll(dir+"/root"+dir+"/f", 0o755) })
	w := newWatch(t, Config{Judge: grants{}, Movable: true})
	own := w.tid
	if fd, err := openRoot(own); err != nil {
		t.Fatal(err)
	} else {
		w.root = fd
	}
	for at, want := range map[int]string{own: "read f regular refused", tid: "read f unknown"} {
		w.tid = at
		if got := words(w.call("openat", 0, dir+"/f", 0), dir); got != want {
			t.Errorf("got %q, want %q", strings.ReplaceAll(got, dir, "."), want)
		}
	}
}
