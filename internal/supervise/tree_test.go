package supervise

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"brainbox/internal/procfs"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// hiders are scripts whose processes try to outlive the program. $1 is the file that
// they write their numbers to; each ends only after they have.
func hiders() map[string]string {
	const wait = `
while [ "$(wc -l <"$1")" -lt %d ]; do :; done`
	return map[string]string{
		"a background child":          `sleep 1000 & echo $! >"$1"`,
		"a session of its own":        `setsid sh -c 'echo $$ >>"$1"; exec sleep 1000' sh "$1" &` + fmt.Sprintf(wait, 1),
		"a double fork":               `(setsid sh -c '(echo $$ >>"$1"; sleep 1000 & echo $! >>"$1"; sleep 1000) & wait' sh "$1" &)` + fmt.Sprintf(wait, 2),
		"a stopped child":             `sleep 1000 & echo $! >"$1"; kill -STOP $!`,
		"a child that ignores TERM":   `sh -c 'trap "" TERM HUP INT; echo $$ >>"$1"; while :; do sleep 1000; done' sh "$1" &` + fmt.Sprintf(wait, 1),
		"a tree of three generations": `sh -c 'echo $$ >>"$1"; sh -c "echo \$\$ >>\"\$1\"; sleep 1000 & echo \$! >>\"\$1\"; wait" sh "$1" & wait' sh "$1" &` + fmt.Sprintf(wait, 3),
	}
}

func TestTheTreeEndsWithTheProgram(t *testing.T) {
	for name, script := range hiders() {
		for _, s := range []spec{{}, {Session: true}, {Blind: true, Patience: endWait}} {
			t.Run(fmt.Sprintf("%s, session %v, blind %v", name, s.Session, s.Blind), func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "pids")
				write(t, file, "")
				s.Script, s.Args = script+"; exit 3", []string{file}
				o, _ := supervise(t, s)
				gone(t, pids(t, file, 1))
				if o.Status != 3 || len(o.Survivors) != 0 {
					t.Errorf("%+v, want status 3 and no survivor", o)
				}
			})
		}
	}
}

func TestTheTreeEndsByCgroup(t *testing.T) {
	needs.Root(t)
	needs.CgroupKill(t)
	for name, script := range hiders() {
		t.Run(name, func(t *testing.T) {
			dir := cgroupDir(t)
			file := filepath.Join(t.TempDir(), "pids")
			write(t, file, "")
			o, _ := supervise(t, spec{Script: script, Args: []string{file}, Cgroup: dir})
			gone(t, pids(t, file, 1))
			if left := strings.TrimSpace(read(t, dir+"/cgroup.procs")); left != "" || o.Status != 0 || len(o.Survivors) != 0 {
				t.Errorf("left in the group: %q; %+v", left, o)
			}
		})
	}
}

// cgroupDir makes a group in the unified tree.
func cgroupDir(t *testing.T) string {
	t.Helper()
	for line := range strings.SplitSeq(read(t, "/proc/self/mountinfo"), "\n") {
		left, right, _ := strings.Cut(line, " - ")
		if f := strings.Fields(left); len(f) > 4 && strings.HasPrefix(right, "cgroup2 ") {
			_, own, _ := strings.Cut(read(t, "/proc/self/cgroup"), "0::")
			own, _, _ = strings.Cut(own, "\n")
			dir := fmt.Sprintf("%s%s/brainbox-test-%d", f[4], own, os.Getpid())
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Remove(dir) })
			return dir
		}
	}
	t.Fatal("no cgroup v2 tree, though needs found one")
	return ""
}

