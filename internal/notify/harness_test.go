package notify

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
	"brainbox/internal/spawn"
)

const victimEnv = "NOTIFY_TEST_VICTIM"

func TestMain(m *testing.M) {
	if what := os.Getenv(victimEnv); what != "" {
		victim(what)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// notified is the call that the tests' filter notifies; nothing in a Go program makes it.
const notified = unix.SYS_GETPRIORITY

func call(a uintptr) string {
	r, _, e := unix.Syscall(notified, a, 0, 0)
	if e != 0 {
		return unix.ErrnoName(e)
	}
	return fmt.Sprint(r)
}

// victim is the program that makes the calls.
func victim(what string) {
	switch what {
	case "once":
		fmt.Println(call(7))
	case "many":
		var wg sync.WaitGroup
		for n := range 50 {
			wg.Go(func() {
				for i := range 40 {
					if got, want := call(uintptr(1000*n+i)), fmt.Sprint(1000*n+i+1); got != want {
						fmt.Println(got, "want", want)
					}
				}
			})
		}
		wg.Wait()
		fmt.Println("done")
	case "two": // the second while the first blocks
		go func() { fmt.Println("blocked", call(0)) }()
		for call(1) != "11" {
			runtime.Gosched()
		}
		fmt.Println("other", call(2))
		select {}
	case "restart", "interrupt":
		ch := make(chan os.Signal, 1)
		signal.Notify(ch, unix.SIGUSR1)
		if what == "interrupt" {
			noRestart(unix.SIGUSR1)
		}
		runtime.LockOSThread()
		fmt.Println(unix.Gettid())
		fmt.Println(call(0))
	}
}

// noRestart clears SA_RESTART of a signal's action.
func noRestart(sig syscall.Signal) {
	var act sigaction
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), 0, uintptr(unsafe.Pointer(&act)), 8, 0, 0)
	act.flags &^= saRestart
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&act)), 0, 8, 0, 0)
}

func arch() uint32 {
	if runtime.GOARCH == "arm64" {
		return unix.AUDIT_ARCH_AARCH64
	}
	return unix.AUDIT_ARCH_X86_64
}

// program is a victim and what it prints.
type program struct {
	t     *testing.T
	child *spawn.Child
	out   *bufio.Reader
}

// run starts a victim whose calls cfg answers; the server is closed at the test's end.
func run(t *testing.T, what string, cfg Config) (*program, *Server) {
	t.Helper()
	needs.Notify(t)
	if cfg.Arch == 0 {
		cfg.Arch = arch()
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	p := launch(t, what)
	s.Serve(p.child.Listener)
	return p, s
}

func launch(t *testing.T, what string) *program {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	t.Cleanup(func() { _ = r.Close() })
	runtime.LockOSThread() // the death signal follows the thread
	t.Cleanup(runtime.UnlockOSThread)
	c, err := spawn.Start(&spawn.Request{
		Path: exe, Argv: []string{"victim"}, Env: []string{victimEnv + "=" + what}, Unconfined: true, Listener: true,
		Filter: []unix.SockFilter{
			{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
			{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: notified, Jf: 1},
			{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF},
			{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		},
		Stdio: [3]int{0, int(w.Fd()), 2}, DieWithParent: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = unix.PidfdSendSignal(c.PidFD, unix.SIGKILL, nil, 0)
		_, _ = unix.Wait4(c.PID, nil, 0, nil)
		unix.Close(c.PidFD)
	})
	return &program{t, c, bufio.NewReader(r)}
}

func (p *program) line() string {
	p.t.Helper()
	text, err := p.out.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		p.t.Fatal(err)
	}
	return strings.TrimSpace(text)
}
