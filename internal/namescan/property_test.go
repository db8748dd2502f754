package namescan

import (
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// walked is what filepath.WalkDir finds, by the rules of Scan.
func walked(t testing.TB, top string, names []string) Result {
	t.Helper()
	var r Result
	listed := map[string]bool{}
	for _, n := range names {
		listed[n] = true
	}
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == top {
			return err
		}
		rel, err := filepath.Rel(top, path)
		if err != nil {
			return err
		}
		r.Count++
		kind := kindOfMode(d.Type())
		if d.Type() == fs.ModeSocket {
			r.Sockets = append(r.Sockets, rel)
		}
		if listed[rel] {
			r.Names = append(r.Names, Found{rel, kind})
		}
		if d.Name() == ".git" {
			r.Git = append(r.Git, Found{rel, kind})
			if d.IsDir() {
				return filepath.SkipDir
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func kindOfMode(m fs.FileMode) Kind {
	switch m {
	case 0:
		return File
	case fs.ModeDir:
		return Folder
	case fs.ModeSymlink:
		return Link
	case fs.ModeSocket:
		return Socket
	default:
		return Other
	}
}

// grow makes a tree out of bytes: each says what comes next.
func grow(t testing.TB, top string, recipe []byte) []string {
	t.Helper()
	words := []string{"a", ".git", "b.c", "..", ".gitx", "git", "é", " ", "-", "\xff", "config", "..d", "x\ny"}
	var names []string
	dir, made := "", map[string]bool{"": true}
	for _, c := range recipe {
		name := words[int(c>>3)%len(words)]
		path := filepath.Join(dir, name)
		if name == ".." {
			dir = filepath.Dir(dir)
			if dir == "." {
				dir = ""
			}
			continue
		}
		if made[path] || len(path) > 200 {
			continue
		}
		made[path] = true
		names = append(names, path)
		switch c & 7 {
		case 0, 1, 2:
			build(t, top, path+"/")
			dir = path
		case 3:
			build(t, top, path+" -> ..")
		case 4:
			build(t, top, path+" =")
		case 5:
			build(t, top, path+" |")
		default:
			build(t, top, path)
		}
	}
	return append(names, "a/none", "none/a")
}

func agrees(t testing.TB, recipe []byte) {
	t.Helper()
	top := t.TempDir()
	names := grow(t, top, recipe)
	want, got := walked(t, top, names), scan(t, top, Options{Names: names})
	known := map[string]bool{}
	for _, u := range got.Unsure {
		known[u] = true // behind a link, or in a .git: nothing is said about them
	}
	want.Unsure = got.Unsure
	for _, n := range want.Names {
		if known[n.Path] {
			t.Errorf("%q exists and is called unsure", n.Path)
		}
	}
	sorted := cmpopts.SortSlices(func(a, b Found) bool { return a.Path < b.Path })
	text := cmpopts.SortSlices(func(a, b string) bool { return a < b })
	if diff := cmp.Diff(want, got, sorted, text); diff != "" {
		t.Errorf("recipe %q (-walk +scan):\n%s", recipe, diff)
	}
	steps := &scanner{opts: Options{Max: DefaultMax, Names: names}, want: newWanted(names), buf: make([]byte, bufferSize)}
	steps.opener.steps = true
	if err := steps.scan(open(t, top)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, steps.res, sorted, text); diff != "" {
		t.Errorf("recipe %q (-with openat2 +without):\n%s", recipe, diff)
	}
}

func TestScanAgreesWithWalkDir(t *testing.T) {
	rounds := 200
	if testing.Short() {
		rounds = 10
	}
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 1))
		recipe := make([]byte, r.IntN(60))
		for i := range recipe {
			recipe[i] = byte(r.Uint32())
		}
		agrees(t, recipe)
	}
}

func FuzzScan(f *testing.F) {
	for _, seed := range []string{"", "\x08\x10\x18", "abcdefgh", "\x00\x08\x0b\x0c\x0d\x0e", "\x48\x08\x1f\x1f"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, recipe []byte) {
		if len(recipe) > 100 {
			return
		}
		agrees(t, recipe)
	})
}
