package remote

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"brainbox/internal/spawn"
	"brainbox/internal/supervise"
)

func pair(t *testing.T) (a, b *link) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		unix.Close(fds[0])
		unix.Close(fds[1])
	})
	return &link{fds[0]}, &link{fds[1]}
}

// job is one with more text than a packet holds.
func job(t *testing.T) *supervise.Job {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { null.Close() })
	fd := int(null.Fd())
	return &supervise.Job{Spawn: spawn.Request{
		Path: "/bin/true", Argv: []string{"true", strings.Repeat("x", 3*maxPacket)}, Stdio: [3]int{fd, fd, fd},
	}}
}

// received reads a job on the other end, after change has had its way with the header.
func received(t *testing.T, change func(*header)) (*supervise.Job, error) {
	t.Helper()
	a, b := pair(t)
	text, fds := job(t).Encode()
	sent := make(chan error, 1)
	go func() {
		sent <- errors.Join(a.sendJob(text, fds), unix.Shutdown(a.fd, unix.SHUT_WR))
	}()
	p, err := b.receive()
	if err != nil {
		t.Fatal(err)
	}
	h, err := decodeHeader(p.data)
	if err != nil {
		t.Fatal(err)
	}
	change(&h)
	j, got, err := receiveJob(h, b.receive)
	closeAll(got)
	_ = unix.Shutdown(b.fd, unix.SHUT_RDWR)
	if serr := <-sent; err == nil && serr != nil {
		t.Errorf("sending: %v", serr)
	}
	return j, err
}

func TestAJobArrivesAsItWasDecided(t *testing.T) {
	if _, err := received(t, func(h *header) { h.digest = strings.Repeat("0", 64) }); err == nil {
		t.Error("a job with another digest: accepted")
	}
	if _, err := received(t, func(h *header) { h.size-- }); err == nil {
		t.Error("a job that is longer than announced: accepted")
	}
	if _, err := received(t, func(h *header) { h.fds = 4 }); err == nil {
		t.Error("a job with fewer descriptors than announced: accepted")
	}
	got, err := received(t, func(*header) {}) // positive control
	if err != nil {
		t.Fatal(err)
	}
	if want := 3 * maxPacket; len(got.Spawn.Argv[1]) != want {
		t.Errorf("the argument has %d bytes, want %d", len(got.Spawn.Argv[1]), want)
	}
}

func TestHeadersAreStrict(t *testing.T) {
	good := header{strings.Repeat("a", 64), 10, 3}.encode()
	if _, err := decodeHeader(good); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		"", "{}", `{"sha256":"a","size":0,"descriptors":3}`, `{"sha256":"a","size":1,"descriptors":2}`,
		`{"sha256":"a","size":1,"descriptors":3,"more":1}`, `{"sha256":"a","size":99999999,"descriptors":3}`,
	} {
		if h, err := decodeHeader([]byte(bad)); err == nil {
			t.Errorf("decodeHeader(%q) = %v", bad, h)
		}
	}
}

func TestGreetingsMustAgree(t *testing.T) {
	for _, c := range []struct {
		theirs string
		want   bool
	}{{"1", true}, {"2", false}} {
		a, b := pair(t)
		done := make(chan error, 1)
		go func() { done <- a.greet("1") }()
		err := b.greet(c.theirs)
		if other := <-done; (err == nil) != c.want || (other == nil) != c.want {
			t.Errorf("version %q with %q: %v, %v", "1", c.theirs, err, other)
		}
	}
}

func TestEventsKeepWhatHappened(t *testing.T) {
	want := &supervise.Result{
		Status: 137, Code: -1, Signal: 9, TimedOut: true, Survivors: []supervise.Survivor{{PID: 7, UID: -1}}, Duration: 5, PeakRSS: 6,
	}
	e, err := decodeEvent(exitedEvent(want))
	if diff := cmp.Diff(want, e.result); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, start := range []*spawn.Error{
		{Step: spawn.StepLandlock, Call: "landlock_restrict_self", Errno: unix.EBADF},
		{Step: spawn.StepMount, Call: "statx", Errno: unix.ESTALE, Mount: 7, Path: "/a\xff"},
		{Step: spawn.StepReaper, Call: "close", Errno: unix.EBADF},
	} {
		e, err = decodeEvent(refusedEvent(start))
		var got *spawn.Error
		if err != nil || !errors.As(e.err, &got) || *got != *start {
			t.Errorf("%v, %v; want %v", e.err, err, start)
		}
	}
}

func TestTheEndOfTheOtherSideIsTheEndOfFile(t *testing.T) {
	a, b := pair(t)
	if err := unix.Shutdown(a.fd, unix.SHUT_RDWR); err != nil {
		t.Fatal(err)
	}
	if _, err := b.receive(); !errors.Is(err, io.EOF) {
		t.Errorf("receive: %v, want EOF", err)
	}
}

// What an end said before it closed, with something of ours still unread, is heard.
func TestTheLastWordIsHeard(t *testing.T) {
	a, b := pair(t)
	if err := errors.Join(a.send([]byte("unread")), b.send([]byte("last"))); err != nil {
		t.Fatal(err)
	}
	if err := unix.Dup3(a.fd, b.fd, unix.O_CLOEXEC); err != nil { // b's end is closed, with a packet in it
		t.Fatal(err)
	}
	if p, err := a.receive(); err != nil || string(p.data) != "last" {
		t.Errorf("receive: %q, %v", p.data, err)
	}
	if _, err := a.receive(); !errors.Is(err, io.EOF) {
		t.Errorf("receive: %v, want EOF", err)
	}
}

func FuzzDecodeEvent(f *testing.F) {
	f.Add(exitedEvent(&supervise.Result{}))
	f.Add(startedEvent(1))
	f.Add(refusedEvent(errors.New("x")))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := decodeEvent(data)
		if err == nil && e.kind == "exited" && (e.result == nil || e.result.Status > 255) {
			t.Errorf("accepted %+v", e)
		}
		_, _ = decodeHeader(data)
	})
}

// What a start does in the program's network is code, and cannot be sent: refused before
// anything is.
func TestAHookIsNotSent(t *testing.T) {
	a, b := pair(t)
	s := &Spawner{link: a}
	j := job(t)
	j.Spawn.Namespaces = &spawn.Namespaces{Net: true, Network: func(int, int) error { return nil }}
	if _, err := s.Run(j); err == nil || !strings.Contains(err.Error(), "cannot be sent") {
		t.Errorf("Run: %v", err)
	}
	if !s.mu.TryLock() {
		t.Error("the spawner is busy")
	}
	if n, _, err := unix.Recvfrom(b.fd, make([]byte, 1), unix.MSG_DONTWAIT); !errors.Is(err, unix.EAGAIN) {
		t.Errorf("sent: %d, %v", n, err)
	}
}
