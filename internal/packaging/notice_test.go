package packaging

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// linked lists the modules of which a package is compiled for a program that is
// installed, as make build does it.
func linked(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, build := range []struct{ cgo, tags, programs string }{
		{"0", "urfave_cli_no_docs", "./cmd/..."},
		{"1", "netgo,osusergo", "./cmd/brainbox-seccomp"},
	} {
		cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", build.tags, "-f", "{{with .Module}}{{.Path}}{{end}}", build.programs)
		cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED="+build.cgo)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v", cmd.Args, err)
		}
		all = append(all, strings.Fields(string(out))...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return slices.DeleteFunc(all, func(path string) bool { return path == "brainbox" })
}

// TestLinkedModulesAreNamed has each module that is linked in NOTICE, with its licence, and
// in docs/design.md; and in NOTICE none that is not.
func TestLinkedModulesAreNamed(t *testing.T) {
	notice, err := os.ReadFile(root + "/NOTICE")
	if err != nil {
		t.Fatal(err)
	}
	design, err := os.ReadFile(root + "/docs/design.md")
	if err != nil {
		t.Fatal(err)
	}
	const license = `(Apache-2\.0|MIT|BSD-[23]-Clause|GPL-2\.0-only)`
	var named []string
	for _, m := range regexp.MustCompile(`(?m)^  ([a-z][a-z.]*/\S+)  +`+license+`( (AND|OR) `+license+`)*$`).FindAllSubmatch(notice, -1) {
		named = append(named, string(m[1]))
	}
	want := linked(t)
	if len(want) < 15 {
		t.Fatalf("%q: too few to be all", want)
	}
	if diff := cmp.Diff(want, named); diff != "" {
		t.Errorf("NOTICE (-is linked +is named):\n%s", diff)
	}
	for _, path := range want {
		name := strings.TrimPrefix(path, "kernel.org/pub/linux/libs/security/")
		name = strings.Replace(name, "golang.org/", "", 1)
		parts := strings.Split(regexp.MustCompile(`/v[0-9]+$`).ReplaceAllString(name, ""), "/")
		last := parts[len(parts)-1]
		if !strings.Contains(string(design), path+" v") && !strings.Contains(string(design), name) &&
			!regexp.MustCompile(`\b`+regexp.QuoteMeta(last)+`\b`).Match(design) {
			t.Errorf("docs/design.md does not name %s", path)
		}
	}
	for _, library := range []string{"libseccomp ", "glibc ", "Go standard library "} {
		if !strings.Contains(string(notice), "\n  "+library) {
			t.Errorf("NOTICE does not name %s", library)
		}
	}
}
