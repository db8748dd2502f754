package spawn

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// lines is the output of a script that printed "name value" lines.
func lines(text string) map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 0 {
			m[strings.TrimSuffix(f[0], ":")] = strings.Join(f[1:], " ")
		}
	}
	return m
}

// esc/PR-05, esc/NS-09: what is not there cannot be reached.
func TestTheProgramSeesOnlyItsOwn(t *testing.T) {
	w := t.TempDir()
	r := newRoom(t, w)
	r.ns.Hostname, r.ns.Dir = "room", w
	// The positive control: this process is visible where it is.
	if _, err := os.Stat("/proc/" + strconv.Itoa(os.Getpid())); err != nil {
		t.Fatal(err)
	}
	out, e := r.run(`echo pid $$; echo parent $PPID; echo host $(hostname); echo dir $(pwd)
echo uid $(id -u) $(id -g); echo processes $(echo /proc/[0-9]*); echo root $(ls -a /); echo dev $(ls /dev)
grep -E "^(Cap|NoNewPrivs|SigIgn|SigBlk|NSpid)" /proc/self/status
echo mounts $(cut -d" " -f5 /proc/self/mountinfo); echo old $(ls -d /oldroot /.mask 2>&1 | wc -l); exit 7`)
	got := lines(out)
	if e != (Event{Exited, 7}) {
		t.Errorf("end: %+v, want status 7", e)
	}
	zero := "0000000000000000"
	mounts := []string{"/", "/usr", "/proc", "/dev/null", w}
	for _, m := range r.ns.Mounts {
		if m.Kind == KindBind && !slices.Contains(mounts, m.Path) { // where /bin and /lib are no links
			mounts = append(mounts, m.Path)
		}
	}
	for key, want := range map[string]string{
		"pid": "2", "parent": "1", "host": "room", "dir": w, "uid": fmt.Sprintf("%d %d", os.Geteuid(), os.Getegid()),
		"CapInh": zero, "CapPrm": zero, "CapEff": zero, "CapBnd": zero, "CapAmb": zero, "NoNewPrivs": "1", "SigIgn": zero, "SigBlk": zero,
		"dev": "null", "old": "2",
	} {
		if got[key] != want {
			t.Errorf("%s is %q, want %q", key, got[key], want)
		}
	}
	if p := got["processes"]; !regexp.MustCompile(`^/proc/1 /proc/2( /proc/[0-9]| /proc/[0-9][0-9])*$`).MatchString(p) {
		t.Errorf("processes: %q, want its own alone", p)
	}
	seen := strings.Fields(got["mounts"])
	slices.Sort(seen)
	slices.Sort(mounts)
	if !slices.Equal(seen, mounts) {
		t.Errorf("mounts: %q, want %q", seen, mounts)
	}
	// What holds outside is what held before.
	if host, err := os.Hostname(); err != nil || host == "room" {
		t.Errorf("host name outside: %q, %v", host, err)
	}
	if text := read(t, "/proc/self/mountinfo"); strings.Contains(text, w) {
		t.Errorf("a mount appeared outside:\n%s", text)
	}
	noChild(t)
}

// esc/NS-01, esc/NS-02, esc/NS-05, esc/NS-07, esc/NS-08: by the capabilities alone.
func TestTheProgramCannotMountOrBecomeMore(t *testing.T) {
	w := t.TempDir()
	r := newRoom(t, w)
	out, _ := output(t, r.victim("privileges", w))
	got := lines(out)
	for _, call := range []string{
		"mount", "remount", "umount", "pivot_root", "chroot", "open_tree", "mount_setattr", "move_mount", "fsopen",
		"unshare_mnt", "unshare_pid", "unshare_net", "setns", "sethostname", "mknod",
	} {
		if got[call] != "EPERM" {
			t.Errorf("%s: %q, want EPERM", call, got[call])
		}
	}
	if got["unshare_user"] != "ENOSPC" {
		t.Errorf("another user namespace: %q, want ENOSPC", got["unshare_user"])
	}
	r.ns.Userns = true // positive control
	if out, _ := output(t, r.victim("privileges", w)); lines(out)["unshare_user"] != "ok" {
		t.Errorf("a user namespace where they are allowed: %q", lines(out)["unshare_user"])
	}
	if got["setuid"] != "EPERM" && got["setuid"] != "EINVAL" { // not mapped at all
		t.Errorf("setuid: %q", got["setuid"])
	}
	for _, call := range []string{"unshare_nothing", "write_in_w"} { // positive controls
		if got[call] != "ok" {
			t.Errorf("%s: %q", call, got[call])
		}
	}
	if got["write_ro"] != "EROFS" || got["write_root"] != "EROFS" {
		t.Errorf("writing to /usr: %q, to /: %q; want EROFS", got["write_ro"], got["write_root"])
	}
}

