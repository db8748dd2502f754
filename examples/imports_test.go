package examples

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// public are the packages that a program outside of this module builds on. What is beneath
// one of them is public too.
var public = []string{
	"brainbox/launcher", "brainbox/gate", "brainbox/bridge", "brainbox/dirchain", "brainbox/policy", "brainbox/envfilter",
}

// client is all that a program inside a sandbox needs.
var client = []string{"brainbox/bridge/client", "brainbox/bridge/envelope"}

// refused tells why an example may not import a package, or nothing.
func refused(path string, allowed []string) string {
	if !strings.HasPrefix(path+"/", "brainbox/") {
		return ""
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "internal" {
			return "internal"
		}
	}
	for _, a := range allowed {
		if path == a || strings.HasPrefix(path, a+"/") {
			return ""
		}
	}
	return "not public"
}

func TestRefused(t *testing.T) {
	for path, want := range map[string]string{
		"brainbox/internal/strictjson": "internal", "brainbox/bridge/internal/x": "internal", "brainbox/cmd/brainbox": "not public",
		"brainbox/gateway": "not public", "brainbox": "not public", "brainbox/bridge/bridgetest": "", "brainbox/gate/rule": "", "brainbox/gate": "", "os": "",
		"brainboxes/internal": "", "golang.org/x/sys/unix": "",
	} {
		if got := refused(path, public); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if refused("brainbox/gate", client) == "" || refused("brainbox/bridge", client) == "" || refused("brainbox/bridge/client", client) != "" {
		t.Error("a client may import more or less than it should")
	}
}

// The examples, and the backend of package conform's test, import public packages alone.
func TestPublicNamesAlone(t *testing.T) {
	files := map[string][]string{"../bridge/conform/reference_test.go": public}
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			files[path] = public
			if filepath.Base(filepath.Dir(path)) == "agent" {
				files[path] = client
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var ours []string
	for path, allowed := range files {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if why := refused(name, allowed); why != "" {
				t.Errorf("%s imports %s: %s", path, name, why)
			}
			if strings.HasPrefix(name, "brainbox/") && !slices.Contains(ours, name) {
				ours = append(ours, name)
			}
		}
	}
	for _, want := range []string{"brainbox/launcher", "brainbox/gate", "brainbox/bridge", "brainbox/bridge/client", "brainbox/bridge/conform"} {
		if !slices.Contains(ours, want) {
			t.Errorf("%s is imported by none: these are not the examples", want)
		}
	}
}
