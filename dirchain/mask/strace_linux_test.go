package mask

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/dirchain"
	"brainbox/internal/needs"
)

// tracedMark is the variable that tells the child what to do.
const tracedMark = "BRAINBOX_MASK_TRACED"

// TestHostedMakesNoCalls: bk/FB21 and bk/MN4, counted by another process: between
// two calls that mark its begin and its end, a tool whose host writes makes no
// system call that has to do with files. The control makes some.
func TestHostedMakesNoCalls(t *testing.T) {
	if what := os.Getenv(tracedMark); what != "" {
		traced(t, what)
		return
	}
	strace := needs.Tool(t, "strace")
	self, err := os.Executable()
	try(t, err)
	for what, none := range map[string]bool{"hosted": true, "nothing": true, "fallback": false} {
		out := t.TempDir() + "/trace"
		cmd := exec.CommandContext(t.Context(), strace, "-f", "-o", out, "-e", "signal=none", "-e", "trace=%file,fchmod,fchown,fsync,ftruncate,getdents64",
			self, "-test.run=^TestHostedMakesNoCalls$", "-test.count=1")
		cmd.Env = append(os.Environ(), tracedMark+"="+what)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("strace: %v\n%s", err, text)
		}
		_, rest, begun := strings.Cut(read(t, out), `"/brainbox-begin"`)
		_, rest, _ = strings.Cut(rest, "\n")
		calls, _, ended := strings.Cut(rest, `"/brainbox-end"`)
		if !begun || !ended {
			t.Fatalf("%s: the trace has no marks", what)
		}
		if i := strings.LastIndexByte(calls, '\n'); i < 0 {
			calls = "" // the call with the mark
		} else {
			calls = calls[:i]
		}
		if (calls == "") != none {
			t.Errorf("bk/FB21 %s:\n%s", what, calls)
		}
	}
}

func traced(t *testing.T, what string) {
	t.Helper()
	f := newField(t, dirchain.Options{SkipSync: true})
	tool, ask, want := &Tool{Configured: f.dir}, Host(&applier{res: Result{OK: true}}), true
	switch what {
	case "nothing":
		ask, want = struct{}{}, false
	case "fallback":
		tool, ask = toolOver(f, Claude), &asker{}
	}
	_ = unix.Access("/brainbox-begin", 0)
	_, err := tool.Request(t.Context(), ask, raft, "")
	_ = unix.Access("/brainbox-end", 0)
	if (err == nil) != want {
		t.Errorf("%s: %v", what, err)
	}
}
