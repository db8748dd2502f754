package needs

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

const (
	// childMark names the test that a child process was started for.
	childMark = "BRAINBOX_TEST_CHILD"
	// marker is the byte that package testing writes before its own lines when
	// it is told to write for test2json.
	marker = "\x16"
)

// InChild runs the current test again in a process of its own. In that process
// it returns true; in the first one it returns false, after the child has
// passed. When the child fails, ends early or runs no test, the first process's
// test fails with the child's output, and InChild does not return.
//
// What stands before InChild in the test runs in both processes. Use [IsChild]
// and [RunChild] to prepare and to judge in the first process alone.
func InChild(t *testing.T, env ...string) bool {
	t.Helper()
	if IsChild(t) {
		return true
	}
	RunChild(t, env...)
	return false
}

// IsChild says whether this process was started by [RunChild] for this test.
func IsChild(t *testing.T) bool {
	t.Helper()
	return os.Getenv(childMark) == t.Name()
}

// RunChild runs the current test again in a process of its own, with the
// variables added to its environment, and returns its output once it has
// passed. It skips when the child skips and fails when the child fails, ends
// early or runs no test.
func RunChild(t *testing.T, env ...string) string {
	t.Helper()
	return runChild(t, nil, env)
}

func runChild(t *testing.T, attr *syscall.SysProcAttr, env []string) string {
	t.Helper()
	if other := os.Getenv(childMark); other != "" {
		t.Fatalf("needs: the child for %s cannot start one for %s", other, t.Name())
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if deadline, ok := t.Deadline(); ok {
		limited, cancel := context.WithDeadline(ctx, deadline)
		defer cancel()
		ctx = limited
	}
	cmd := exec.CommandContext(ctx, self, "-test.run="+exactly(t.Name()), "-test.count=1", "-test.v=test2json")
	cmd.Env = append(append(os.Environ(), env...), childMark+"="+t.Name())
	cmd.SysProcAttr = attr
	out, err := cmd.CombinedOutput()
	plain := strings.ReplaceAll(string(out), marker, "")
	switch {
	case err != nil:
		t.Fatalf("needs: child: %v\n%s", err, plain)
	case reported(string(out), "SKIP", t.Name()):
		t.Skipf("needs: child: skipped\n%s", plain)
	case !reported(string(out), "PASS", t.Name()):
		t.Fatalf("needs: child: %s did not run\n%s", t.Name(), plain)
	}
	return plain
}

// exactly is the -test.run pattern for one test: one element a level.
func exactly(name string) string {
	levels := strings.Split(name, "/")
	for i, level := range levels {
		levels[i] = "^" + regexp.QuoteMeta(level) + "$"
	}
	return strings.Join(levels, "/")
}

// reported says whether the output has this verdict on the test. Only what
// package testing itself wrote counts: it has the marker in front, wherever on
// a line the test's own output ended.
func reported(out, verdict, name string) bool {
	_, rest, _ := strings.Cut(out, marker)
	for part := range strings.SplitSeq(rest, marker) {
		if strings.HasPrefix(strings.TrimLeft(part, " "), "--- "+verdict+": "+name+" (") {
			return true
		}
	}
	return false
}
