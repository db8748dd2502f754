package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/launcher"
)

// silentHost is a host whose end of the control socket is the test's.
func silentHost(t *testing.T, said *bytes.Buffer) (h *hostProcess, theirs *os.File) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	h = &hostProcess{w: said, control: os.NewFile(uintptr(pair[0]), "control"), pidfd: -1, watched: make(chan struct{})}
	theirs = os.NewFile(uintptr(pair[1]), "theirs")
	t.Cleanup(func() { _ = h.control.Close(); _ = theirs.Close() })
	return h, theirs
}

// What is said when a host does not answer is not that it ended, nor that it is of another
// build.
func TestHostsThatDoNotAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		with func(h *hostProcess, theirs *os.File)
		want string
	}{
		"late":  {func(h *hostProcess, _ *os.File) { _ = h.control.SetDeadline(time.Unix(1, 0)) }, "not answered within 15s"},
		"ended": {func(_ *hostProcess, theirs *os.File) { _ = theirs.Close() }, "ended before it served"},
		"ended with something unread": {func(h *hostProcess, theirs *os.File) {
			_, _ = h.control.Write([]byte("{}\n"))
			_ = theirs.Close()
		}, "ended before it served"},
	} {
		ways := map[string]func(*networkService) error{
			"ready": (*networkService).Ready,
			"hand":  func(s *networkService) error { return s.Hand(launcher.NetworkSockets{User: 0, Net: 0}) },
		}
		for way, f := range ways {
			h, theirs := silentHost(t, nil)
			c.with(h, theirs)
			err := f(&networkService{n: &networkRun{}, host: h, plan: &launcher.NetworkPlan{}})
			var r *launcher.Refusal
			if !errors.As(err, &r) || r.Clause != "hosts" || !strings.Contains(r.Message, c.want) || r.Hint == "" {
				t.Errorf("%s, %s: %v", name, way, err)
			}
		}
	}
}

// A host that does not end at the end of a run is killed, and that is said: its last decisions
// are missing.
func TestStopOfAHostThatHangs(t *testing.T) {
	var said bytes.Buffer
	h, _ := silentHost(t, &said)
	c := exec.Command("sleep", "1000")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Wait() //nolint:errcheck // it is killed
	var err error
	if h.pidfd, err = unix.PidfdOpen(c.Process.Pid, 0); err != nil {
		_ = c.Process.Kill()
		t.Fatal(err)
	}
	n := &networkRun{w: &said, begun: make(chan struct{})}
	s := &networkService{n: n, host: h, plan: &launcher.NetworkPlan{}, handed: true}
	go h.watch(func() { _, _ = h.control.Read(make([]byte, 1)) })
	s.Stop()
	<-h.watched
	if want := "brainbox: brainbox-host did not end and was killed"; !strings.HasPrefix(said.String(), want) || strings.Count(said.String(), "\n") != 1 {
		t.Errorf("said %q", said.String())
	}
}
