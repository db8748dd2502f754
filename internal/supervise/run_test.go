package supervise

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The start is made again, and on a thread that is kept, where the runtime has moved the
// goroutine to another one.
func TestRunOnAnotherThread(t *testing.T) { both(t, runOnAnotherThread) }

func runOnAnotherThread(t *testing.T, inside bool) {
	if o, out := supervise(t, spec{Inside: inside, Moved: true, Script: "echo ran; exit 7"}); o.Status != 7 || out != "ran\n" {
		t.Errorf("%+v, %q", o, out)
	}
}

func TestExitStatus(t *testing.T) {
	for _, c := range []struct {
		script       string
		status, code int
		signal       syscall.Signal
	}{
		{"exit 0", 0, 0, 0},
		{"exit 1", 1, 1, 0},
		{"exit 124", 124, 124, 0},
		{"exit 255", 255, 255, 0},
		{"kill -TERM $$", 128 + 15, -1, unix.SIGTERM},
		{"kill -KILL $$", 128 + 9, -1, unix.SIGKILL},
		{"kill -SYS $$", 128 + 31, -1, unix.SIGSYS},
		{"kill -INT $$", 128 + 2, -1, unix.SIGINT},
		{"kill -STOP $$ & wait; exit 3", 3, 3, 0}, // stopped, and continued by what follows
	} {
		both(t, func(t *testing.T, inside bool) {
			script := c.script
			if strings.Contains(script, "STOP") {
				script = `(while ! grep -q "^State:.T" /proc/$$/status; do :; done; kill -CONT $$) & kill -STOP $$; exit 3`
			}
			o, _ := supervise(t, spec{Script: script, Session: true, Inside: inside})
			if o.Status != c.status || o.Code != c.code || o.Signal != c.signal || o.TimedOut || o.Truncated {
				t.Errorf("%+v, want status %d, code %d, signal %d", o, c.status, c.code, c.signal)
			}
			if o.Duration <= 0 || o.PeakRSS <= 0 {
				t.Errorf("duration %v, peak %d KiB", o.Duration, o.PeakRSS)
			}
		})
	}
}

func TestTimeoutSendsTermThenKill(t *testing.T) { both(t, timeoutSendsTermThenKill) }

func timeoutSendsTermThenKill(t *testing.T, inside bool) {
	dir := t.TempDir()
	s := spec{Inside: inside, Timeout: 2 * time.Second, KillAfter: 2 * time.Second, Args: []string{dir}}
	s.Script = `trap 'echo term >>"$1/log"' TERM; sleep 1000 & echo $! >"$1/pids"; while :; do wait; done`
	o, _ := supervise(t, s)
	if !inside { // where they are other numbers
		gone(t, pids(t, dir+"/pids", 1))
	}
	if o.Status != 124 || !o.TimedOut || o.Signal != unix.SIGKILL || o.Duration < s.Timeout+s.KillAfter {
		t.Errorf("%+v, want 124 by SIGKILL after %v", o, s.Timeout+s.KillAfter)
	}
	if got := read(t, dir+"/log"); got != "term\n" {
		t.Errorf("TERM came as %q, want once", got)
	}
	// A program that obeys TERM is not killed, though a stopped one must be continued first.
	for name, script := range map[string]string{
		"running": `trap 'exit 7' TERM; while :; do sleep 1000 & wait; done`,
		"stopped": `trap 'exit 7' TERM; kill -STOP $$; while :; do sleep 1000 & wait; done`,
	} {
		s.Script, s.KillAfter = script, time.Hour
		if o, _ := supervise(t, s); o.Status != 124 || !o.TimedOut || o.Code != 7 {
			t.Errorf("%s: %+v, want 124 and code 7", name, o)
		}
	}
	s.Timeout, s.Script = time.Hour, "exit 0"
	if o, _ := supervise(t, s); o.Status != 0 || o.TimedOut { // positive control
		t.Errorf("a run within its time: %+v", o)
	}
}

func TestOutputLimit(t *testing.T) { both(t, outputLimit) }

func outputLimit(t *testing.T, inside bool) {
	const limit = 100_000
	s := spec{Inside: inside, OutputLimit: limit, KillAfter: time.Hour, Script: `yes 0123456789`}
	o, out := supervise(t, s)
	if !strings.HasSuffix(out, truncatedMark) || len(out) != limit+len(truncatedMark) {
		t.Errorf("%d bytes of output, ending in %q", len(out), out[max(0, len(out)-80):])
	}
	if o.Status != 124 || !o.Truncated || o.TimedOut {
		t.Errorf("%+v, want 124 and truncated", o)
	}
	if o.PeakRSSOf > 64<<10 {
		t.Errorf("the supervisor took %d KiB", o.PeakRSSOf)
	}
	// Both outputs count together, and the limit itself is no excess.
	s.Script = `head -c 60000 /dev/zero >&2; head -c 40000 /dev/zero`
	if o, out := supervise(t, s); o.Status != 0 || o.Truncated || len(out) != 40000 {
		t.Errorf("exactly the limit: %+v, %d bytes", o, len(out))
	}
	s.Script = `head -c 60001 /dev/zero >&2; head -c 40000 /dev/zero; while :; do sleep 1000; done`
	if o, _ := supervise(t, s); o.Status != 124 || !o.Truncated {
		t.Errorf("one byte more: %+v", o)
	}
}

