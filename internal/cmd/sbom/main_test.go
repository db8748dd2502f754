package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLicensesAreReadFromTheList(t *testing.T) {
	got := licenses("Some text of one line.\n\n  golang.org/x/sys   BSD-3-Clause\n  Go standard library  BSD-3-Clause\n  no licence\n")
	want := map[string]string{"golang.org/x/sys": "BSD-3-Clause", "Go standard library": "BSD-3-Clause"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// What a program has is what Go wrote into it, and what NOTICE does not name is an error.
func TestBillOfARealProgram(t *testing.T) {
	bin := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", bin+"/brainbox-kill", "brainbox/cmd/brainbox-kill")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines, err := components(bin)
	if err != nil {
		t.Fatal(err)
	}
	list, err := bill(lines, map[string]string{standard: "BSD", "golang.org/x/sys": "BSD", "github.com/pelletier/go-toml/v2": "MIT"})
	if err != nil || !strings.Contains(list, "\nbrainbox-kill\tgolang.org/x/sys\tv") || !strings.Contains(list, "\th1:") {
		t.Errorf("%v, %q", err, list)
	}
	if list, err := bill(lines, map[string]string{standard: "BSD", "golang.org/x/sys": "BSD"}); err == nil || !strings.Contains(err.Error(), "go-toml") {
		t.Errorf("%v, %q", err, list)
	}
	texts, err := licenseTexts(lines)
	if err != nil || !strings.Contains(string(texts), "\n======== golang.org/x/sys v") {
		t.Errorf("%v, %d bytes", err, len(texts))
	}
	if _, err := components(filepath.Join(bin, "none")); err == nil {
		t.Error("no program is no error")
	}
}
