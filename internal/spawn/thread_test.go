package spawn

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// A request for another thread starts nothing; one for this thread does.
func TestThread(t *testing.T) {
	needs.Kernel(t)
	for _, c := range []struct {
		name   string
		inside bool
	}{{"as a child", false}, {"in namespaces", true}} {
		t.Run(c.name, func(t *testing.T) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			r := &Request{
				Path: "/bin/true", Argv: []string{"true"}, Unconfined: true, Stdio: [3]int{0, 1, 2}, DieWithParent: true,
			}
			if c.inside {
				r.Namespaces = newRoom(t).ns
			}
			fds := len(openFDs(t))
			r.Thread = unix.Gettid() + 1<<23 // there is none with that number (proc(5), pid_max)
			if child, err := Start(r); !errors.Is(err, ErrMoved) || child != nil {
				t.Fatalf("on another thread: %+v, %v", child, err)
			}
			if _, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); !errors.Is(err, unix.ECHILD) {
				t.Errorf("there is a child: %v", err)
			}
			if now := len(openFDs(t)); now != fds {
				t.Errorf("%d descriptors, were %d", now, fds)
			}
			r.Thread = unix.Gettid()
			child, err := Start(r)
			if err != nil {
				t.Fatal(err)
			}
			if c.inside {
				ended(t, child)
				child.Init.End()
				unix.Close(child.PidFD)
			} else {
				wait(t, child)
			}
		})
	}
}

func openFDs(t *testing.T) []os.DirEntry {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return list
}
