package spawn

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// patience bounds every wait of these tests; nothing waits that long unless it fails.
const patience = 3 * time.Minute

func procOf(pid int, name string) string { return fmt.Sprintf("/proc/%d/%s", pid, name) }

// field is one line of /proc/PID/status.
func field(t testing.TB, pid int, name string) []string {
	t.Helper()
	for line := range strings.Lines(read(t, procOf(pid, "status"))) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.Fields(rest)
		}
	}
	t.Fatalf("no %s of process %d", name, pid)
	return nil
}

// talk is a program in the room that one can talk to.
type talk struct {
	*Child
	in  *os.File
	out *bufio.Reader
}

// talkTo starts q with pipes for input and output.
func talkTo(t testing.TB, q *Request) *talk {
	t.Helper()
	in, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	q.Stdio[0], q.Stdio[1] = int(in.Fd()), int(out.Fd())
	c := startIn(t, q)
	_, _ = in.Close(), out.Close()
	t.Cleanup(func() { _, _ = to.Close(), from.Close() })
	if err := from.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return &talk{Child: c, in: to, out: bufio.NewReader(from)}
}

func (k *talk) line(t testing.TB) string {
	t.Helper()
	text, err := k.out.ReadString('\n')
	if err != nil {
		t.Fatalf("no line after %q: %v", text, err)
	}
	return strings.TrimSpace(text)
}

func TestEndIsReported(t *testing.T) {
	r := newRoom(t)
	for script, want := range map[string]Event{
		"exit 0":         {Exited, 0},
		"exit 255":       {Exited, 255},
		"kill -TERM $$":  {Killed, int32(unix.SIGTERM)},
		"kill -KILL $$":  {Killed, int32(unix.SIGKILL)},
		"kill -SYS $$":   {Killed, int32(unix.SIGSYS)},
		"sleep 1000 & :": {Exited, 0}, // what is left does not hold the end
	} {
		q := r.request(script)
		q.Limits = []Limit{{Resource: unix.RLIMIT_CORE}}
		if _, e := output(t, q); e != want {
			t.Errorf("%s: %+v, want %+v", script, e, want)
		}
	}
	noChild(t)
}

// The end of the program is that of everybody in there, without a word of the caller.
func TestTheInitEndsWithTheProgram(t *testing.T) {
	c := startIn(t, newRoom(t).request("(setsid sleep 1000 &); sleep 1000 & exit 6"))
	if e := ended(t, c); e != (Event{Exited, 6}) {
		t.Errorf("%+v", e)
	}
	if !readable(c.Init.PidFD, patience) {
		t.Error("the init goes on")
	}
	if e, err := c.Init.Event(); err != io.EOF { //nolint:errorlint // as Event gives it
		t.Errorf("after the end: %+v, %v", e, err)
	}
}

// The descriptor and the number that Start returns are the program's and nobody else's.
func TestTheProgramIsTheOneReported(t *testing.T) {
	k := talkTo(t, newRoom(t).request("echo $$; read a; exit 3"))
	if got := k.line(t); got != strconv.Itoa(k.Inside) {
		t.Errorf("inside it is %s, want %d", got, k.Inside)
	}
	nspid := field(t, k.PID, "NSpid")
	if want := []string{strconv.Itoa(k.PID), strconv.Itoa(k.Inside)}; !slices.Equal(nspid[max(0, len(nspid)-2):], want) {
		t.Errorf("NSpid %q, want %q", nspid, want)
	}
	if got := field(t, k.PID, "PPid"); got[0] != strconv.Itoa(k.Init.PID) {
		t.Errorf("its parent is %s, want the init, %d", got[0], k.Init.PID)
	}
	if got := strings.Join(field(t, k.Init.PID, "NSpid"), " "); !strings.HasSuffix(got, " 1") {
		t.Errorf("the init is %q", got)
	}
	for _, fd := range []int{k.PidFD, k.Init.PidFD} { // neither reaches another program
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags != unix.FD_CLOEXEC {
			t.Errorf("descriptor flags %#x, %v", flags, err)
		}
	}
	if err := unix.PidfdSendSignal(k.PidFD, unix.SIGUSR1, nil, 0); err != nil {
		t.Fatal(err)
	}
	if e := ended(t, k.Child); e != (Event{Killed, int32(unix.SIGUSR1)}) {
		t.Errorf("%+v", e)
	}
}

