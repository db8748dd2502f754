package integration

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"brainbox/internal/needs"
	"brainbox/landlock"
)

// result is how one program ended.
type result struct {
	status int
	out    string
	err    string
	took   time.Duration
}

// run runs a program to its end in a folder.
func run(t testing.TB, dir string, cmd *exec.Cmd) result {
	t.Helper()
	var out, errs strings.Builder
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
	if cmd.Env == nil {
		cmd.Env = environ(t)
	}
	begun := time.Now()
	must(t, cmd.Start())
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	err := cmd.Wait()
	r := result{status: cmd.ProcessState.ExitCode(), out: out.String(), err: errs.String(), took: time.Since(begun)}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, r.err)
	}
	return r
}

// confined runs a program to its end inside brainbox.
func confined(t testing.TB, w *world, flags []string, command ...string) result {
	t.Helper()
	return run(t, w.dir("W"), exec.Command(program("brainbox"), boxArgs(flags, command...)...))
}

// kernel asks for what every start of these tests needs.
func kernel(t testing.TB) {
	t.Helper()
	needs.LandlockABI(t, abi())
	needs.Seccomp(t)
}

// abi is the Landlock ABI that a start of this run needs. Isolation namespaces holds by other
// means what Landlock holds from ABI 3 on.
func abi() int {
	if inside() {
		return 2
	}
	return 6
}

// byPath reports whether Landlock itself holds Unix sockets by path: then programs have
// sockets of their own, and each connect(2) and sendto(2) is asked for.
func byPath() bool {
	kernel, err := landlock.Probe()
	return err == nil && kernel.Used() >= landlock.ResolveUnix.ABI()
}

// pidIn reads a process number that a victim has left.
func pidIn(t testing.TB, path string) int {
	t.Helper()
	waitFor(t, path, func() bool { _, err := os.Stat(path); return err == nil })
	text, err := os.ReadFile(path)
	must(t, err)
	pid, err := strconv.Atoi(string(text))
	must(t, err)
	if inside() {
		return outsidePID(t, pid, path)
	}
	return pid
}

// outsidePID is the number that a process with the path as an argument has outside of its
// pid namespace; none, -1, where it is gone.
func outsidePID(t testing.TB, pid int, path string) int {
	t.Helper()
	for _, n := range processes(t) {
		text, err := os.ReadFile("/proc/" + itoa(n) + "/cmdline")
		ids := strings.Fields(field(n, "NSpid"))
		if err == nil && strings.Contains(string(text), path+"\x00") && len(ids) > 0 && ids[len(ids)-1] == itoa(pid) {
			return n
		}
	}
	return -1
}

// processes are the numbers of all processes.
func processes(t testing.TB) []int {
	t.Helper()
	var list []int
	entries, err := os.ReadDir("/proc")
	must(t, err)
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			list = append(list, n)
		}
	}
	return list
}

// waitFor waits until something is so.
func waitFor(t testing.TB, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not in %v", what, patience)
		}
	}
}

// alive says whether a process is there and no zombie.
func alive(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	after := string(text[strings.LastIndexByte(string(text), ')')+1:])
	return !strings.HasPrefix(after, " Z") && !strings.HasPrefix(after, " X")
}

// field is one field of /proc/PID/status.
func field(pid int, name string) string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, name+":"); found {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// reap ends a process that a test has left on purpose.
func reap(t testing.TB, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("process %d: %v", pid, err)
	}
	waitFor(t, "the end of a process", func() bool { return !alive(pid) })
}

// copyProgram makes a copy that may be executed.
func copyProgram(t testing.TB, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	must(t, err)
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	must(t, err)
	_, err = io.Copy(out, in)
	must(t, err)
	must(t, out.Chmod(0o755))
	must(t, out.Close())
}
