package dirchain

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzResolve compares with filepath.EvalSymlinks over a small tree of links.
// In the text of a link "R" and "O" stand for the root and a directory outside.
func FuzzResolve(f *testing.F) {
	for _, seed := range [][4]string{
		{"b", "a", "..", "l1/l2/l3"},
		{"R/a", "O", "../../O", "l1/b/../l2/x"},
		{"none/../a", "l2", "../l1/f", "a/b/l3/y"},
		{"../R/a", "../../r/a/./f/", "/", "l1/l2/l3"},
		{"l2/l2", "../l1/b", "l3/../l3", "l1"},
		{"a//b/", "./..", "../../..", "../r/l1/."},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	f.Fuzz(func(t *testing.T, l1, l2, l3, path string) {
		if len(l1)+len(l2)+len(l3)+len(path) > 400 {
			return
		}
		top, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		root, outside := top+"/r", top+"/out"
		if err = errors.Join(os.MkdirAll(root+"/a/b", 0o755), os.Mkdir(outside, 0o755), os.WriteFile(root+"/a/f", nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"l1": l1, "a/l2": l2, "a/b/l3": l3} {
			if os.Symlink(strings.NewReplacer("R", root, "O", outside).Replace(text), root+"/"+name) != nil {
				return // no text for a link
			}
		}
		r := open(t, root, Options{})
		got, gotErr := r.Resolve(path)
		want, wantErr := filepath.EvalSymlinks(filepath.Join(root, path))
		if gotErr == nil {
			canonical(t, root, got)
		}
		switch rel, inside := strings.CutPrefix(want+"/", root+"/"); {
		case strings.HasPrefix(path, "/") || strings.Contains(path, "\x00"):
			if !errors.Is(gotErr, ErrPath) {
				t.Errorf("Resolve(%q) = %q, %v", path, got, gotErr)
			}
		case wantErr != nil && !errors.Is(wantErr, fs.ErrNotExist), wantErr == nil && !inside:
			if gotErr == nil {
				t.Errorf("Resolve(%q) = %q, want an error: %q, %v", path, got, want, wantErr)
			}
		case wantErr == nil && gotErr == nil:
			if rel = strings.TrimSuffix(rel, "/"); got != rel && (rel != "" || got != ".") {
				t.Errorf("Resolve(%q) = %q, want %q", path, got, rel)
			}
		case wantErr == nil && !errors.Is(gotErr, ErrOutside) && !errors.Is(gotErr, ErrLink):
			t.Errorf("Resolve(%q): %v, want %q", path, gotErr, rel)
		}
	})
}

// canonical: what exists of rel has no link in it, and what is left is not there.
func canonical(t *testing.T, root, rel string) {
	t.Helper()
	at := root
	for part := range strings.SplitSeq(rel, "/") {
		if part == "" || part == ".." {
			t.Fatalf("%q is not clean", rel)
		}
		at += "/" + part
		st, err := os.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return
		case err == nil && st.Mode()&fs.ModeSymlink != 0:
			t.Fatalf("%q has the link %q", rel, at)
		}
	}
}
