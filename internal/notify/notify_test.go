package notify

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

func plus(c *Call) Answer { return Answer{Value: int64(c.Args[0]) + 1} }

func TestAnswers(t *testing.T) {
	for name, tt := range map[string]struct {
		cfg  Config
		want string
	}{
		"nobody answers":       {Config{}, "ENOSYS"},
		"another architecture": {Config{Arch: 1, Handlers: map[int]Handler{notified: plus}}, "ENOSYS"},
		"an error": {Config{Handlers: map[int]Handler{notified: func(*Call) Answer {
			return Answer{Value: 3, Errno: unix.EACCES}
		}}}, "EACCES"},
		"a value": {Config{Handlers: map[int]Handler{notified: plus}}, "8"},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := run(t, "once", tt.cfg)
			if got := p.line(); got != tt.want {
				t.Errorf("the call returned %s, want %s", got, tt.want)
			}
		})
	}
}

func TestManyThreads(t *testing.T) {
	p, _ := run(t, "many", Config{Handlers: map[int]Handler{notified: func(c *Call) Answer {
		if !c.Valid() {
			return Answer{Errno: unix.ESTALE}
		}
		if c.Args[0]%3 == 0 { // blocks, or may
			_ = c.Block(func() syscall.Errno { runtime.Gosched(); return 0 })
		}
		return plus(c)
	}}})
	if got := p.line(); got != "done" {
		t.Error(got)
	}
}

// esc/SC-13: after the end of whoever listens a call fails and is not made.
func TestClosedServerMeansNoCall(t *testing.T) {
	needs.Seccomp(t)
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	needs.Notify(t)
	p := launch(t, "once")
	s.Serve(p.child.Listener)
	s.Close()
	if got := p.line(); got != "ENOSYS" {
		t.Errorf("the call returned %s, want ENOSYS", got)
	}
	s.Close() // changes nothing
}

// pipe blocks until somebody writes to it.
type pipe [2]int

func newPipe(t *testing.T) pipe {
	t.Helper()
	var p pipe
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(p[0]); unix.Close(p[1]) })
	return p
}

func (p pipe) read() syscall.Errno {
	var b [1]byte
	_, _, e := unix.Syscall(unix.SYS_READ, uintptr(p[0]), uintptr(unsafe.Pointer(&b)), 1)
	return e
}

// blocking answers call 0 when the pipe says so, and others at once: with 11 when a call
// blocks already.
func blocking(p pipe, began chan struct{}, ended chan<- syscall.Errno) Handler {
	return func(c *Call) Answer {
		if c.Args[0] != 0 {
			select {
			case <-began:
				return Answer{Value: 10 + int64(c.Args[0])}
			default:
				return Answer{}
			}
		}
		e := c.Block(func() syscall.Errno {
			select {
			case <-began:
			default:
				close(began)
			}
			return p.read()
		})
		ended <- e
		return Answer{Errno: e}
	}
}

func TestABlockedCallHoldsUpNobody(t *testing.T) {
	gate, ended := newPipe(t), make(chan syscall.Errno, 1)
	p, _ := run(t, "two", Config{Handlers: map[int]Handler{notified: blocking(gate, make(chan struct{}), ended)}})
	if got := p.line(); got != "other 12" {
		t.Fatalf("got %q while another call blocks", got)
	}
	_, _ = unix.Write(gate[1], []byte{1})
	if got := p.line(); got != "blocked 0" || <-ended != 0 {
		t.Errorf("the blocked call gave %q", got)
	}
}

func TestABlockedCallEndsWithItsProgram(t *testing.T) {
	gate, ended := newPipe(t), make(chan syscall.Errno, 1)
	p, _ := run(t, "two", Config{Handlers: map[int]Handler{notified: blocking(gate, make(chan struct{}), ended)}})
	p.line()
	_ = unix.PidfdSendSignal(p.child.PidFD, unix.SIGKILL, nil, 0)
	if e := <-ended; e != Gone {
		t.Errorf("Block = %v, want Gone", e)
	}
}

func TestABlockedCallEndsWithTheServer(t *testing.T) {
	gate, ended := newPipe(t), make(chan syscall.Errno, 1)
	p, s := run(t, "two", Config{Handlers: map[int]Handler{notified: blocking(gate, make(chan struct{}), ended)}})
	p.line()
	s.Close()
	if e := <-ended; e != Gone {
		t.Errorf("Block = %v, want Gone", e)
	}
}

// A signal without SA_RESTART interrupts the program's call; with it the call is made
// again, as it would be without anybody between.
func TestSignalsInterruptABlockedCall(t *testing.T) {
	for what, want := range map[string]string{"interrupt": "EINTR", "restart": "0"} {
		t.Run(what, func(t *testing.T) {
			gate, began, ended := newPipe(t), make(chan struct{}), make(chan syscall.Errno, 1)
			p, _ := run(t, what, Config{Handlers: map[int]Handler{notified: blocking(gate, began, ended)}})
			var tid int
			if _, err := fmt.Sscan(p.line(), &tid); err != nil {
				t.Fatal(err)
			}
			<-began
			_ = unix.Tgkill(p.child.PID, tid, unix.SIGUSR1)
			e := <-ended
			if e != Restart {
				t.Errorf("Block = %v, want ERESTARTSYS", e)
			}
			if what == "restart" {
				_, _ = unix.Write(gate[1], []byte{1})
			}
			if got := p.line(); got != want {
				t.Errorf("the call returned %s, want %s", got, want)
			}
		})
	}
}

