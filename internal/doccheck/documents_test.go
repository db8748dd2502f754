package doccheck

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// documents lists the texts for people.
func documents(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{root + "/*.md", root + "/docs/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(found), err)
		}
		all = append(all, found...)
	}
	return all
}

// TestNamedTestsExist looks up every test that a document names.
func TestNamedTestsExist(t *testing.T) {
	seen := 0
	for _, name := range documents(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range refPattern.FindAllStringSubmatch(string(text), -1) {
			seen++
			source, err := os.ReadFile(filepath.Join(root, m[1]))
			if err != nil || !strings.Contains(string(source), "func "+m[2]+"(") {
				t.Errorf("%s names %s in %s, which is not there", name, m[2], m[1])
			}
		}
	}
	if seen < 50 {
		t.Errorf("found %d named tests: the pattern matches too little", seen)
	}
}

var linkPattern = regexp.MustCompile(`\]\(([^)#:]+)\)`)

// TestLinksLead follows every relative link.
func TestLinksLead(t *testing.T) {
	seen := 0
	for _, name := range documents(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range linkPattern.FindAllStringSubmatch(string(text), -1) {
			seen++
			if _, err := os.Stat(filepath.Join(filepath.Dir(name), m[1])); errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s links to %s, which is not there", name, m[1])
			}
		}
	}
	if seen == 0 {
		t.Error("no link found")
	}
}

// TestEveryPackageHasItsDoc wants doc.go in every package: a sentence that begins as godoc
// wants it, an example, and the limits.
func TestEveryPackageHasItsDoc(t *testing.T) {
	seen := 0
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		if n := e.Name(); n == ".git" || n == "testdata" || n == "hack" || n == "bin" {
			return fs.SkipDir
		}
		sources, err := filepath.Glob(path + "/*.go")
		if err != nil || len(sources) == 0 {
			return err
		}
		seen++
		text, err := os.ReadFile(path + "/doc.go")
		if err != nil {
			t.Errorf("%s has no doc.go", path)
			return nil
		}
		for _, part := range []string{"\n//\t", "\n// # Limits\n"} {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s/doc.go has no %q", path, strings.TrimSpace(part))
			}
		}
		return nil
	})
	if err != nil || seen < 20 {
		t.Errorf("%d packages, %v", seen, err)
	}
}
