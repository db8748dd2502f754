package doccheck

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// root is the repository, seen from this folder.
const root = "../.."

// ref is a test that carries an id.
type ref struct{ file, test string }

var (
	idPattern  = regexp.MustCompile(`\b(bk|bg|esc)/([A-Z]+-?[0-9]+)`)
	rowPattern = regexp.MustCompile(`^[A-Z]{2}-[0-9]{2}$`)
)

// decl is one declaration of a test package: what it names, and the ids in it.
type decl struct {
	file  string
	uses  map[string]bool
	ids   []string
	isRun bool // a Test or Fuzz function
}

// scan finds the tests of every id in the repository.
func scan(t *testing.T) map[string][]ref {
	t.Helper()
	dirs := map[string]map[string]*decl{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == ".git" || e.Name() == "testdata" || e.Name() == "bin" || e.Name() == "doccheck"):
			return fs.SkipDir
		case e.IsDir() || !strings.HasSuffix(path, "_test.go"), strings.HasSuffix(path, "/whole_test.go"): // a list of rows, no test of them
			return nil
		}
		dir := filepath.Dir(path)
		if dirs[dir] == nil {
			dirs[dir] = map[string]*decl{}
		}
		return addFile(dirs[dir], path)
	})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]ref{}
	for _, decls := range dirs {
		for name, d := range decls {
			for _, id := range d.ids {
				for _, r := range testsOf(decls, name) {
					if !slices.Contains(found[id], r) {
						found[id] = append(found[id], r)
					}
				}
			}
		}
	}
	for _, refs := range found {
		slices.SortFunc(refs, func(a, b ref) int { return strings.Compare(a.file+a.test, b.file+b.test) })
	}
	return found
}

// addFile reads the declarations of one file.
func addFile(decls map[string]*decl, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments)
	if err != nil {
		return err
	}
	name := strings.TrimPrefix(path, root+"/")
	for _, node := range file.Decls {
		switch n := node.(type) {
		case *ast.FuncDecl:
			d := read(name, n)
			d.isRun = n.Recv == nil && (strings.HasPrefix(n.Name.Name, "Test") || strings.HasPrefix(n.Name.Name, "Fuzz"))
			d.ids = append(d.ids, idsIn(n.Doc.Text())...)
			for _, c := range file.Comments {
				if n.Pos() <= c.Pos() && c.End() <= n.End() {
					d.ids = append(d.ids, idsIn(c.Text())...)
				}
			}
			decls[n.Name.Name] = d
		case *ast.GenDecl:
			for _, s := range n.Specs {
				if v, ok := s.(*ast.ValueSpec); ok {
					for _, id := range v.Names {
						decls[id.Name] = read(name, v)
					}
				}
			}
		}
	}
	return nil
}

// read collects what a declaration names and the ids in its strings.
func read(file string, n ast.Node) *decl {
	d := &decl{file: file, uses: map[string]bool{}}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			d.uses[n.Name] = true
		case *ast.BasicLit:
			text, err := strconv.Unquote(n.Value)
			if err != nil || n.Kind != token.STRING {
				break
			}
			d.ids = append(d.ids, idsIn(text)...)
			if rowPattern.MatchString(text) {
				d.ids = append(d.ids, "esc/"+text)
			}
		}
		return true
	})
	return d
}

func idsIn(text string) []string { return idPattern.FindAllString(text, -1) }

// testsOf gives the tests that reach a declaration by the fewest steps, at most four.
func testsOf(decls map[string]*decl, name string) []ref {
	if decls[name].isRun {
		return []ref{{decls[name].file, name}}
	}
	seen := map[string]bool{name: true}
	for level := []string{name}; len(level) > 0; {
		var refs []ref
		var next []string
		for user, d := range decls {
			uses := slices.ContainsFunc(level, func(n string) bool { return d.uses[n] })
			if seen[user] || !uses {
				continue
			}
			if d.isRun {
				refs = append(refs, ref{d.file, user})
			}
			next = append(next, user)
		}
		if len(refs) > 0 {
			slices.SortFunc(refs, func(a, b ref) int { return strings.Compare(a.file+a.test, b.file+b.test) })
			return refs[:min(4, len(refs))]
		}
		for _, n := range next {
			seen[n] = true
		}
		level = next
	}
	return nil
}