// A program that keeps uid 0 is no root, and one that gets another uid has that.
func TestIdentityInside(t *testing.T) {
	needs.Root(t)
	for _, id := range []*Identity{nil, {UID: 61000, GID: 61001, Groups: []uint32{61002}}} {
		r := newRoom(t).request(`echo uid $(id -u) $(id -g) $(id -G); grep CapEff /proc/self/status; echo shadow $(cat /proc/1/environ 2>&1)`)
		r.Identity = id
		out, _ := output(t, r)
		got, want := lines(out), "0 0 0"
		if id != nil {
			want = "61000 61001 61001 61002"
		}
		if got["uid"] != want || got["CapEff"] != "0000000000000000" || !strings.Contains(got["shadow"], "Permission denied") {
			t.Errorf("as %+v: %v", id, got)
		}
	}
	// Only what is mapped can be had.
	r := newRoom(t)
	r.ns.UIDMap, r.ns.GIDMap = nil, nil
	q := r.request("exit 0")
	q.Identity = &Identity{UID: 61000, GID: 61000}
	if _, err := Start(q); !isStep(err, StepIdentity, unix.EINVAL) {
		t.Errorf("an unmapped id: %v", err)
	}
	noChild(t)
}

func isStep(err error, step Step, errno unix.Errno) bool {
	e, ok := err.(*Error) //nolint:errorlint // Start returns it as it is
	return ok && e.Step == step && e.Errno == errno
}

func TestNetwork(t *testing.T) {
	needs.Netns(t)
	for _, c := range []struct {
		net, lo bool
		want    map[string]string
	}{
		{false, false, map[string]string{"connect": "ok"}}, // positive control: the caller's own
		{true, false, map[string]string{"connect": "ENETUNREACH", "interfaces": "lo"}},
		{true, true, map[string]string{"connect": "ok", "interfaces": "lo", "outside": "ENETUNREACH"}},
	} {
		r := newRoom(t)
		r.ns.Net, r.ns.Loopback = c.net, c.lo
		out, _ := output(t, r.victim("network"))
		got := lines(out)
		for key, want := range c.want {
			if got[key] != want {
				t.Errorf("net %v, loopback %v: %s %q, want %q", c.net, c.lo, key, got[key], want)
			}
		}
	}
}

// None of the caller's descriptors is in the program or in the init, whatever its number.
func TestDescriptorsInside(t *testing.T) {
	w := t.TempDir()
	leak, err := unix.FcntlInt(0, unix.F_DUPFD, 1500)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(leak)
	f, err := os.Open("/etc/hostname")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := newRoom(t, w)
	q := r.request("cat <&5 >" + w + "/five; echo fds $(ls /proc/self/fd); read wait")
	q.Pass = []Pass{{From: int(f.Fd()), To: 5}}
	in, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	q.Stdio[0] = int(in.Fd())
	from, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	q.Stdio[1] = int(out.Fd())
	c := startIn(t, q)
	_, _ = in.Close(), out.Close()
	buf := make([]byte, 100)
	n, _ := from.Read(buf)
	if got, want := strings.TrimSpace(string(buf[:n])), "fds 0 1 2 3 5"; got != want {
		t.Errorf("descriptors of ls: %q, want %q (3 is its own)", got, want)
	}
	if got, want := read(t, w+"/five"), read(t, "/etc/hostname"); got != want {
		t.Errorf("passed descriptor gave %q, want %q", got, want)
	}
	// As root the test may look; the init is waiting for the program by now.
	if os.Geteuid() == 0 {
		links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", c.Init.PID))
		if err != nil || len(links) != 1 {
			t.Errorf("descriptors of the init: %q, %v; want one", links, err)
		}
		for _, l := range links {
			if target, err := os.Readlink(l); err != nil || !strings.HasPrefix(target, "socket:") {
				t.Errorf("%s -> %q, %v", l, target, err)
			}
		}
	}
	_ = to.Close()
	ended(t, c)
}

// A directory of the caller's leads out of the new root, whatever it is handed over for.
func TestNoFolderIsHandedOver(t *testing.T) {
	r := newRoom(t)
	dir := hold(t, "/")
	for name, change := range map[string]func(*Request){
		"passed":            func(q *Request) { q.Pass = []Pass{{From: dir, To: 3}} },
		"as standard input": func(q *Request) { q.Stdio[0] = dir },
	} {
		q := r.request("exit 0")
		change(q)
		if _, err := Start(q); !isStep(err, StepPrepare, unix.EISDIR) {
			t.Errorf("%s: %v, want EISDIR", name, err)
		}
	}
	noChild(t)
}

func TestWorkingDirectoryIsCompared(t *testing.T) {
	w, other := t.TempDir(), t.TempDir()
	r := newRoom(t, w, other)
	r.ns.Dir = w
	q := r.request("pwd")
	q.Dir = hold(t, other)
	if _, err := Start(q); !isStep(err, StepDirectory, unix.ESTALE) {
		t.Errorf("another directory: %v, want ESTALE", err)
	}
	q.Dir = hold(t, w)
	if out, _ := output(t, q); out != w+"\n" { // positive control
		t.Errorf("working directory %q, want %q", out, w)
	}
	noChild(t)
}
