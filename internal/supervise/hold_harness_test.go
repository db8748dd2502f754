package supervise

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/gate/prompt"
	"brainbox/gate/tty"
	"brainbox/internal/hold"
)

const (
	holdEnv = "SUPERVISE_TEST_HOLD" // the shell hands descriptor 5 on as 3
	askEnv  = "SUPERVISE_TEST_ASK"  // the file that the answer is written to
)

// openHold makes the socket pair for holds; it returns the supervisor's end.
func (s *session) openHold() *os.File {
	s.t.Helper()
	host, runner, err := hold.Pair()
	if err != nil {
		s.t.Fatal(err)
	}
	lost := make(chan struct{}, 64)
	s.lost = lost
	s.hold = hold.NewClient(host, func() { lost <- struct{}{} })
	s.t.Cleanup(s.hold.Close)
	return runner
}

// held holds the program, which must succeed, and returns the release.
func (s *session) held() (release func()) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	release, err := s.hold.Hold(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	return release
}

// isLost waits for the word that what was held is held no more.
func (s *session) isLost() {
	s.t.Helper()
	select {
	case <-s.lost:
	case <-time.After(patience):
		s.t.Fatal("nobody says that it is held no more")
	}
}

// silent reads what is on the screen and reports whether it comes to an end.
func (s *session) silent() bool {
	s.t.Helper()
	quiet := 0
	for range 60 {
		if s.screenful(100*time.Millisecond) > 0 {
			quiet = 0
		} else if quiet++; quiet == 3 {
			return true
		}
	}
	return false
}

// heldReading is held while the screen is read, as a terminal does: what copies output waits
// for one that takes nothing.
func (s *session) heldReading() (release func()) {
	s.t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		release = s.held()
	}()
	for {
		select {
		case <-done:
			return release
		default:
			s.screenful(10 * time.Millisecond)
		}
	}
}

// shows reads the screen for at most a while, until text is on it.
func (s *session) shows(text string, d time.Duration) bool {
	s.t.Helper()
	if err := s.master.SetReadDeadline(time.Now().Add(d)); err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = s.master.SetReadDeadline(time.Now().Add(patience)) }()
	var all []byte
	for !strings.Contains(string(all), text) {
		b, err := s.screen.ReadByte()
		if err != nil {
			return false
		}
		all = append(all, b)
	}
	return true
}

// screenful reads for a while and returns how many bytes came.
func (s *session) screenful(d time.Duration) int {
	s.t.Helper()
	if err := s.master.SetReadDeadline(time.Now().Add(d)); err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = s.master.SetReadDeadline(time.Now().Add(patience)) }()
	n := 0
	b := make([]byte, 4096)
	for {
		m, err := s.screen.Read(b)
		n += m
		if err != nil {
			return n
		}
	}
}

// marked finds the processes whose environment has a mark, from outside, with their states.
func marked(t *testing.T, mark string) map[int]byte {
	t.Helper()
	names, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	all := map[int]byte{}
	for _, e := range names {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		env, err := os.ReadFile("/proc/" + e.Name() + "/environ")
		if err == nil && strings.Contains("\x00"+string(env), "\x00"+mark+"\x00") {
			if _, state := (process{pid: pid}).stat(); state != 'Z' && state != 'X' && state != 0 {
				all[pid] = state
			}
		}
	}
	return all
}

// newMark is a variable for a script's processes, which no other test has.
func newMark(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("HOLD_MARK=%d.%s", os.Getpid(), strings.Map(func(r rune) rune {
		if r == '/' || r == ' ' || r == '#' {
			return '.'
		}
		return r
	}, t.Name()))
}

// stoppedOf counts the marked processes that are stopped.
func stoppedOf(t *testing.T, mark string) (stopped, all int) {
	t.Helper()
	for _, state := range marked(t, mark) {
		all++
		if state == 'T' {
			stopped++
		}
	}
	return stopped, all
}

// settle waits until at least n processes are there, and the same ones for a while: those that
// only start others come and go.
func settle(t *testing.T, mark string, n int) {
	t.Helper()
	var last []int
	same := 0
	eventually(t, "all are there", func() bool {
		now := slices.Sorted(maps.Keys(marked(t, mark)))
		if same++; !slices.Equal(now, last) {
			same, last = 0, now
		}
		return len(now) >= n && same >= 10
	})
}

// owns reports whether a process of the script's is in the foreground of the terminal.
func (s *session) owns(mark string) bool {
	c, err := s.master.SyscallConn() // Fd would have it block
	if err != nil {
		s.t.Fatal(err)
	}
	group := 0
	if err = c.Control(func(fd uintptr) { group, _ = unix.IoctlGetInt(int(fd), unix.TIOCGPGRP) }); err != nil || group == 0 {
		s.t.Fatal("the terminal has no foreground: ", err)
	}
	for pid := range marked(s.t, mark) {
		if g, err := unix.Getpgid(pid); err == nil && g == group {
			return true
		}
	}
	return false
}

// eventually polls for something that is about to be so.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not so: %s", what)
		}
	}
}

// startAsking starts a process in this one's job that asks on the terminal, twice.
func startAsking() (*os.File, error) {
	host, runner, err := hold.Pair()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{askEnv + "=" + os.Getenv(resultEnv) + ".answers"}
	cmd.ExtraFiles = []*os.File{host}
	return runner, errors.Join(cmd.Start(), host.Close())
}

// ask is what brainbox-host does for brainbox run --ask.
func ask() int {
	signal.Ignore(unix.SIGINT, unix.SIGQUIT) // are the program's
	out, err := os.OpenFile(os.Getenv(askEnv), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 1
	}
	if err := unix.SetNonblock(3, true); err != nil {
		return 1
	}
	ui := tty.New(tty.Options{Program: hold.NewClient(os.NewFile(3, "hold"), nil)})
	for { // until the program has begun; this process ends with the terminal
		if _, err := os.Stat(os.Getenv(askEnv) + ".go"); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	for i := range 2 {
		v := prompt.View{ID: "p", Rows: []prompt.Row{{Name: "bash", Text: "npm publish", Whole: "npm publish"}}}
		ans, err := ui.Prompt(context.Background(), v)
		fmt.Fprintf(out, "%d: decision %d, error %v\n", i, ans.Decision, err)
	}
	return 0
}

// mayAsk lets the asking process begin.
func (s *session) mayAsk() {
	s.t.Helper()
	write(s.t, s.result+".answers.go", "")
}

// answers are what the asking process has written so far.
func (s *session) answers() string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Clean(s.result + ".answers"))
	if err != nil {
		return ""
	}
	return string(text)
}