// A child that keeps the output open does not keep the run: it is ended first.
func TestABackgroundChildDoesNotHoldTheOutput(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pids")
	o, out := supervise(t, spec{Script: `sleep 1000 & echo $! >"$1"; echo last`, Args: []string{file}, OutputLimit: 1 << 20})
	gone(t, pids(t, file, 1))
	if o.Status != 0 || out != "last\n" {
		t.Errorf("%+v, output %q", o, out)
	}
}

// A program that reads its standard output reads the caller's file, unless it is relayed.
func TestRelayHidesTheFile(t *testing.T) {
	for _, relay := range []bool{true, false} {
		file := filepath.Join(t.TempDir(), "out")
		write(t, file, "s3cret\n")
		f, err := os.OpenFile(file, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		cmd, _ := command(t, spec{Script: `cat <&1 >&2; echo hello`, Relay: [3]bool{false, relay, false}})
		var errout strings.Builder
		cmd.Stdout, cmd.Stderr = f, &errout
		if err := cmd.Run(); err != nil {
			t.Errorf("relay %v: %v", relay, err)
		}
		_ = f.Close()
		if got := strings.Contains(errout.String(), "s3cret"); got == relay {
			t.Errorf("relay %v: the program read %q", relay, errout.String())
		}
		if got := read(t, file); !strings.Contains(got, "hello\n") {
			t.Errorf("relay %v: the file holds %q", relay, got)
		}
	}
}

func TestSanitizeEscapesBothOutputs(t *testing.T) {
	cmd, _ := command(t, spec{Script: `printf '\033[2Jok\r\n'; printf '\033]0;x\007\303' >&2`, Sanitize: true})
	var out, errout strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errout
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if out.String() != `\x1b[2Jok`+"\r\n" || errout.String() != `\x1b]0;x\x07\xc3` {
		t.Errorf("output %q, errors %q", out.String(), errout.String())
	}
}

// A reader that goes away ends the program as it would without a relay.
func TestAClosedOutputEndsTheProgram(t *testing.T) {
	cmd, result := command(t, spec{Script: `exec yes`, OutputLimit: 1 << 40})
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	_, _ = w.Close(), r.Close()
	_ = cmd.Wait()
	if got := read(t, result); !strings.Contains(got, `"Status":141`) {
		t.Errorf("result %s, want the status of SIGPIPE", got)
	}
}

func TestSignalsAreForwardedOnce(t *testing.T) {
	both(t, signalsAreForwardedOnce)
}

func signalsAreForwardedOnce(t *testing.T, inside bool) {
	signals := []syscall.Signal{unix.SIGUSR1, unix.SIGTERM, unix.SIGHUP, unix.SIGUSR2, unix.SIGINT, unix.SIGQUIT, unix.SIGWINCH, unix.SIGUSR1}
	for _, session := range []bool{true, false} {
		r := start(t, spec{Inside: inside, Session: session, Announce: true, Script: counter, Args: []string{exe(t), strconv.Itoa(len(signals))}})
		if got := []string{r.line(), r.line()}; !slices.Contains(got, "ready") || !slices.Contains(got, "started") {
			t.Fatalf("output %q", got)
		}
		for i, sig := range signals { // a second copy of one would come before the next
			if err := r.cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprintf("got %s %d", strings.TrimPrefix(unix.SignalName(sig), "SIG"), i+1)
			if got := r.line(); got != want {
				t.Errorf("session %v: after %v: %q, want %q", session, sig, got, want)
			}
		}
		if o, rest := r.wait(); rest != "" || o.Status != 9 {
			t.Errorf("session %v: %q, %+v", session, rest, o)
		}
	}
}

func TestAFailedStartLeavesNothing(t *testing.T) {
	cmd, result := command(t, spec{Script: "exit 0", Cgroup: "/nonexistent"})
	_ = cmd.Run()
	if got := read(t, result); !strings.Contains(got, fmt.Sprint(unix.ENOENT)) || !strings.Contains(got, `"Children":false`) {
		t.Errorf("result %s", got)
	}
}
