package tty

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

const patience = 60 * time.Second

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// terminal is a pseudo terminal (pty(7)) and a process on it whose standard input is a
// pipe: the terminal is its controlling one and nothing else.
type terminal struct {
	t      *testing.T
	master *os.File
	slave  *os.File
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Scanner

	mu   sync.Mutex
	seen strings.Builder
	from int // what was seen before is not looked at again
}

func open(t *testing.T) *terminal {
	t.Helper()
	needs.TTY(t)
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	must(t, err)
	must(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	must(t, err)
	x := &terminal{t: t, master: os.NewFile(uintptr(fd), "/dev/ptmx")}
	x.slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	must(t, unix.IoctlSetWinsize(int(x.slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 60}))
	t.Cleanup(func() { _ = x.master.Close(); _ = x.slave.Close() })
	return x
}

// start runs this test binary in one of its other roles.
func (x *terminal) start(role string, args ...string) *terminal {
	x.t.Helper()
	x.cmd = exec.Command(os.Args[0], args...)
	x.cmd.Env = append(os.Environ(), "BRAINBOX_TTY_ROLE="+role)
	x.cmd.ExtraFiles = []*os.File{x.slave}
	x.cmd.Stderr = os.Stderr
	x.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
	var err error
	x.in, err = x.cmd.StdinPipe()
	must(x.t, err)
	out, err := x.cmd.StdoutPipe()
	must(x.t, err)
	x.out = bufio.NewScanner(out)
	must(x.t, x.cmd.Start())
	go func() {
		var b [4096]byte
		for {
			n, err := x.master.Read(b[:])
			x.mu.Lock()
			x.seen.Write(b[:n])
			x.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	x.t.Cleanup(func() { _ = x.cmd.Process.Kill(); _ = x.cmd.Wait() })
	return x
}

// says waits for a line on the process's standard output.
func (x *terminal) says(want string) {
	x.t.Helper()
	timer := time.AfterFunc(patience, func() { _ = x.cmd.Process.Kill() })
	defer timer.Stop()
	if !x.out.Scan() || x.out.Text() != want {
		x.t.Fatalf("it says %q, want %q; the terminal: %q", x.out.Text(), want, x.screen())
	}
}

// tell writes a line to the process's standard input.
func (x *terminal) tell(line string) {
	x.t.Helper()
	_, err := io.WriteString(x.in, line+"\n")
	must(x.t, err)
}

func (x *terminal) typed(text string) {
	x.t.Helper()
	_, err := x.master.WriteString(text)
	must(x.t, err)
}

func (x *terminal) screen() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.seen.String()
}

var asked = regexp.MustCompile(`type ([a-z]{4}) (?s:.*?)answer: `)

// word waits for the next question and returns its word.
func (x *terminal) word() string {
	x.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		all := x.screen()
		if m := asked.FindStringSubmatchIndex(all[x.from:]); m != nil {
			word := all[x.from+m[2] : x.from+m[3]]
			x.from += m[1]
			return word
		}
		if time.Now().After(end) {
			x.t.Fatalf("nothing is asked: %q", all)
		}
	}
}

func (x *terminal) mode() unix.Termios {
	x.t.Helper()
	mode, err := unix.IoctlGetTermios(int(x.slave.Fd()), unix.TCGETS)
	must(x.t, err)
	return *mode
}

// raw sets the terminal as a program in full-screen mode does.
func (x *terminal) raw() unix.Termios {
	x.t.Helper()
	m := x.mode()
	m.Iflag, m.Oflag, m.Lflag = 0, 0, 0
	must(x.t, unix.IoctlSetTermios(int(x.slave.Fd()), unix.TCSETS, &m))
	return x.mode()
}

// waits polls for something that is about to be so.
func waits(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not so: %s", what)
		}
	}
}

// state is the third field of /proc/PID/stat: R, S, or T for stopped.
func state(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return rest[:1]
}
