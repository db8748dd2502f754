package shell

import (
	"os/exec"
	"strings"
	"testing"
)

// TestSmallBinariesParseNoShell: what starts a run pays for no parser.
func TestSmallBinariesParseNoShell(t *testing.T) {
	deps := func(pkg string) string {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", pkg).Output()
		if err != nil {
			t.Skipf("go list: %v", err) // gating: a copied test binary has no sources
		}
		return string(out)
	}
	for _, cmd := range []string{"brainbox", "brainbox-exec", "brainbox-kill"} {
		got := deps("brainbox/cmd/" + cmd)
		if strings.Contains(got, "mvdan.cc/sh") || strings.Contains(got, "brainbox/gate/shell") {
			t.Errorf("%s links a shell parser", cmd)
		}
		if !strings.Contains(got, "brainbox/internal") {
			t.Errorf("%s: go list names no package of its own: %q", cmd, got)
		}
	}
	own := deps("brainbox/gate/shell")
	if !strings.Contains(own, "mvdan.cc/sh/v3/syntax") {
		t.Error("the parser is not where it is looked for")
	}
	for dep := range strings.FieldsSeq(own) {
		if strings.HasPrefix(dep, "mvdan.cc/") && dep != "mvdan.cc/sh/v3/syntax" && dep != "mvdan.cc/sh/v3/fileutil" || dep == "net/http" || dep == "os/exec" {
			t.Errorf("gate/shell links %s", dep)
		}
	}
}
