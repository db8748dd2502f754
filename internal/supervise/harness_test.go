package supervise

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"brainbox/internal/procfs"

	"golang.org/x/sys/unix"

	"brainbox/internal/spawn"
)

// patience bounds every wait of these tests; nothing waits that long unless it fails.
const patience = 30 * time.Second

// spec is one run of a supervisor in a process of its own: Run makes its process a
// subreaper and waits for every child of it.
type spec struct {
	Script      string
	Args        []string // $1 … of the script
	Timeout     time.Duration
	KillAfter   time.Duration
	Patience    time.Duration // of the end of the tree, if not the usual one
	OutputLimit int64
	Relay       [3]bool
	Sanitize    bool
	Terminal    bool
	Session     bool
	Inside      bool   // in namespaces of its own, in which all of the host's files are
	Announce    bool   // print "started" when Run says so
	Blind       bool   // the kernel shows no list of children
	Ghost       int    // a process that is listed and cannot be ended
	Cgroup      string // directory of the run's own cgroup v2
	Early       []int  // signals that come before they are passed on
	Moved       bool   // the goroutine is found on another thread
	Late        []int  // signals that come after the end of the tree
	After       []int  // signals that come when Run has returned
	Linger      time.Duration
	Stay        bool   // and its process goes on
	Hold        bool   // descriptor 3 is the end of a socket pair for holds
	Mark        string // a variable of the program's
	Ask         bool   // a process in the same job asks on the terminal
}

// outcome is what the supervisor's process reports.
type outcome struct {
	Result
	Error     string
	PeakRSSOf int64 // KiB, of the supervisor itself
	Children  bool  // it has children left
}

const specEnv, resultEnv = "SUPERVISE_TEST_SPEC", "SUPERVISE_TEST_RESULT"

func TestMain(m *testing.M) {
	if os.Getenv(shellEnv) != "" { // which starts a supervisor
		os.Exit(shell())
	}
	if n, err := strconv.Atoi(os.Getenv(countEnv)); err == nil {
		os.Exit(count(n))
	}
	if os.Getenv(askEnv) != "" {
		os.Exit(ask())
	}
	if text := os.Getenv(specEnv); text != "" {
		os.Exit(supervisor(text))
	}
	os.Exit(m.Run())
}

// countEnv makes the test binary a program that prints each signal it gets and ends with
// status 9 after so many. A shell's trap may run inside another one.
const countEnv = "SUPERVISE_TEST_COUNT"

const counter = `SUPERVISE_TEST_COUNT=$2 exec "$1"`

func count(n int) int {
	ch := make(chan os.Signal, 64)
	signal.Notify(ch, unix.SIGTERM, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2, unix.SIGINT, unix.SIGQUIT, unix.SIGWINCH)
	out := os.Stdout
	if tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0); err == nil && os.Getenv(countEnv+"_TTY") != "" {
		out = tty
	}
	fmt.Fprintln(out, "ready")
	for i := range n {
		sig, _ := (<-ch).(syscall.Signal)
		fmt.Fprintf(out, "got %s %d\n", strings.TrimPrefix(unix.SignalName(sig), "SIG"), i+1)
	}
	return 9
}

// peak is what this process itself has had in memory at most, in KiB. That of getrusage(2) begins
// with what the process had that started it.
func peak() (kib int64) {
	text, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	_, _ = fmt.Sscan(rest, &kib)
	return kib
}

