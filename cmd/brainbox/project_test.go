package main

import (
	"os"
	"strings"
	"testing"

	"brainbox/launcher"
)

// TestLongProjectPolicyIsRefused: a policy that was cut off would narrow less than it says.
func TestLongProjectPolicyIsRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		size int
		want bool
	}{{maxPolicy, false}, {1000, true}} { // the second is the positive control
		text := "version = 1\n# " + strings.Repeat("x", c.size) + "\n[process]\ntimeout = \"7s\"\n"
		if err := os.WriteFile(launcher.ProjectPolicy, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out, errs strings.Builder
		Main([]string{"brainbox", "policy", "show"}, &out, &errs)
		if got := strings.Contains(out.String(), "7s"); got != c.want {
			t.Errorf("size %d: the limit is shown: %v\n%s", c.size, got, errs.String())
		}
		if got := strings.Contains(errs.String(), "larger than"); got == c.want {
			t.Errorf("size %d: %q", c.size, errs.String())
		}
	}
}