// A chain forks itself and exits, for ever: its members' numbers are out of date as soon
// as they are read.
func TestAForkChainEnds(t *testing.T) {
	for _, s := range []spec{{}, {Session: true}, {Session: true, Inside: true}} {
		if s.Inside {
			needs.Userns(t)
		}
		chain := filepath.Join(t.TempDir(), "chain")
		write(t, chain, "#!/bin/sh\nsetsid \"$0\" &\n")
		if err := os.Chmod(chain, 0o700); err != nil {
			t.Fatal(err)
		}
		s.Script, s.Args = `"$1" & "$1" & i=0; while [ $i -lt 200 ]; do i=$((i+1)); done; exit 4`, []string{chain}
		o, _ := supervise(t, s)
		if o.Status != 4 || len(o.Survivors) != 0 {
			t.Errorf("%+v, want status 4 and no survivor", o)
		}
		if left := processesNaming(t, chain); len(left) != 0 {
			t.Errorf("members of the chain are left: %v", left)
			for _, pid := range left {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
	}
}

// processesNaming finds processes with text in their arguments.
func processesNaming(t *testing.T, text string) (list []int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		pid, perr := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil && perr == nil && pid != os.Getpid() && strings.Contains(string(b), text) {
			list = append(list, pid)
		}
	}
	return list
}

func TestOrphansAreReapedWhileTheProgramRuns(t *testing.T) {
	// The orphan is gone once the supervisor has no child but the program.
	script := `(sh -c 'exit 0' &); i=0
while [ $i -lt 20000 ]; do i=$((i+1))
	read -r list <<-END
		$(cat /proc/$PPID/task/*/children)
	END
	[ "$(echo $list)" = $$ ] && exit 0
done; echo "$list"; exit 9`
	if o, out := supervise(t, spec{Script: script}); o.Status != 0 {
		t.Errorf("%+v, children %q", o, out)
	}
}

// A process that cannot be ended is reported, and what it could still write is not
// waited for.
func TestSurvivorsAreReported(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pids")
	ghost := os.Getpid() // no child of the supervisor: never signalled
	s := spec{
		Script: `sleep 1000 & echo $! >"$1"; echo hello; exit 5`, Args: []string{file},
		Ghost: ghost, Patience: 20 * time.Millisecond, OutputLimit: 1 << 20,
	}
	r := start(t, s)
	if got := r.line(); got != "hello" {
		t.Errorf("output %q", got)
	}
	err := r.cmd.Wait()
	for _, pid := range pids(t, file, 1) {
		_ = unix.Kill(pid, unix.SIGKILL) // it held the output open
	}
	o := r.waited(err)
	if len(o.Survivors) != 1 || o.Survivors[0] != (Survivor{PID: ghost, UID: os.Geteuid()}) || o.Status != 5 {
		t.Errorf("%+v, want one survivor %d and status 5", o, ghost)
	}
}

// What the caller started before it became the supervisor is not the program's.
func TestChildrenFromBeforeAreSpared(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pids")
	cmd, result := command(t, spec{Script: `sleep 1000 & echo $! >>"$1"; exit 6`, Args: []string{file + "2"}})
	cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", `sleep 1000 & echo $! >"$1"; exec "$2"`, "sh", file, exe(t)}
	err := cmd.Run()
	before := pids(t, file, 1)[0]
	defer func() { _ = unix.Kill(before, unix.SIGKILL) }()
	if kerr := unix.Kill(before, 0); kerr != nil {
		t.Errorf("the child from before was ended: %v", kerr)
	}
	gone(t, pids(t, file+"2", 1)) // positive control: the program's own child
	if cmd.ProcessState.ExitCode() != 6 {
		t.Errorf("%v, result %s", err, read(t, result))
	}
}

func exe(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTheProgramDiesWithAKilledSupervisor(t *testing.T) {
	r := start(t, spec{Script: `echo $$; exec sleep 1000`, Session: true})
	pid, err := strconv.Atoi(r.line())
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(pid, 0); err != nil { // positive control
		t.Fatal(err)
	}
	if err := r.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	waitGone(t, pid)
}

// A number that was given to another process in between is not hit: its parent is neither
// the one it was found under nor the supervisor.
func TestProcessIsNotSignalledUnderAnotherParent(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", "sleep 1000 & echo $!; wait")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	text, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		t.Fatal(err)
	}
	process{pid: pid, parent: 1 << 22}.signal(unix.SIGKILL)
	if parent, state := (process{pid: pid}).stat(); parent != cmd.Process.Pid || state == 0 || state == 'Z' {
		t.Errorf("after a signal meant for another process: parent %d, state %q", parent, state)
	}
	if got := procfs.ChildrenByParent(cmd.Process.Pid); len(got) != 1 || got[0] != pid {
		t.Errorf("childrenByParent: %v, want %d", got, pid)
	}
	process{pid: pid, parent: cmd.Process.Pid}.signal(unix.SIGKILL) // positive control
	if err := cmd.Wait(); err != nil {                              // the shell ends with its only child
		t.Error(err)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