// supervisor is the other side of a test.
func supervisor(text string) int {
	var s spec
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	res, err := s.run()
	raise(s.After)
	for s.Stay {
		time.Sleep(time.Hour)
	}
	out := outcome{}
	if res != nil {
		out.Result = *res
	}
	if err != nil {
		out.Error = err.Error()
	}
	out.PeakRSSOf = peak()
	_, err = unix.Wait4(-1, nil, unix.WNOHANG, nil)
	out.Children = !errors.Is(err, unix.ECHILD)
	b, err := json.Marshal(out)
	if err == nil {
		err = os.WriteFile(os.Getenv(resultEnv), b, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	return out.Status
}

func (s spec) run() (*Result, error) {
	job := &Job{
		Spawn: spawn.Request{
			Path: "/bin/sh", Argv: append([]string{"sh", "-c", s.Script, "sh"}, s.Args...), Env: []string{"PATH=/usr/bin:/bin", s.Mark},
			Stdio: [3]int{0, 1, 2}, Umask: 0o22, DieWithParent: true, Session: s.Session, Unconfined: true,
		},
		Terminal: s.Terminal, Timeout: s.Timeout, KillAfter: s.KillAfter,
		OutputLimit: s.OutputLimit, Relay: s.Relay, Sanitize: s.Sanitize, Linger: s.Linger,
	}
	if s.Late != nil {
		job.Ended = func(*Result) { raise(s.Late) }
	}
	if s.Hold {
		unix.CloseOnExec(3)
		if err := unix.SetNonblock(3, true); err != nil {
			return nil, err
		}
		job.Hold = os.NewFile(3, "hold")
	}
	if s.Ask {
		var err error
		if job.Hold, err = startAsking(); err != nil {
			return nil, err
		}
	}
	if s.Inside {
		n, err := everywhere()
		if err != nil {
			return nil, err
		}
		job.Spawn.Namespaces = n
	}
	if s.Cgroup != "" {
		fd, err := unix.Open(s.Cgroup, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, err
		}
		job.Spawn.Cgroup = fd
	}
	if !s.Blind && s.Ghost == 0 && s.Early == nil && !s.Moved {
		return Run(job, func(int) {
			to := os.Stdout
			if tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0); err == nil && s.Terminal {
				to = tty
			}
			if s.Announce {
				fmt.Fprintln(to, "started")
			}
		})
	}
	// As Run, with another list of children.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, err
	}
	r := &run{job: job, patience: max(s.Patience, time.Millisecond), list: procfs.ChildrenByParent}
	if s.Early != nil {
		r.list, r.patience, r.between = procfs.Children, endWait, func() { raise(s.Early) }
	}
	if s.Moved {
		r.list, r.patience, job.Spawn.Thread = procfs.Children, endWait, 1
	}
	if s.Ghost != 0 {
		r.list = func(pid int) []int {
			if pid == os.Getpid() {
				return []int{s.Ghost}
			}
			return nil
		}
	}
	return r.run(func(int) {})
}

// raise sends signals to this process.
func raise(sigs []int) {
	runtime.LockOSThread() // else the signal may be for a thread that has it later
	defer runtime.UnlockOSThread()
	for _, sig := range sigs {
		// On this very thread, so that each has been delivered when the call returns.
		if err := unix.Tgkill(os.Getpid(), unix.Gettid(), unix.Signal(sig)); err != nil {
			panic(err)
		}
	}
}

// running is a supervisor that has been started.
type running struct {
	t      *testing.T
	cmd    *exec.Cmd
	out    *bufio.Reader
	result string
}

// command is a supervisor's process, not started yet.
func command(t *testing.T, s spec) (*exec.Cmd, string) {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	result := filepath.Join(t.TempDir(), "result")
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = []string{specEnv + "=" + string(text), resultEnv + "=" + result, "PATH=/usr/bin:/bin"}
	errs, err := os.OpenFile(result+".stderr", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = errs.Close()
		if text, err := os.ReadFile(errs.Name()); err == nil && len(text) > 0 && t.Failed() {
			t.Logf("standard error: %.2000q", text)
		}
	})
	cmd.Stderr = errs
	return cmd, result
}

// start starts a supervisor whose standard output is a pipe.
func start(t *testing.T, s spec) *running {
	t.Helper()
	cmd, result := command(t, s)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	if err := errors.Join(r.SetReadDeadline(time.Now().Add(patience)), cmd.Start(), w.Close()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); _ = r.Close() })
	return &running{t: t, cmd: cmd, out: bufio.NewReader(r), result: result}
}

// line reads one line that the program printed.
func (r *running) line() string {
	r.t.Helper()
	text, err := r.out.ReadString('\n')
	if err != nil {
		r.t.Fatalf("no line from the program after %q: %v", text, err)
	}
	return strings.TrimSuffix(text, "\n")
}

// wait reads what is left of the output and the result.
func (r *running) wait() (outcome, string) {
	r.t.Helper()
	var rest strings.Builder
	if _, err := r.out.WriteTo(&rest); err != nil {
		r.t.Fatalf("the output did not end: %v", err)
	}
	return r.waited(r.cmd.Wait()), rest.String()
}

// waited reads the result after the supervisor's process has been waited for.
func (r *running) waited(err error) outcome {
	r.t.Helper()
	var ee *exec.ExitError
	if err != nil && !errors.As(err, &ee) {
		r.t.Fatal(err)
	}
	text, err := os.ReadFile(r.result)
	if err != nil {
		r.t.Fatalf("the supervisor reported nothing: %v, %v", err, r.cmd.ProcessState)
	}
	var o outcome
	if err := json.Unmarshal(text, &o); err != nil {
		r.t.Fatal(err)
	}
	if o.Error != "" {
		r.t.Fatalf("run: %s", o.Error)
	}
	if o.Children && len(o.Survivors) == 0 {
		r.t.Error("children of the supervisor are left and not reported")
	}
	return o
}

// supervise runs a supervisor to its end.
func supervise(t *testing.T, s spec) (outcome, string) {
	t.Helper()
	return start(t, s).wait()
}
