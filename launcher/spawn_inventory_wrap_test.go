package launcher

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOneStart is R9 of contract brainkit §1.7: the inventory of what the wrapper
// and killer code starts. There is one place, and it is wrapStart.
func TestOneStart(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	starts := map[string]int{}
	wanted := []string{"StartProcess", "ForkExec", "Exec", "Environ", "Getenv", "LookupEnv"}
	for _, file := range files {
		own := strings.HasPrefix(file, "wrapper") || strings.HasPrefix(file, "kill") ||
			strings.HasPrefix(file, "spawn_wrapped")
		if !own || strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, imported := range tree.Imports {
			if imported.Path.Value == `"os/exec"` {
				t.Errorf("%s imports os/exec, whose lookups and defaults are not the contract's", file)
			}
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			call, ok := n.(*ast.SelectorExpr)
			if ok && slices.Contains(wanted, call.Sel.Name) {
				starts[file+" "+call.Sel.Name]++
			}
			return true
		})
	}
	if diff := cmp.Diff(map[string]int{"spawn_wrapped.go StartProcess": 1}, starts); diff != "" {
		t.Errorf("starts and environment reads (-want +got):\n%s", diff)
	}
}
