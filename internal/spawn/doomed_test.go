package spawn

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// doomedEnv makes the test binary a caller that is killed during the start.
const doomedEnv = "SPAWN_TEST_DOOMED"

// doomed starts everything in os.Args[1]. With a point it writes a byte to its standard
// output from before that call, and goes no further until it can read one.
func doomed(where string) int {
	runtime.LockOSThread()
	r := everything(&testing.T{}, os.Args[1])
	var p point
	if n, _ := fmt.Sscan(where, &p.list, &p.step, &p.nth, &p.name); n == 4 {
		word := new([8]byte)
		r.inject = &injection{edit: func(l []*[]call) {
			c := *l[p.list]
			at := max(0, p.find(c))
			pause := []call{
				{nr: unix.SYS_WRITE, a: [6]uintptr{1, addr(word), 1}, want: wantValue, errs: [4]uintptr{1}},
				{nr: unix.SYS_READ, a: [6]uintptr{0, addr(word), 1}, want: wantValue, errs: [4]uintptr{1}},
			}
			*l[p.list] = slices.Concat(c[:at], pause, c[at:])
		}}
	}
	r.Argv[2] = "echo ran >" + os.Args[1] + "/ran; echo started; read a; (setsid sleep 1000 &); echo more; read a"
	c, err := Start(r)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_, _ = c.Init.Event()
	return 0
}

// SIGKILL of the caller, at whatever moment, leaves no process. esc/PR-15.
func TestTheCallersEndLeavesNothing(t *testing.T) {
	needs.Userns(t)
	if !needs.InChild(t) { // it waits for every child that it has
		return
	}
	at := points(t, everything(t, t.TempDir()))
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) }()
	for k, p := range at {
		if p.list == 2 && (p.name == "sendmsg" || p.name == "close" || p.name == "read" || p.nth > 0) {
			continue // its output is closed by then
		}
		if p.nth > 0 && k%7 != 0 {
			continue
		}
		d := doom(t, fmt.Sprint(p.list, " ", p.step, " ", p.nth, " ", p.name))
		d.expect("\x00")
		d.kill()
		if _, err := os.Stat(d.w + "/ran"); err == nil && p.list == 0 {
			t.Errorf("%+v: the program ran", p)
		}
	}
	// While the program runs, and has a daemon.
	d := doom(t, "-")
	d.expect("started\n")
	d.kill()
	d = doom(t, "-")
	d.expect("started\n")
	fmt.Fprintln(d.in)
	d.expect("more\n")
	d.kill()
	// At any moment, the caller's own steps included.
	rounds := 100
	if testing.Short() {
		rounds = 10
	}
	for i := range rounds {
		d := doom(t, "-")
		for begun := time.Now(); time.Since(begun) < time.Duration(i)*200*time.Microsecond; {
			runtime.Gosched()
		}
		d.kill()
	}
}

// caller is a process that is about to be killed.
type caller struct {
	t       *testing.T
	cmd     *exec.Cmd
	w       string
	in, out *os.File
}

func doom(t *testing.T, where string) *caller {
	t.Helper()
	d := &caller{t: t, w: t.TempDir()}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	in, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	d.in, d.out = to, from
	d.cmd = exec.CommandContext(t.Context(), exe)
	d.cmd.Args = []string{"doomed", d.w}
	d.cmd.Env = []string{doomedEnv + "=" + where, "PATH=/usr/bin:/bin"}
	d.cmd.Stdin, d.cmd.Stdout, d.cmd.Stderr = in, out, os.Stderr
	if err := errors.Join(d.cmd.Start(), in.Close(), out.Close(), from.SetReadDeadline(time.Now().Add(patience))); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *caller) expect(text string) {
	d.t.Helper()
	buf := make([]byte, len(text))
	if n, err := d.out.Read(buf); err != nil || n != len(text) {
		d.t.Fatalf("the caller said %q, %v", buf[:n], err)
	}
}

// kill ends the caller and waits until nothing of it is left: this process adopts what is.
func (d *caller) kill() {
	d.t.Helper()
	if err := d.cmd.Process.Kill(); err != nil {
		d.t.Fatal(err)
	}
	_ = d.cmd.Wait()
	// Who waits for a word in the middle of a list gets it, and goes on until it sees.
	_, _ = d.in.Write([]byte("\n"))
	gone := make(chan struct{})
	go func() {
		for {
			if _, err := unix.Wait4(-1, nil, 0, nil); errors.Is(err, unix.ECHILD) {
				close(gone)
				return
			}
		}
	}()
	select {
	case <-gone:
	case <-time.After(patience):
		d.t.Fatal("something of the caller is left")
	}
	_, _ = d.in.Close(), d.out.Close()
}
