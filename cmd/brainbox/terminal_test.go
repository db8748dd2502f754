package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// terminal gives a path by which this test's executable is brainbox, and both ends of a new
// terminal. The caller closes its own end of the slave.
func terminal(t *testing.T) (bin string, master, slave *os.File) {
	t.Helper()
	needs.TTY(t)
	bin = filepath.Join(t.TempDir(), "brainbox")
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, bin)
	}
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	master = os.NewFile(uintptr(fd), "ptmx")
	t.Cleanup(func() { _ = master.Close() })
	var unlock int32
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCSPTLCK, uintptr(unsafe.Pointer(&unlock))); e != 0 {
		t.Fatal(e)
	}
	peer, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if e != 0 {
		t.Fatal(e)
	}
	slave = os.NewFile(peer, "tty")
	return bin, master, slave
}

// onTerminal runs brainbox on a terminal of its own and returns what it shows.
func onTerminal(t *testing.T, args ...string) (status int, screen string) {
	t.Helper()
	bin, master, slave := terminal(t)
	cmd := exec.CommandContext(t.Context(), bin, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"PATH=/usr/bin:/bin", "TMPDIR=" + t.TempDir()}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	if err := errors.Join(cmd.Start(), slave.Close(), master.SetReadDeadline(time.Now().Add(30*time.Second))); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := out.ReadFrom(master); !errors.Is(err, unix.EIO) { // the last user of the terminal is gone
		t.Errorf("the terminal: %v", err)
	}
	err := cmd.Wait()
	var ee *exec.ExitError
	if err != nil && !errors.As(err, &ee) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

// What stays open is said on a terminal, in one line, unless -q is given, and never beside
// a refusal. That it is not said elsewhere is in the scripts.
func TestOpenClausesAreSaidOnATerminal(t *testing.T) {
	needs.Kernel(t)
	status, screen := onTerminal(t, "run", "--isolation", "landlock", "--", "true")
	if status != 0 || strings.Count(screen, "\n") != 1 || !strings.HasPrefix(screen, "brainbox: isolation landlock, open: ") {
		t.Errorf("status %d, screen %q", status, screen)
	}
	if status, screen = onTerminal(t, "run", "--isolation", "landlock", "-q", "--", "true"); status != 0 || screen != "" {
		t.Errorf("-q: status %d, screen %q", status, screen)
	}
	if status, screen = onTerminal(t, "run", "--isolation", "landlock", "--rw", "/", "--", "true"); status != 125 || strings.Contains(screen, ", open:") {
		t.Errorf("a refusal: status %d, screen %q", status, screen)
	}
}

// The program's terminal is its own alone: it can be opened, and no other can.
func TestTheProgramHasItsTerminal(t *testing.T) {
	needs.Kernel(t)
	status, screen := onTerminal(t, "run", "-q", "--", "sh", "-c", "tty; echo here >/dev/tty; stty size >/dev/null; exit 6")
	if status != 6 || !strings.Contains(screen, "/dev/pts/") && !strings.Contains(screen, "/dev/console") || !strings.Contains(screen, "here") {
		t.Errorf("status %d, screen %q", status, screen)
	}
}
