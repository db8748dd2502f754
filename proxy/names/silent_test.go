package names

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// asks are the places of a file that could send a question or connect: every use of package
// net that begins like one.
func asks(t *testing.T, file string) (places []string) {
	t.Helper()
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		use, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		from, _ := use.X.(*ast.Ident)
		for _, prefix := range []string{"Lookup", "Resolve", "Dial", "DefaultResolver"} {
			if from != nil && from.Name == "net" && strings.HasPrefix(use.Sel.Name, prefix) {
				places = append(places, files.Position(n.Pos()).String()+" net."+use.Sel.Name)
			}
		}
		return true
	})
	return places
}

// esc/NW-07: no name reaches a resolver of the host from here, listed or not: this package asks
// none, and connects nowhere.
func TestNothingHereAsksAResolver(t *testing.T) {
	all, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var read int
	for _, file := range all {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		read++
		for _, place := range asks(t, file) {
			t.Error(place)
		}
	}
	if read < 5 || len(asks(t, "server_test.go")) == 0 {
		t.Errorf("%d files were read, and the client in server_test.go must be found", read)
	}
}