// A stop takes every thread, and the parent is told when the last one stops: one that
// another thread has taken stops the blocked one, too.
func TestAStopReachesABlockedCall(t *testing.T) {
	gate, began, ended := newPipe(t), make(chan struct{}), make(chan syscall.Errno, 2)
	var blocked atomic.Int64
	block := blocking(gate, began, ended)
	p, _ := run(t, "two", Config{Handlers: map[int]Handler{notified: func(c *Call) Answer {
		if c.Args[0] == 0 {
			blocked.Store(int64(c.TID))
		}
		return block(c)
	}}})
	p.line()
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", p.child.PID))
	must(t, err)
	for _, task := range tasks {
		if tid, _ := strconv.Atoi(task.Name()); int64(tid) != blocked.Load() {
			must(t, unix.Tgkill(p.child.PID, tid, unix.SIGSTOP))
			break
		}
	}
	var ws unix.WaitStatus
	if _, err := unix.Wait4(p.child.PID, &ws, unix.WUNTRACED, nil); err != nil || !ws.Stopped() {
		t.Fatalf("wait4 = %v, status %#x, want a stop", err, ws)
	}
	if e := <-ended; e != Restart {
		t.Errorf("Block = %v, want ERESTARTSYS", e)
	}
	must(t, unix.PidfdSendSignal(p.child.PidFD, unix.SIGCONT, nil, 0))
	_, _ = unix.Write(gate[1], []byte{1})
	if got := p.line(); got != "blocked 0" {
		t.Errorf("after it went on: %q", got)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// What comes beyond the bound waits, and is answered then.
func TestBound(t *testing.T) {
	var mu sync.Mutex
	now, most := 0, 0
	p, _ := run(t, "many", Config{Threads: 4, Handlers: map[int]Handler{notified: func(c *Call) Answer {
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		_ = c.Block(func() syscall.Errno { runtime.Gosched(); return 0 })
		mu.Lock()
		now--
		mu.Unlock()
		return plus(c)
	}}})
	got := p.line()
	mu.Lock()
	defer mu.Unlock()
	if got != "done" || most > 4 {
		t.Errorf("%s, %d handlers at a time, want at most 4", got, most)
	}
}

func TestEnterThatFailsRefusesTheServer(t *testing.T) {
	needs.Seccomp(t)
	if _, err := New(Config{Enter: func() error { return unix.EPERM }}); !errors.Is(err, unix.EPERM) {
		t.Errorf("New = %v, want EPERM", err)
	}
}

func TestStatusSaysWhatASignalMakesOfACall(t *testing.T) {
	const usr1, chld = "0000000000000200", "0000000000010000"
	text := func(own, shared, blocked, ignored, threads string) string {
		return "Name:\tSigPnd:\nThreads:\t" + threads + "\nSigPnd:\t" + own + "\nShdPnd:\t" + shared + "\nSigBlk:\t" + blocked + "\nSigIgn:\t" + ignored + "\n"
	}
	const none = "0000000000000000"
	for name, tt := range map[string]struct {
		text string
		want syscall.Errno
	}{
		"nothing":                       {text(none, none, none, none, "1"), 0},
		"blocked":                       {text(usr1, none, usr1, none, "1"), 0},
		"ignored":                       {text(none, chld, none, chld, "1"), 0},
		"for the thread":                {text(usr1, none, chld, none, "9"), Restart},
		"for a process of one thread":   {text(none, usr1, none, none, "1"), Restart},
		"for a process of many threads": {text(none, usr1, none, none, "2"), unix.EINTR},
		"killed":                        {text("0000000000000100", usr1, none, none, "2"), Gone},
		"no status":                     {"", 0},
	} {
		if got := parseStatus(tt.text).interrupts(); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// A program that fills the table of its user's processes finds a server that needs no more
// threads: the runtime would end this process over one that cannot be made.
func TestNoThreadIsMadeLater(t *testing.T) {
	var entered atomic.Int64
	cfg := Config{Enter: func() error { entered.Add(1); return nil }}
	cfg.Handlers = map[int]Handler{notified: func(c *Call) Answer {
		if entered.Load() != defaultThreads {
			return Answer{Errno: unix.EAGAIN}
		}
		_ = c.Block(func() syscall.Errno { runtime.Gosched(); return 0 })
		return plus(c)
	}}
	p, _ := run(t, "many", cfg)
	if got := p.line(); got != "done" || entered.Load() != defaultThreads {
		t.Errorf("%s, %d threads, want %d before the first call and after the last", got, entered.Load(), defaultThreads)
	}
}
