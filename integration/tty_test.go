package integration

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// pty is a pseudo terminal (pty(7)) with a program on it.
type pty struct {
	master *os.File
	slave  *os.File
	name   string
	cmd    *exec.Cmd
	seen   *syncBuffer
	read   chan struct{}
}

// newPTY opens a terminal of 24 rows and 80 columns.
func newPTY(t testing.TB) *pty {
	t.Helper()
	needs.TTY(t)
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	must(t, err)
	must(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	must(t, err)
	p := &pty{
		master: os.NewFile(uintptr(fd), "/dev/ptmx"), name: "/dev/pts/" + itoa(n),
		seen: &syncBuffer{}, read: make(chan struct{}),
	}
	p.slave, err = os.OpenFile(p.name, os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	p.size(t, 24, 80)
	t.Cleanup(func() { _ = p.master.Close(); _ = p.slave.Close() })
	return p
}

// size sets the size of the terminal's window.
func (p *pty) size(t testing.TB, rows, columns uint16) {
	t.Helper()
	must(t, unix.IoctlSetWinsize(int(p.slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns}))
}

// start runs a program in a session of its own with this terminal.
func (p *pty) start(t testing.TB, dir string, cmd *exec.Cmd) {
	t.Helper()
	p.cmd = cmd
	if cmd.Dir = dir; cmd.Env == nil {
		cmd.Env = environ(t, "TERM=dumb")
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.slave, p.slave, p.slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	must(t, cmd.Start())
	go func() {
		defer close(p.read)
		var b [4096]byte
		for {
			n, err := p.master.Read(b[:])
			_, _ = p.seen.Write(b[:n])
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
}

// typed puts text into the terminal as if it were typed.
func (p *pty) typed(t testing.TB, text string) {
	t.Helper()
	_, err := p.master.WriteString(text)
	must(t, err)
}

// shows waits until the text was printed.
func (p *pty) shows(t testing.TB, text string) {
	t.Helper()
	for end := time.Now().Add(patience); !strings.Contains(p.seen.String(), text); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the terminal does not show %q, but %q", text, p.seen)
		}
	}
}

// end waits for the program and returns its status.
func (p *pty) end(t testing.TB) int {
	t.Helper()
	timer := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	_ = p.cmd.Wait()
	p.drain()
	return p.cmd.ProcessState.ExitCode()
}

// drain waits until all that the program wrote has been read: a word behind it, which is taken
// out again. A terminal whose output a program has stopped does not take it.
func (p *pty) drain() {
	const word = "\x00drained\x00"
	go func() { _, _ = p.slave.WriteString(word) }()
	for end := time.Now().Add(10 * time.Second); !p.seen.takeOut(word) && time.Now().Before(end); time.Sleep(time.Millisecond) {
		select {
		case <-p.read:
			return
		default:
		}
	}
}

// mode is what stty -g would print.
func (p *pty) mode(t testing.TB) unix.Termios {
	t.Helper()
	mode, err := unix.IoctlGetTermios(int(p.slave.Fd()), unix.TCGETS)
	must(t, err)
	return *mode
}

// boxed is a command inside brainbox.
func boxed(flags []string, command ...string) *exec.Cmd {
	return exec.Command(program("brainbox"), boxArgs(flags, command...)...)
}
