package explain

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
	"brainbox/internal/notify"
)

// resolved is what one way finds, in short.
func resolved(n *name) string {
	switch n.state {
	case found:
		return "found " + string(n.path) + " " + strconv.FormatUint(n.status.ino, 10)
	case absent:
		return "absent " + string(n.path)
	case failed:
		return "failed " + n.errno.Error()
	case unknown:
		return "unknown"
	case pseudo:
		return "pseudo"
	}
	return "?"
}

// The quick way, the walk and the kernel agree on every name.
func TestWalkAgreesWithKernel(t *testing.T) {
	needs.Kernel(t)
	dir := realTemp(t) + "/1/2/3/4/5/6" // so deep that no name leads out
	put(t, dir, "a/", "a/b/", "a/b/f", "a/f", "a/up -> ..", "a/l -> b/f", "a/b/abs -> "+dir+"/a", "x -> a/b/../up", "loop -> loop/a",
		"gone -> a/none", "far -> a/none/none", "slash -> a/b/", "fileslash -> a/f/")
	t.Chdir(dir + "/a")
	w := newWatch(t, Config{Judge: grants{}})
	l := newLook(w.Engine)
	l.begin(&notify.Call{TID: w.tid}, "open")
	defer l.end()
	comps := []string{"a", "b", "f", "up", "l", "abs", "..", ".", "", "x", "loop", "gone", "far", "slash", "fileslash", "none"}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 4000 {
		var parts []string
		for range 1 + rnd.IntN(5) {
			parts = append(parts, comps[rnd.IntN(len(comps))])
		}
		text := strings.Join(parts, "/")
		if rnd.IntN(3) == 0 {
			text = dir + "/" + text
		}
		if text == "" || text[0] == '/' && !strings.HasPrefix(text, dir) {
			continue
		}
		h := []how{0, follow, creating, creating | follow, creating | folder}[rnd.IntN(5)]
		var quick, slow name
		quick.reset()
		slow.reset()
		quick.fd, quick.parent, slow.fd, slow.parent = -1, -1, -1, -1
		l.resolve(&quick, unix.AT_FDCWD, []byte(text), h)
		l.walk(&slow, unix.AT_FDCWD, []byte(text), h)
		if slow.state == found {
			slow.status, _ = statusOf(slow.fd)
		}
		want := byKernel(text, h)
		if got := resolved(&quick); got != want {
			t.Errorf("%q %d: %s; the kernel says %s", text, h, got, want)
		}
		if got := resolved(&slow); got != want {
			t.Errorf("%q %d by a walk: %s; the kernel says %s", text, h, got, want)
		}
		quick.reset()
		slow.reset()
	}
}

// byKernel asks the kernel itself: of what is absent by making it.
func byKernel(text string, h how) string {
	flags := unix.O_PATH | unix.O_CLOEXEC
	if h&follow == 0 {
		flags |= unix.O_NOFOLLOW
	}
	fd, err := unix.Open(text, flags, 0)
	state := "found "
	if err == unix.ENOENT && h&creating != 0 {
		if h&folder != 0 {
			if e := unix.Mkdir(text, 0o755); e == nil {
				fd, err = unix.Open(text, flags, 0)
				state = "absent "
			}
		} else {
			c := unix.O_CREAT | unix.O_WRONLY | unix.O_CLOEXEC
			if h&follow == 0 {
				c |= unix.O_EXCL
			}
			if made, e := unix.Open(text, c, 0o644); e == nil {
				unix.Close(made)
				fd, err = unix.Open(text, flags, 0)
				state = "absent "
			}
		}
	}
	if err != nil {
		return "failed " + err.Error()
	}
	defer unix.Close(fd)
	path, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	if state == "absent " {
		if os.Remove(path) != nil {
			return "cannot undo " + path
		}
		return state + path
	}
	s, _ := statusOf(fd)
	return state + path + " " + strconv.FormatUint(s.ino, 10)
}

