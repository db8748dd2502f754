package spawn

import (
	"errors"
	"io"
	"os"
	"path"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// room is a small system in namespaces: the host's programs, its own /proc and /dev, and
// folders that the test shares with it.
type room struct {
	t  testing.TB
	ns *Namespaces
}

// newRoom needs user namespaces. The folders w are writable inside, under their own names.
func newRoom(t testing.TB, w ...string) *room {
	t.Helper()
	needs.Userns(t)
	r := &room{t: t, ns: &Namespaces{}}
	if os.Geteuid() == 0 {
		all := []IDMap{{0, 0, 1<<32 - 1}}
		r.ns.UIDMap, r.ns.GIDMap = all, all
	}
	for _, dir := range []string{"/usr", "/bin", "/lib", "/lib64"} {
		if target, err := os.Readlink(dir); err == nil {
			r.add(Mount{Kind: KindSymlink, Path: dir, Source: target})
		} else if _, err := os.Stat(dir); err == nil {
			r.bind(dir, Mount{Exec: true})
		}
	}
	r.add(Mount{Kind: KindDir, Path: "/proc", Mode: 0o555}, Mount{Kind: KindFS, Path: "/proc", FSType: "proc", Writable: true})
	r.add(Mount{Kind: KindDir, Path: "/dev", Mode: 0o755})
	r.bind("/dev/null", Mount{Writable: true, Devices: true})
	for _, dir := range w {
		r.bind(dir, Mount{Writable: true, Exec: true})
	}
	return r
}

func (r *room) add(m ...Mount) { r.ns.Mounts = append(r.ns.Mounts, m...) }

// has reports whether a path is made already.
func (r *room) has(name string) bool {
	for _, m := range r.ns.Mounts {
		if m.Path == name {
			return true
		}
	}
	return name == "/"
}

// place makes the folders above name.
func (r *room) place(name string) {
	if dir := path.Dir(name); !r.has(dir) {
		r.place(dir)
		r.add(Mount{Kind: KindDir, Path: dir, Mode: 0o755})
	}
}

// bind shows a file or folder of the host under its own name.
func (r *room) bind(name string, m Mount) {
	r.t.Helper()
	r.place(name)
	info, err := os.Stat(name)
	if err != nil {
		r.t.Fatal(err)
	}
	kind := KindFile
	if info.IsDir() {
		kind = KindDir
	}
	if m.Path == "" {
		m.Path = name
	}
	m.Kind, m.Source, m.Held = KindBind, name, hold(r.t, name)
	r.add(Mount{Kind: kind, Path: m.Path, Mode: 0o755}, m)
}

// hold opens a path as a descriptor that lives as long as the test.
func hold(t testing.TB, name string) int {
	t.Helper()
	fd, err := unix.Open(name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

// request starts /bin/sh -c script in the room, with no Landlock domain and no filter:
// what holds here holds by the namespaces alone.
func (r *room) request(script string, args ...string) *Request {
	return &Request{
		Path: "/bin/sh", Argv: append([]string{"sh", "-c", script, "sh"}, args...), Env: []string{"PATH=/usr/bin:/bin"},
		Unconfined: true, Stdio: [3]int{0, 1, 2}, Umask: 0o022, Session: true, Namespaces: r.ns,
	}
}

// startIn starts r on a thread that outlives it.
func startIn(t testing.TB, r *Request) *Child {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	c, err := Start(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Init.End()
		unix.Close(c.PidFD)
		if c.Listener >= 0 {
			unix.Close(c.Listener)
		}
	})
	return c
}

// ended waits for the program's end.
func ended(t testing.TB, c *Child) Event {
	t.Helper()
	for {
		e, err := c.Init.Event()
		if err != nil {
			t.Fatalf("no word of the program's end: %v", err)
		}
		if e.Ended() {
			return e
		}
	}
}

// run starts a script, waits for its end and returns what it printed.
func (r *room) run(script string, args ...string) (string, Event) {
	r.t.Helper()
	return output(r.t, r.request(script, args...))
}

func output(t testing.TB, r *Request) (string, Event) {
	t.Helper()
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	r.Stdio[1], r.Stdio[2] = int(to.Fd()), int(to.Fd())
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c, err := Start(r)
	_ = to.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(c.PidFD)
	e := ended(t, c)
	c.Init.End()
	text, err := io.ReadAll(from)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), e
}

// noChild fails if a child of this process is left.
func noChild(t testing.TB) {
	t.Helper()
	if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); !errors.Is(err, unix.ECHILD) {
		t.Errorf("a child is left: %d, %v", pid, err)
	}
}
