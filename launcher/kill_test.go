package launcher

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// killerScript logs its arguments and then runs body.
func killerScript(t *testing.T, body string) (killer, logFile string) {
	t.Helper()
	killer = wrapScript(t, "killer", "")
	logFile = filepath.Join(filepath.Dir(killer), "log")
	text := "#!/bin/sh\nprintf '%s\\n' \"$@\" >>'" + logFile + "'\n" + body + "\n"
	if err := os.WriteFile(killer, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return killer, logFile
}

const killerHonest = `kill -s "$2" -- "-$1"`

func killLogLines(t *testing.T, logFile string) []string {
	t.Helper()
	text, err := os.ReadFile(logFile)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

func TestKillWithoutWrapper(t *testing.T) {
	tests := []struct {
		name, script string
		sig          KillSignal
		want         syscall.Signal
	}{
		{"bk/K1", wrapSleeper, KillTERM, syscall.SIGTERM},
		{"bk/K2 the signal asked for (R7)", wrapStubborn, KillKILL, syscall.SIGKILL},
		{"bk/K2 INT", wrapSleeper, KillINT, syscall.SIGINT},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			proc := wrapSpawn(t, wrapThrough("", "/no/such/killer"), tt.script)
			if pid := proc.ready(t); pid != proc.PID() {
				t.Fatalf("pid %d, want %d", pid, proc.PID())
			}
			receipt, reports := wrapKill(t, proc.WrappedProcess, tt.sig)
			if got := wrapDead(t, proc.WrappedProcess); got != tt.want {
				t.Errorf("ended by %v, want %v", got, tt.want)
			}
			if len(reports) != 0 || receipt.Mechanism != KillByPidfd {
				t.Errorf("receipt %+v, reports %q, want a silent pidfd signal", receipt, reports)
			}
		})
	}
}

func TestKillStubbornWithoutWrapperStaysAlive(t *testing.T) {
	// The positive control of K2: what TERM cannot end.
	proc := wrapSpawn(t, wrapThrough("", ""), wrapStubborn)
	proc.ready(t)
	wrapKill(t, proc.WrappedProcess, KillTERM)
	if !wrapAlive(t, proc.PID()) {
		t.Error("TERM ended a process that ignores it")
	}
}

func TestKillSupervisingWrapper(t *testing.T) {
	honest, logFile := killerScript(t, killerHonest)
	for name, killer := range map[string]string{"bk/K3": "", "bk/K4": honest} {
		t.Run(name, func(t *testing.T) {
			seen := filepath.Join(t.TempDir(), "seen")
			wrapper := wrapScript(t, "wrapper", "#!/bin/sh\nprintf '%s\\n' \"$@\" >'"+seen+"'\n\"$@\" &\nwait\n")
			proc := wrapSpawn(t, wrapThrough(wrapper, killer), wrapSleeper, "a b", "$(id)")
			child := proc.ready(t)
			if child == proc.PID() {
				t.Fatal("the wrapper did not fork")
			}
			want := []string{"/usr/bin/sh", "-c", wrapSleeper, "sh", "a b", "$(id)"}
			if diff := cmp.Diff(want, killLogLines(t, seen)); diff != "" {
				t.Errorf("what the wrapper saw (-want +got):\n%s", diff)
			}
			receipt, reports := wrapKill(t, proc.WrappedProcess, KillTERM)
			if wrapAlive(t, child) || wrapAlive(t, proc.PID()) {
				t.Error("somebody of the group is alive")
			}
			if len(reports) != 0 || !receipt.Verified || receipt.Escalated {
				t.Errorf("receipt %+v, reports %q, want a verified silence", receipt, reports)
			}
			if killer == "" {
				return
			}
			if diff := cmp.Diff([]string{strconv.Itoa(proc.PID()), "TERM"}, killLogLines(t, logFile)); diff != "" {
				t.Errorf("killer's arguments (-want +got):\n%s", diff)
			}
			if receipt.Mechanism != KillByHelper {
				t.Errorf("mechanism %q, want %q", receipt.Mechanism, KillByHelper)
			}
		})
	}
}

