package scratch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"brainbox/dirchain"

	"golang.org/x/sys/unix"
)

// TestLinkAtEveryCall puts a link to outside in the place of one of the two
// directories before each single system call of a write in turn.
func TestLinkAtEveryCall(t *testing.T) {
	control := t.TempDir()
	nothing := watch(t, control)
	if mkdir(t, control+"/x"); nothing() {
		t.Fatal("the watch sees nothing")
	}
	for _, name := range []string{"bk/FB14 .brain", "bk/FB14 " + Location} {
		t.Run(name, func(t *testing.T) {
			refused, done := 0, 0
			for at := 1; ; at++ {
				calls, err := writeWithLink(t, name[len("bk/FB14 "):], at)
				if err == nil {
					done++
				} else {
					refused++
				}
				if calls < at { // the link was never made
					if err != nil {
						t.Errorf("undisturbed: %v", err)
					}
					break
				}
			}
			if refused < 10 || done == 0 {
				t.Errorf("%d refused, %d done", refused, done)
			}
		})
	}
}

// writeWithLink exchanges the directory before the given call, and returns how many
// calls there were.
func writeWithLink(t *testing.T, link string, at int) (int, error) {
	t.Helper()
	top := t.TempDir()
	dir, outside := top+"/root", top+"/outside"
	write(t, dir+"/.gitignore", "*\n")
	mkdir(t, outside+"/scratch")
	calls := 0
	exchange := func(string) error {
		if calls++; calls != at {
			return nil
		}
		name := filepath.Join(dir, link)
		if err := os.Rename(name, name+".away"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		if err := os.Symlink(outside, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		return nil
	}
	nothing := watch(t, outside, outside+"/scratch")
	root, err := dirchain.OpenRoot(dir, dirchain.Options{SkipSync: true, Trace: exchange})
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	a := New(root, Options{})
	a.git.trust = filepath.EvalSymlinks
	a.git.git = "/bin/true" // what git says is not the question here
	_, err = a.Write(t.Context(), Location+"/d/f", dirchain.WriteRequest{Content: text("x")})
	if !nothing() {
		t.Errorf("call %d: something was made outside, if only for a moment", at)
	}
	if got := list(t, outside); got != "scratch" {
		t.Errorf("call %d: outside is %s", at, got)
	}
	return calls, err
}

// watch returns a function that says once whether no name came or went in the
// directories: what is made and removed again is seen too (inotify(7)). A user may
// have 128 of them at a time.
func watch(t *testing.T, dirs ...string) func() bool {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	ended := sync.OnceFunc(func() { _ = unix.Close(fd) })
	t.Cleanup(ended)
	for _, dir := range dirs {
		if _, err = unix.InotifyAddWatch(fd, dir, unix.IN_CREATE|unix.IN_DELETE|unix.IN_MOVE); err != nil {
			t.Fatal(err)
		}
	}
	return func() bool {
		defer ended()
		_, err := unix.Read(fd, make([]byte, 4096))
		return errors.Is(err, unix.EAGAIN)
	}
}
