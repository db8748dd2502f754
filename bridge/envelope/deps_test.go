package envelope

import (
	"os/exec"
	"strings"
	"testing"
)

// TestLinksLittle: the package is linked into small programs inside the sandbox.
func TestLinksLittle(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "brainbox/bridge/envelope").Output()
	if err != nil {
		t.Skipf("go list: %v", err) // gating: a copied test binary has no sources
	}
	own := 0
	for dep := range strings.FieldsSeq(string(out)) {
		switch {
		case dep == "brainbox/bridge/envelope", dep == "brainbox/internal/strictjson", dep == "brainbox/internal/visible":
			own++
		case strings.HasPrefix(dep, "brainbox/"), dep == "os", dep == "os/exec", dep == "net", dep == "encoding/json",
			strings.Contains(dep, ".") && !strings.HasPrefix(dep, "vendor/"):
			t.Errorf("links %s", dep)
		}
	}
	if own != 3 {
		t.Errorf("links %d of its own packages: %s", own, out)
	}
}