// Names in /proc mean the program's own part of it, not this process's.
func TestOwnProc(t *testing.T) {
	needs.Kernel(t)
	dir := realTemp(t)
	put(t, dir, "in/", "out/", "out/f")
	cmd := exec.CommandContext(t.Context(), needs.Program(t, "sleep"), "1000")
	cmd.Dir = dir + "/out"
	file, err := os.Open(dir + "/out/f")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, p, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer p.Close()
	cmd.Stdin, cmd.ExtraFiles = file, []*os.File{r}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	w := newWatch(t, Config{Judge: grants{}})
	l := newLook(w.Engine)
	pid := strconv.Itoa(cmd.Process.Pid)
	l.begin(&notify.Call{TID: cmd.Process.Pid}, "open")
	defer l.end()
	for text, want := range map[string]string{
		"/proc/self/status":             "found /proc/" + pid + "/status",
		"/proc/thread-self/status":      "found /proc/" + pid + "/task/" + pid + "/status",
		"/proc/self/cwd":                "found " + dir + "/out",
		"/proc/self/cwd/f":              "found " + dir + "/out/f",
		"/proc/self/fd/0":               "found " + dir + "/out/f",
		"/dev/fd/0":                     "found " + dir + "/out/f",
		"/dev/stdin":                    "found " + dir + "/out/f",
		"/dev/fd/3":                     "pseudo",
		"/proc/self/fd/3/":              "pseudo",
		"/proc/self/fd/777":             "failed",
		"/proc/self/root" + dir:         "found " + dir,
		"/proc/" + pid + "/cwd/../in":   "found " + dir + "/in",
		"/proc/1/cwd":                   "unknown",
		"/proc/self/../" + pid + "/fd/": "found /proc/" + pid + "/fd",
	} {
		l.resolve(&l.one, unix.AT_FDCWD, []byte(text), follow)
		if got := resolved(&l.one); got != want && !strings.HasPrefix(got, want+" ") {
			t.Errorf("%s: %s; want %s", text, got, want)
		}
	}
}

// A folder that is gone, and names that end as the kernel's word for that does.
func TestDeletedFolder(t *testing.T) {
	needs.Kernel(t)
	dir := realTemp(t)
	put(t, dir, "gone/", "there (deleted)/", "there (deleted)/f")
	w := newWatch(t, Config{Judge: grants{}})
	for name, want := range map[string]string{"gone": "", "there (deleted)": "read there (deleted)/f regular refused"} {
		fd, err := unix.Open(dir+"/"+name, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		if name == "gone" {
			_ = os.Remove(dir + "/gone")
		}
		if got := words(w.call("openat", fd, "f", 0), dir); got != want {
			t.Errorf("%s: %q; want %q", name, got, want)
		}
		unix.Close(fd)
	}
}

// What a hanging file system does not say is unknown, and the call goes on.
func TestHangingFileSystem(t *testing.T) {
	needs.FUSE(t)
	if !needs.InMounts(t) {
		return
	}
	dir := realTemp(t)
	put(t, dir, "from/", "from/f", "from/g", "at/")
	cmd := exec.CommandContext(t.Context(), "bindfs", "-f", dir+"/from", dir+"/at")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(unix.SIGCONT)
		_ = unix.Unmount(dir+"/at", unix.MNT_DETACH)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		var fs unix.Statfs_t
		if unix.Statfs(dir+"/at", &fs) == nil && fs.Type == unix.FUSE_SUPER_MAGIC {
			break
		}
		if time.Now().After(end) {
			t.Skip("bindfs did not mount")
		}
	}
	w := newWatch(t, Config{Judge: grants{}})
	w.budget = newBudget(30*time.Second, time.Hour)
	if got, want := words(w.call("openat", 0, dir+"/at/f", 0), dir), "read at/f regular refused"; got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
	if err := cmd.Process.Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	w.budget = newBudget(time.Millisecond, 2*time.Millisecond)
	for range 4 { // the last two find nothing left to wait with
		if got, want := words(w.call("openat", 0, dir+"/at/g", 0), dir), "read at/g unknown"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Links can make a name of a hundred thousand components: who asks for that is told as not
// known, and costs the supervisor little.
func TestWalkIsBounded(t *testing.T) {
	needs.Kernel(t)
	dir := realTemp(t)
	long := strings.Repeat("d/../", 2000/len("d/../"))
	put(t, dir, "d/", "one -> "+long+"none", "four -> "+long+"three", "three -> "+long+"two", "two -> "+long+"one")
	w := newWatch(t, Config{Judge: grants{}})
	if got := words(w.call("openat", 0, dir+"/one", 0), dir); got != "" {
		t.Errorf("a long name: %q", got)
	}
	got := w.call("openat", 0, dir+"/four", 0)
	if len(got) != 1 || got[0].Certainty != Unknown || w.budget.left.Load() != int64(allPatience) {
		t.Errorf("one that is too long: %q, %d ns left", words(got, dir), w.budget.left.Load())
	}
}
