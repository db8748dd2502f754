package integration

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestNoCoreLimitLeft: ulimit -c 0 in a shell, and LimitCORE=0 of a service, leave a hard limit of
// 0, which an ordinary user cannot make the 1 byte that keeps a handler away too. Where
// core_pattern names no handler, 0 is enough, and the program starts.
func TestNoCoreLimitLeft(t *testing.T) {
	kernel(t)
	w := newWorld(t)
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	must(t, err)
	start := func(ulimit string) result {
		t.Helper()
		shell := append([]string{"-c", ulimit + ` && exec "$0" "$@"`, program("brainbox")}, boxArgs(nil, "/bin/sh", "-c", "ulimit -Hc")...)
		return run(t, w.dir("W"), exec.Command("/bin/sh", shell...))
	}
	if r := start("ulimit -S -c 0"); r.status != 0 || r.out != "0\n" { // 1 byte is no block
		t.Errorf("control: status %d, %q %q", r.status, r.out, r.err)
	}
	r := start("ulimit -c 0")
	if strings.HasPrefix(string(pattern), "|") {
		if r.status != 125 || r.out != "" || !strings.Contains(r.err, "brainbox: core: a hard RLIMIT_CORE of 1 or more") {
			t.Errorf("status %d, %q %q", r.status, r.out, r.err)
		}
		return
	}
	if r.status != 0 || r.out != "0\n" || r.err != "" {
		t.Errorf("status %d, %q %q", r.status, r.out, r.err)
	}
}