func TestStopsAndContinuesAreReported(t *testing.T) {
	k := talkTo(t, newRoom(t).request("echo ready; kill -STOP $$; read a; exit 4"))
	k.line(t)
	next := func(want Event) {
		t.Helper()
		if e, err := k.Init.Event(); err != nil || e != want {
			t.Fatalf("%+v, %v; want %+v", e, err, want)
		}
	}
	next(Event{Stopped, int32(unix.SIGSTOP)})
	for _, sig := range []unix.Signal{unix.SIGCONT, unix.SIGSTOP, unix.SIGCONT} {
		if err := unix.PidfdSendSignal(k.PidFD, sig, nil, 0); err != nil {
			t.Fatal(err)
		}
		next(Event{map[unix.Signal]int32{unix.SIGCONT: Continued, unix.SIGSTOP: Stopped}[sig], int32(sig)})
	}
	_ = k.in.Close()
	next(Event{Exited, 4})
}

// esc/PR-14, esc/PR-26: whoever loses its parent comes to the init, which takes it away
// when it ends, and what does not end ends with the init.
func TestOrphansAreReapedAndEndWithTheInit(t *testing.T) {
	const daemons = 500
	k := talkTo(t, newRoom(t).request(`i=0; while [ $i -lt `+strconv.Itoa(daemons)+` ]; do (setsid sh -c 'exec sleep 1000' &) ; i=$((i+1)); done
i=0; while [ $i -lt 200 ]; do (: &) ; i=$((i+1)); done
while [ $(ls -d /proc/[0-9]* 2>/dev/null | wc -l) -gt `+strconv.Itoa(daemons+5)+` ]; do :; done; echo made; while read a; do
echo $(grep -l "^State:.Z" /proc/[0-9]*/status 2>/dev/null | wc -l); done`))
	if got := k.line(t); got != "made" {
		t.Fatal(got)
	}
	deadline := time.Now().Add(patience)
	for { // the last of them may have ended just now
		fmt.Fprintln(k.in, "count")
		got := k.line(t)
		if got == "0" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s zombies are left", got)
		}
	}
	pids := strings.Fields(read(t, fmt.Sprintf("/proc/%d/task/%d/children", k.Init.PID, k.Init.PID)))
	if len(pids) < daemons {
		t.Fatalf("%d children of the init, want %d", len(pids), daemons) // positive control
	}
	var fds []int
	for _, p := range pids {
		n, err := strconv.Atoi(p)
		if err != nil {
			t.Fatal(err)
		}
		fd, err := unix.PidfdOpen(n, 0)
		if err != nil {
			t.Fatal(err)
		}
		fds = append(fds, fd)
	}
	k.Init.End()
	for _, fd := range fds {
		if err := unix.PidfdSendSignal(fd, 0, nil, 0); !errors.Is(err, unix.ESRCH) {
			t.Fatalf("a daemon outlives the init: %v", err)
		}
		unix.Close(fd)
	}
}

// ownGroup makes a cgroup v2 group below this process's own.
func ownGroup(t *testing.T) string {
	t.Helper()
	needs.Root(t)
	needs.CgroupKill(t)
	var own string
	for line := range strings.Lines(read(t, "/proc/self/cgroup")) {
		if path, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); ok {
			own = path
		}
	}
	for line := range strings.Lines(read(t, "/proc/self/mountinfo")) {
		if f := strings.Fields(line); strings.Contains(line, " - cgroup2 ") {
			dir := fmt.Sprintf("%s%s/brainbox-test-%d", f[4], own, os.Getpid())
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Remove(dir) })
			return dir
		}
	}
	t.Fatal("no cgroup v2 tree, though needs found one")
	return ""
}

// The program's control group, if it has one, is the init's too.
func TestCgroupInside(t *testing.T) {
	dir := ownGroup(t)
	r := newRoom(t)
	q := r.request("read a; exit 5")
	q.Cgroup = dirFD(t, dir)
	k := talkTo(t, q)
	got := strings.Fields(read(t, dir+"/cgroup.procs"))
	want := []string{strconv.Itoa(k.Init.PID), strconv.Itoa(k.PID)}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("processes in the group: %q, want %q", got, want)
	}
	_ = k.in.Close()
	if e := ended(t, k.Child); e != (Event{Exited, 5}) {
		t.Errorf("%+v", e)
	}
	k.Init.End() // before the group is removed
}