func TestKillFailingHelper(t *testing.T) {
	script := func(body string) string {
		killer, _ := killerScript(t, body)
		return killer
	}
	notExecutable := wrapScript(t, "killer", "#!/bin/sh\n")
	if err := os.Chmod(notExecutable, 0o644); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, killer string
		limit        time.Duration
		want         []string // of the one report
	}{
		{"bk/K5", "/no/such/killer", 0, []string{"cannot be started", "no such file"}},
		{"bk/K5 no execute bit", notExecutable, 0, []string{"cannot be started", "permission denied"}},
		{"bk/K6 (R8)", script("exit 3"), 0, []string{"exited 3"}},
		{"bk/K6 brainbox-kill's own status", script("exit 126"), 0, []string{"exited 126"}},
		{"bk/K8", script("kill -s SEGV $$"), 0, []string{"was ended by SIGSEGV"}},
		{"bk/K9 [D]", script("sleep 60"), time.Millisecond, []string{"timed out after 1ms"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := wrapThrough(wrapScript(t, "wrapper", wrapExec), tt.killer)
			if tt.limit != 0 {
				w.helperLimit = tt.limit
			}
			proc := wrapSpawn(t, w, wrapSleeper)
			proc.ready(t)
			receipt, reports := wrapKill(t, proc.WrappedProcess, KillTERM)
			if got := wrapDead(t, proc.WrappedProcess); got != syscall.SIGTERM {
				t.Errorf("ended by %v, want SIGTERM through step D", got)
			}
			if len(reports) != 1 || receipt.Mechanism != KillByGroup || !receipt.Verified {
				t.Fatalf("receipt %+v, reports %q, want one report and the group signal", receipt, reports)
			}
			for _, want := range append(tt.want, "BRAIN_UI_EXEC_KILLER", tt.killer, strconv.Itoa(proc.PID())) {
				if !strings.Contains(reports[0], want) {
					t.Errorf("report %q lacks %q", reports[0], want)
				}
			}
		})
	}
}

func TestKillReturnsAtOnce(t *testing.T) {
	// bk/K9: the killer lets the abort path go although it is still running.
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	killer, logFile := killerScript(t, "read -r _ <'"+fifo+"'\n"+killerHonest)
	proc := wrapSpawn(t, wrapThrough(wrapScript(t, "wrapper", wrapExec), killer), wrapSleeper)
	proc.ready(t)
	first, err := proc.Kill(KillTERM, nil)
	if err != nil {
		t.Fatal(err)
	}
	if first.finished() || !wrapAlive(t, proc.PID()) {
		t.Fatal("Kill waited for the helper")
	}
	second, err := proc.Kill(KillTERM, nil) // X7
	if err != nil || second != first {
		t.Errorf("a second call is a teardown of its own: %p, %p, %v", first, second, err)
	}
	if err := os.WriteFile(fifo, []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
	receipt, err := first.Wait(wrapContext(t))
	if err != nil || !receipt.Verified {
		t.Errorf("receipt %+v, %v", receipt, err)
	}
	if got := killLogLines(t, logFile); len(got) != 2 {
		t.Errorf("the killer was called with %q, want one call (X7)", got)
	}
}

func TestKillHelperThatLies(t *testing.T) {
	killer, logFile := killerScript(t, "exit 0")
	w := wrapThrough(wrapScript(t, "wrapper", wrapExec), killer)
	// The group has to outlive the killer's two answers and then end for sure.
	w.grace, w.killGrace = 20*time.Millisecond, 2*time.Second
	proc := wrapSpawn(t, w, wrapSleeper)
	pid := strconv.Itoa(proc.ready(t))
	receipt, reports := wrapKill(t, proc.WrappedProcess, KillTERM)
	if got := wrapDead(t, proc.WrappedProcess); got != syscall.SIGKILL {
		t.Errorf("bk/K7 [D]: ended by %v, want SIGKILL", got)
	}
	if diff := cmp.Diff([]string{pid, "TERM", pid, "KILL"}, killLogLines(t, logFile)); diff != "" {
		t.Errorf("bk/K7 [D]: killer's arguments (-want +got):\n%s", diff)
	}
	if !receipt.Escalated || !receipt.Verified || receipt.Mechanism != KillByGroup {
		t.Errorf("bk/K7 [D]: receipt %+v", receipt)
	}
	if len(reports) != 1 || !strings.Contains(reports[0], "exited 0") || !strings.Contains(reports[0], killer) {
		t.Errorf("bk/K7 [D]: reports %q, want one about the killer", reports)
	}
}

func TestKillEscalates(t *testing.T) {
	for name, body := range map[string]string{"X1 by group": "", "X1 by killer": killerHonest} {
		t.Run(name, func(t *testing.T) {
			killer, mechanism := "", KillByGroup
			if body != "" {
				killer, _ = killerScript(t, body)
				mechanism = KillByHelper
			}
			w := wrapThrough(wrapScript(t, "wrapper", wrapSupervise), killer)
			w.grace = 20 * time.Millisecond
			proc := wrapSpawn(t, w, wrapStubborn)
			child := proc.ready(t)
			receipt, reports := wrapKill(t, proc.WrappedProcess, KillTERM)
			if wrapAlive(t, child) {
				t.Error("the process that ignores TERM is alive")
			}
			if !receipt.Escalated || !receipt.Verified || receipt.Mechanism != mechanism || len(reports) != 0 {
				t.Errorf("receipt %+v, reports %q, want a silent escalation", receipt, reports)
			}
		})
	}
}
