package supervise

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"brainbox/internal/hold"
	"brainbox/internal/needs"
)

// shellEnv makes the test binary a shell that does job control for one supervisor: it
// says what wait4 told it on descriptor 3, and continues its job when it is told "fg" or
// "bg" on descriptor 4, or only its leader.
const shellEnv = "SUPERVISE_TEST_SHELL"

func shell() int {
	events, orders := os.NewFile(3, "events"), bufio.NewScanner(os.NewFile(4, "orders"))
	signal.Ignore(unix.SIGTTOU, unix.SIGTTIN, unix.SIGTSTP)
	cmd := exec.Command("/proc/self/exe")
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, shellEnv+"=") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	var redirected [3]*os.File
	for i := range redirected {
		redirected[i] = os.NewFile(uintptr(i), "tty")
	}
	if os.Getenv("SUPERVISE_TEST_REDIRECT") != "" { // no standard descriptor is the terminal
		null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
		if err != nil {
			return 98
		}
		redirected = [3]*os.File{null, null, null}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = redirected[0], redirected[1], redirected[2]
	// os/exec would hand on the ignored signals: the supervisor resets none of its own.
	signal.Reset(unix.SIGTTOU, unix.SIGTTIN)
	signal.Notify(make(chan os.Signal, 1), unix.SIGTSTP) // Reset would leave it ignored; what is taken is reset by execve(2)
	if os.Getenv(holdEnv) != "" {
		cmd.ExtraFiles = []*os.File{os.NewFile(5, "hold")}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Foreground: true, Ctty: 0}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(events, err)
		return 97
	}
	for _, f := range cmd.ExtraFiles {
		_ = f.Close()
	}
	signal.Ignore(unix.SIGTTOU, unix.SIGTTIN, unix.SIGTSTP)
	pgid := cmd.Process.Pid
	for {
		var ws unix.WaitStatus
		if _, err := unix.Wait4(pgid, &ws, unix.WUNTRACED, nil); err != nil {
			continue // EINTR
		}
		group, _ := unix.IoctlGetInt(0, unix.TIOCGPGRP)
		attrs, _ := unix.IoctlGetTermios(0, unix.TCGETS)
		raw := attrs != nil && attrs.Lflag&unix.ICANON == 0
		mine := group == pgid
		_ = unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, unix.Getpgrp())
		if !ws.Stopped() {
			fmt.Fprintf(events, "ended %d foreground=%v raw=%v\n", ws.ExitStatus(), mine, raw)
			orders.Scan() // the end of a session leader hangs up, and what is not read yet is lost
			return 0
		}
		fmt.Fprintf(events, "stopped foreground=%v raw=%v\n", mine, raw)
		if !orders.Scan() {
			return 96
		}
		to := -pgid
		switch orders.Text() {
		case "fg":
			_ = unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, pgid)
		case "only the supervisor":
			to = pgid
		}
		_ = unix.Kill(to, unix.SIGCONT)
	}
}

// session is a supervisor below that shell, on a terminal that the test holds.
type session struct {
	t      *testing.T
	master *os.File
	screen *bufio.Reader
	events *bufio.Reader
	orders *os.File
	result string
	hold   *hold.Client // with spec.Hold
	lost   chan struct{}
}

func openSession(t *testing.T, s spec, env ...string) *session {
	t.Helper()
	needs.TTY(t)
	master, slave := openPty(t)
	s.Terminal, s.Announce = true, true
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	result := filepath.Join(t.TempDir(), "result")
	events, theirEvents := pipe(t)
	theirOrders, orders := pipe(t)
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = append([]string{shellEnv + "=1", specEnv + "=" + string(text), resultEnv + "=" + result, "PATH=/usr/bin:/bin"}, env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.ExtraFiles = []*os.File{theirEvents, theirOrders}
	x := &session{t: t, master: master, screen: bufio.NewReader(master), events: bufio.NewReader(events), orders: orders, result: result}
	if s.Hold {
		cmd.Env = append(cmd.Env, holdEnv+"=1")
		cmd.ExtraFiles = append(cmd.ExtraFiles, x.openHold())
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, f := range append(cmd.ExtraFiles, slave) {
		_ = f.Close()
	}
	t.Cleanup(func() { _ = master.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return x
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	return r, w
}

func openPty(t *testing.T) (master, slave *os.File) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	master = os.NewFile(uintptr(fd), "ptmx")
	var unlock int32
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCSPTLCK, uintptr(unsafe.Pointer(&unlock))); e != 0 {
		t.Fatal(e)
	}
	peer, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if e != 0 {
		t.Fatal(e)
	}
	if err := master.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return master, os.NewFile(peer, "tty")
}

// see reads the screen until text is on it.
func (s *session) see(texts ...string) string {
	s.t.Helper()
	var all bytes.Buffer
	for {
		missing := ""
		for _, text := range texts {
			if !strings.Contains(all.String(), text) {
				missing = text
			}
		}
		if missing == "" {
			return all.String()
		}
		b, err := s.screen.ReadByte()
		if err != nil {
			s.t.Fatalf("the screen shows %q, not %q: %v", all.String(), missing, err)
		}
		all.WriteByte(b)
	}
}

func (s *session) typed(text string) {
	s.t.Helper()
	if _, err := s.master.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// event is what the shell was told about its job.
func (s *session) event(want string) {
	s.t.Helper()
	got, err := s.events.ReadString('\n')
	if got = strings.TrimSpace(got); err != nil || got != want {
		s.t.Fatalf("the shell saw %q, want %q; %v", got, want, err)
	}
}

func (s *session) order(word string) {
	s.t.Helper()
	if _, err := s.orders.WriteString(word + "\n"); err != nil {
		s.t.Fatal(err)
	}
}
