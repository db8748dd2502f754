package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// target is one fuzz function.
type target struct {
	Dir  string // of its package, relative to the module's root
	Func string
}

func (t target) String() string { return t.Dir + " " + t.Func }

var function = regexp.MustCompile(`(?m)^func (Fuzz[A-Za-z0-9_]*)\(f \*testing\.F\)`)

// find lists the targets of the module whose root is given, sorted. None is an error.
func find(root string) ([]target, error) {
	var all []target
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		for _, m := range function.FindAllSubmatch(text, -1) {
			all = append(all, target{Dir: filepath.Dir(path), Func: string(m[1])})
		}
		return err
	})
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("no fuzz target below %q", root)
	}
	slices.SortFunc(all, func(a, b target) int { return strings.Compare(a.String(), b.String()) })
	return all, err
}
