package hold

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// program is a Holder.
type program struct {
	held, released atomic.Int32
	err            error
	lost           atomic.Pointer[func()]
	asked, wait    chan struct{}
}

func (p *program) Hold(lost func()) error {
	if p.wait != nil {
		close(p.asked)
		<-p.wait
	}
	p.held.Add(1)
	p.lost.Store(&lost)
	return p.err
}
func (p *program) Release()            { p.released.Add(1) }
func (p *program) Owns(group int) bool { return group == 4711 }

// serve serves p and returns its client, and what is closed when the service has ended.
func serve(t *testing.T, p *program, lost func()) (*Client, <-chan struct{}) {
	t.Helper()
	host, runner, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); Serve(runner, p); _ = runner.Close() }()
	c := NewClient(host, lost)
	t.Cleanup(c.Close)
	return c, done
}

func TestHold(t *testing.T) {
	p, lost := &program{}, make(chan struct{}, 4)
	c, done := serve(t, p, func() { lost <- struct{}{} })
	var old func()
	for i := range int32(3) {
		release, err := c.Hold(t.Context())
		if err != nil || p.held.Load() != i+1 {
			t.Fatalf("%v, held %d", err, p.held.Load())
		}
		if old != nil { // of a hold that is over: nobody is told
			old()
		}
		if len(lost) > 0 {
			t.Error("the old one is lost")
		}
		(*p.lost.Load())()
		select {
		case <-lost:
		case <-time.After(30 * time.Second):
			t.Fatal("it is not told that it is lost")
		}
		old = *p.lost.Load()
		release()
		release()
	}
	if !c.Owns(4711) || c.Owns(4712) || c.Owns(0) || c.Owns(-4711) || c.Owns(1<<40) {
		t.Error("the wrong groups are the program's")
	}
	if n := p.released.Load(); n != 3 {
		t.Errorf("released %d times", n)
	}
	c.Close()
	<-done
	if n := p.released.Load(); n != 4 {
		t.Errorf("released %d times", n)
	}
}

func TestHoldThatFails(t *testing.T) {
	p := &program{err: errors.New("it does\x1b not stop" + strings.Repeat("x", 2000))}
	c, _ := serve(t, p, nil)
	release, err := c.Hold(t.Context())
	if release != nil || err == nil || !strings.Contains(err.Error(), `it does\x1b not stop`) {
		t.Errorf("%v", err)
	}
	p.err = nil // the control
	if release, err := c.Hold(t.Context()); err != nil {
		t.Error(err)
	} else {
		release()
	}
}

// A hold that nobody waits for any more is released when it comes.
func TestHoldThatIsLate(t *testing.T) {
	p := &program{asked: make(chan struct{}), wait: make(chan struct{})}
	c, _ := serve(t, p, nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-p.asked; cancel() }()
	if _, err := c.Hold(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	close(p.wait)
	for end := time.Now().Add(30 * time.Second); p.released.Load() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it is not released")
		}
	}
}

// The end of the run is an error of a hold, and told to who holds.
func TestTheEndOfARun(t *testing.T) {
	host, runner, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	lost := make(chan struct{}, 1)
	c := NewClient(host, func() { lost <- struct{}{} })
	defer c.Close()
	go func() {
		_, n, _, _ := receive(runner)
		_ = send(runner, "held", n, "")
		_, _, _, _ = receive(runner)
		_ = runner.Close()
	}()
	if _, err := c.Hold(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c.Owns(5) {
		t.Error("a run that is over owns a group")
	}
	<-lost
	if _, err := c.Hold(t.Context()); !errors.Is(err, ErrGone) {
		t.Errorf("%v", err)
	}
}

// FuzzServe: whatever comes, the service ends and releases, and never holds for nonsense.
func FuzzServe(f *testing.F) {
	for _, s := range []string{"hold 1", "release 1", "owns 4711", "hold 01", "hold -1", "hold", "x 1", "hold 1 x", "", strings.Repeat("a", 600)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		host, runner, err := Pair()
		if err != nil {
			t.Skip(err)
		}
		if len(text) > 0 && len(text) < 100_000 {
			_, _ = host.Write([]byte(text))
		}
		_ = host.Close()
		p := &program{}
		Serve(runner, p)
		_ = runner.Close()
		if p.released.Load() == 0 || p.held.Load() > 0 && !strings.HasPrefix(text, "hold ") {
			t.Errorf("%q: held %d, released %d", text, p.held.Load(), p.released.Load())
		}
	})
}
