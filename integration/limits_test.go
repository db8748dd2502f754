package integration

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// memoryBomb needs 96 MiB, and no more: tail keeps what may be its last bytes.
const memoryBomb = "head -c 100663296 /dev/zero | tail -c 100663296 | wc -c"

// noController reports whether a start was refused because no controller of cgroup v2 can hold
// a limit, which is what has to happen then: the program has not run. Where one is to be
// had that is a failure.
func noController(t *testing.T, r result, clause string) bool {
	t.Helper()
	if r.status != 125 {
		return false
	}
	if r.out != "" || !strings.Contains(r.err, "brainbox: "+clause) || !strings.Contains(r.err, "Delegate=yes") {
		t.Errorf("refused without a way: %q %q", r.out, r.err)
	}
	if dir := runsGroup(t); strings.Contains(readOr(dir+"/cgroup.subtree_control"), clause) {
		t.Errorf("refused, and the groups below %s have the controller %s: %s", dir, clause, r.err)
	}
	return true
}

// TestLimitsOfATree: what a whole tree may use is held, or nothing starts. An ordinary user's
// processes in namespaces are counted by the user namespace, without a control group.
func TestLimitsOfATree(t *testing.T) {
	kernel(t)
	w := newWorld(t)
	t.Run("esc/PR-18 processes without end", func(t *testing.T) {
		const most = 40
		r := confined(t, w, []string{"--pids", itoa(most)}, program("victim"), "forks", "120")
		if noController(t, r, "pids") {
			if inside() && os.Geteuid() != 0 {
				t.Errorf("a user namespace counts: %s", r.err)
			}
			return
		}
		started := 0
		if _, err := fmt.Sscanf(r.out, "ok started %d", &started); err != nil || started < 1 || started >= most {
			t.Errorf("status %d, %q %q, want less than %d", r.status, r.out, r.err, most)
		}
		if r := confined(t, w, nil, program("victim"), "forks", "120"); r.out != "ok started 120\n" {
			t.Errorf("control: %q %q", r.out, r.err)
		}
		if out, err := exec.Command(program("victim"), "forks", "120").Output(); string(out) != "ok started 120\n" {
			t.Errorf("the host cannot fork: %q, %v", out, err)
		}
	})
	t.Run("esc/PR-19 memory without end", func(t *testing.T) {
		r := confined(t, w, []string{"--memory", "32MiB"}, "/bin/sh", "-c", memoryBomb)
		if noController(t, r, "memory") {
			return
		}
		if r.status != 137 || r.out != "" || !strings.Contains(r.err, "brainbox: out of memory: the run reached its limit of 33554432 bytes") {
			t.Errorf("status %d, %q %q", r.status, r.out, r.err)
		}
		r = confined(t, w, []string{"--memory", "32MiB"}, "/bin/sh", "-c", "kill -KILL $$")
		if r.status != 137 || strings.Contains(r.err, "out of memory") {
			t.Errorf("another SIGKILL: status %d, %q", r.status, r.err)
		}
	})
}

// readOr is a file's text, and nothing if it cannot be read.
func readOr(name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(text)
}

// TestPrivateFoldersAreBounded is esc/PR-21 and esc/PR-22 for what is the run's own: it can fill
// neither the memory of the host nor its tables of files.
func TestPrivateFoldersAreBounded(t *testing.T) {
	kernel(t)
	if !inside() {
		t.Skip("isolation landlock has private folders in the host's file system") // gating: nothing to test there
	}
	w := newWorld(t)
	for dir, size := range map[string]int{"/tmp": 512 << 20, "/dev/shm": 256 << 20} {
		t.Run("esc/PR-21 the size of "+dir, func(t *testing.T) {
			allocate := func(n int) string { // tmpfs says at once that there is not so much (shmem_fallocate)
				words := then(openat(dir+"/big", unix.O_WRONLY|unix.O_CREAT), call(unix.SYS_FALLOCATE, "$1", 0, 0, n))
				return strings.TrimSpace(confined(t, w, nil, append([]string{program("victim")}, strings.Fields(words)...)...).out)
			}
			if got := allocate(size + 4096); !strings.HasPrefix(got, "errno ENOSPC") {
				t.Errorf("more than %d bytes: %q", size, got)
			}
			if got := allocate(1 << 20); !strings.HasPrefix(got, "ok") {
				t.Errorf("control: %q", got)
			}
		})
	}
	t.Run("esc/PR-22 names without end", func(t *testing.T) {
		r := confined(t, w, nil, "/bin/sh", "-c", `cd /dev/shm; i=0; while [ $i -lt 20000 ]; do : >$i; [ $i -ne 10000 ] || echo half; i=$((i+1)); done; echo all`)
		if r.status == 0 || r.out != "half\n" || !strings.Contains(r.err, "No space left on device") {
			t.Errorf("status %d, %q, %.300q", r.status, r.out, r.err)
		}
	})
}
