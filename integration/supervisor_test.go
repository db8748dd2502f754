package integration

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
	"brainbox/landlock"
)

// attackRuns is how many starts the attack on the supervisor gets.
const attackRuns = 200

// TestChildCannotReachSupervisor starts programs that do nothing but attack their
// parent, each start pinned to one processor, where a window is widest. As soon as
// one of them attaches to, signals, reads or limits any thread of brainbox, brainbox
// is no boundary.
func TestChildCannotReachSupervisor(t *testing.T) {
	needs.LandlockABI(t, abi())
	needs.Seccomp(t)
	runs := attackRuns
	if testing.Short() {
		runs = 20
	}
	w := newWorld(t)
	tries := 0
	for i := range runs {
		cmd := exec.Command(program("brainbox"), boxArgs(nil, program("victim"), "attack", "2ms")...)
		cmd.Dir, cmd.Env = w.dir("W"), environ(t)
		n, hits, err := attack(cmd, i)
		hits = slices.DeleteFunc(hits, harmless)
		if err != nil || len(hits) > 0 {
			t.Fatalf("start %d: %v, and these attempts on brainbox succeeded: %q", i, err, hits)
		}
		tries += n
	}
	if tries < runs {
		t.Errorf("%d attempts in %d starts", tries, runs)
	}
	t.Logf("%d starts, %d rounds of attempts, none succeeded", runs, tries)
}

// harmless says of an attempt that succeeded that it did nothing. In namespaces the parent is
// the init, to which the kernel hands no signal from inside that it has no handler for
// (pid_namespaces(7)). From ABI 6 on Landlock refuses to send one, below the call succeeds; the run
// that ends as it should shows that the init is still there.
func harmless(hit string) bool {
	kernel, err := landlock.Probe()
	if !inside() || err != nil || kernel.Used() >= landlock.ScopeSignal.ABI() {
		return false
	}
	return hit == "" || slices.Contains([]string{"kill", "tgkill", "pidfd_send_signal"}, hit)
}

// TestRejectedDesignIsReached is the proof that the test above can fail: the same
// attack on the start that confines its own thread.
func TestRejectedDesignIsReached(t *testing.T) {
	needs.LandlockABI(t, 6)
	missing := []string{"ptrace-seize", "process_vm_readv", "pidfd_getfd", "tgkill"}
	for i := 0; len(missing) > 0 && i < 20; i++ { // one start reaches it nearly always
		_, hits, err := attack(exec.Command(program("rejected"), program("victim"), "attack", "200ms"), i)
		if err != nil {
			t.Fatal(err)
		}
		missing = slices.DeleteFunc(missing, func(s string) bool { return slices.Contains(hits, s) })
	}
	if len(missing) > 0 {
		t.Errorf("%q did not succeed against the rejected design: the attack proves nothing", missing)
	}
}

// pinned guards the affinity of the starting thread.
var pinned sync.Mutex

// attack runs the command on one processor and returns how often the attempts were
// made, and which of them succeeded.
func attack(cmd *exec.Cmd, turn int) (int, []string, error) {
	pinned.Lock()
	defer pinned.Unlock()
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return 0, nil, err
	}
	cpu := nth(&all, turn%all.Count())
	cmd.Args = append([]string{"taskset", "-c", itoa(cpu), cmd.Path}, cmd.Args[1:]...)
	var err error
	if cmd.Path, err = exec.LookPath("taskset"); err != nil {
		return 0, nil, err
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, nil, fmt.Errorf("%w\n%s", err, out)
	}
	var tries int
	var names string
	text := strings.TrimSpace(string(out))
	if _, err := fmt.Sscanf(text+" .", "ok tries=%d hits=%s", &tries, &names); err != nil {
		return 0, nil, fmt.Errorf("%q: %w", text, err)
	}
	names = strings.TrimSuffix(names, ".")
	if names == "" {
		return tries, nil, nil
	}
	return tries, strings.Split(names, ","), nil
}

// nth is the number of the set's processor number n, from 0.
func nth(set *unix.CPUSet, n int) int {
	for cpu := range 1024 {
		if !set.IsSet(cpu) {
			continue
		}
		if n == 0 {
			return cpu
		}
		n--
	}
	return 0
}
