package dirchain

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// linked makes a root with links of every kind beside a directory that is outside.
func linked(t testing.TB) (root, outside string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, outside = top+"/r", top+"/r2"
	for _, dir := range []string{root + "/assets/deep", root + "/a", outside + "/d"} {
		if err = os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{root + "/assets/raft.png", outside + "/secret"} {
		if err = os.WriteFile(name, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{
		"escape": outside, "a/escape": "../../r2/none", "a/dangling": "../assets/none/x.png",
		"a/escapes": "../../r2/secret", "inside": "assets", "abs": root + "/assets", "loop": "loop2", "loop2": "./loop",
		"back": "../r/assets", "up": "..", "top": "/", "deeper": "assets/deep/../raft.png", "via": "inside/deep/..",
		"file": "assets/raft.png", "slash": "assets/", "fileslash": "assets/raft.png/", "gone": "nowhere/../inside/x",
		"goneout": "nowhere/../../r2/secret", "sibling": root + "2/d", "self": ".", "proc": "/proc/self/root",
		"partial": top[:len(top)-1] + "/../" + filepath.Base(top) + "/r/assets",
		"long":    "inside/../inside/../inside/deep",
	} {
		if err = os.Symlink(to, root+"/"+name); err != nil {
			t.Fatal(err)
		}
	}
	return root, outside
}

func TestResolve(t *testing.T) {
	var none error
	tests := []struct {
		name, path, want string
		err              error
	}{
		{"bk/RR3 beside the root", "../r2/x", "", ErrOutside},
		{"bk/RR3 the parent", "..", "", ErrOutside},
		{"bk/RR3 a sibling whose name begins alike", "../r2", "", ErrOutside},
		{"bk/RR4 through a link to outside", "escape/mask.png", "", ErrOutside},
		{"bk/RR4 with what exists there", "escape/secret", "", ErrOutside},
		{"bk/RR4 with a missing tail", "escape/no/such/mask.png", "", ErrOutside},
		{"bk/RR4 the link itself", "escape", "", ErrOutside},
		{"bk/RR5 through a dangling link to outside", "a/escape/m.png", "", ErrOutside},
		{"bk/RR5 a dangling link to outside", "a/escape", "", ErrOutside},
		{"bk/RR5 a link to a file outside", "a/escapes", "", ErrOutside},
		{"bk/RR5 dangling, then out by text", "goneout", "", ErrOutside},
		{"bk/RR7 a loop", "loop", "", ErrLink},
		{"bk/RR7 through a loop", "loop2/x", "", ErrLink},
		{"bk/RR8 U+0000", "a\x00b", "", ErrPath},
		{"bk/RR8 absolute", "/r/x", "", ErrPath},
		{"a longer path than any", strings.Repeat("a/", MaxPath), "", ErrPath},
		{"a link to the parent", "up/r2", "", ErrOutside},
		{"a link to the parent, not further", "up", "", ErrOutside},
		{"a link to the parent and down again to a file outside", "up/r2/secret", "", ErrOutside},
		{"a link to the top", "top/etc/passwd", "", ErrOutside},
		{"a link to a magic link", "proc/etc/passwd", "", ErrOutside},
		{"a part of the root's own path by an absolute link", "partial", "", ErrOutside},
		{"a sibling by an absolute link", "sibling", "", ErrOutside},
		{"a file used as a directory", "assets/raft.png/x", "", ErrNotDirectory},
		{"a file used as a directory by a link", "fileslash", "", ErrNotDirectory},
		{"deeper than is walked", strings.Repeat("n/", MaxDepth) + "n", "", ErrLimit},

		{"bk/RR1 nothing exists", "assets/new/mask.png", "assets/new/mask.png", none},
		{"bk/RR1 at the top", "new/mask.png", "new/mask.png", none},
		{"bk/RR2 the empty path", "", ".", none},
		{"bk/RR2 the root", ".", ".", none},
		{"bk/RR2 the root by ..", "a/..", ".", none},
		{"bk/RR3 lexically back inside", "../r/x", "x", none},
		{"bk/RR3 back to the root", "../r", ".", none},
		{"bk/RR3 .. is cleaned before links are followed", "inside/../a", "a", none},
		{"bk/RR6 a link inside", "inside/x", "assets/x", none},
		{"bk/RR6 a link inside to a file", "inside/raft.png", "assets/raft.png", none},
		{"a link to a file", "file", "assets/raft.png", none},
		{"an absolute link inside", "abs/raft.png", "assets/raft.png", none},
		{"a link that leaves along the root's own path", "back/raft.png", "assets/raft.png", none},
		{"a link with .. in it", "deeper", "assets/raft.png", none},
		{"a link with .. behind another link", "via/raft.png", "assets/raft.png", none},
		{"a link through two others", "long", "assets/deep", none},
		{"a dangling link inside", "a/dangling", "assets/none/x.png", none},
		{"a dangling link with a tail", "a/dangling/y", "assets/none/x.png/y", none},
		{"a link with a slash at its end", "slash/x", "assets/x", none},
		{"a dangling link whose rest exists is resolved on", "gone", "assets/x", none},
		{"a link to the root", "self/self/a", "a", none},
		{"slashes", "assets//deep/", "assets/deep", none},
	}
	root, outside := linked(t)
	both(t, func(t *testing.T, opts Options) {
		r := open(t, root, opts)
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				before := stillOpen(t)
				got, err := r.Resolve(tt.path)
				if got != tt.want || !errors.Is(err, tt.err) {
					t.Errorf("Resolve(%q) = %q, %v, want %q, %v", tt.path, got, err, tt.want, tt.err)
				}
				if after := stillOpen(t); after != before {
					t.Errorf("%d descriptors are open, want %d", after, before)
				}
			})
		}
	})
	if got := names(t, outside); got != "d secret" {
		t.Errorf("outside: %s", got)
	}
}

// TestResolveHops: 40 links are followed, as by the kernel, and not one more.
func TestResolveHops(t *testing.T) {
	dir := t.TempDir()
	for i := range 42 {
		if err := os.Symlink(fmt.Sprintf("l%d", i), fmt.Sprintf("%s/l%d", dir, i+1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(dir+"/l0", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := open(t, dir, Options{})
	if got, err := r.Resolve("l41"); !errors.Is(err, ErrLink) {
		t.Errorf("bk/RR7 41 links: %q, %v", got, err)
	}
	if got, err := r.Resolve("l40"); err != nil || got != "l0" {
		t.Errorf("bk/RR7 40 links: %q, %v", got, err)
	}
	for name, ok := range map[string]bool{"l41": false, "l40": true} {
		if _, err := os.Stat(dir + "/" + name); (err == nil) != ok {
			t.Errorf("the kernel: %s: %v", name, err)
		}
	}
}

// TestResolveRoot: what becomes of the root itself.
func TestResolveRoot(t *testing.T) {
	root, outside := linked(t)
	alias := filepath.Dir(root) + "/alias"
	if err := os.Symlink("r", alias); err != nil {
		t.Fatal(err)
	}
	r := open(t, alias, Options{})
	if got, err := r.Resolve("../alias/x"); !errors.Is(err, ErrOutside) {
		t.Errorf("bk/RR10 the alias is not the root's name: %q, %v", got, err)
	}
	if got, err := r.Resolve("../r/inside/x"); err != nil || got != "assets/x" || r.Path() != root {
		t.Errorf("bk/RR10 the canonical root: %q beneath %q, %v", got, r.Path(), err)
	}

	dir, err := os.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	held, err := NewRoot(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	for _, path := range []string{"abs/raft.png", "back", "../r/x", "up"} {
		if got, err := held.Resolve(path); !errors.Is(err, ErrOutside) {
			t.Errorf("without a path of the root, %s: %q, %v", path, got, err)
		}
	}
	if got, err := held.Resolve("inside/raft.png"); err != nil || got != "assets/raft.png" {
		t.Errorf("without a path of the root: %q, %v", got, err)
	}

	if _, err = OpenRoot(root+"/none", Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("bk/RR9 no root: %v", err)
	}
	if err = errors.Join(os.Rename(root, root+"x"), os.Symlink(outside, root)); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Resolve("assets"); !errors.Is(err, ErrChanged) {
		t.Errorf("bk/RR9 another root: %q, %v", got, err)
	}
	if err = os.Remove(root); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Resolve("assets"); !errors.Is(err, ErrChanged) {
		t.Errorf("bk/RR9 the root is gone: %q, %v", got, err)
	}
	_ = r.Close()
	if _, err := r.Resolve("assets"); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// TestResolveTop: the root of the file system has nothing above it.
func TestResolveTop(t *testing.T) {
	root, _ := linked(t)
	r := open(t, "/", Options{})
	for path, want := range map[string]string{
		root + "/abs/raft.png": root + "/assets/raft.png", root + "/top": ".", "/../..": ".",
		root + "/escape/secret": root + "2/secret",
	} {
		got, err := r.Resolve(strings.TrimPrefix(path, "/"))
		if err != nil && errors.Is(err, ErrMount) {
			t.Skipf("the folder of tests lies on another mount: %v", err) // gating: where the caller has it
		}
		if err != nil || got != strings.TrimPrefix(want, "/") {
			t.Errorf("Resolve(%q) = %q, %v, want %q", path, got, err, want)
		}
	}
}

// TestResolveFailing: a call that fails is an error, never a place.
func TestResolveFailing(t *testing.T) {
	root, _ := linked(t)
	for _, call := range []string{"openat2", "openat", "statx", "readlinkat"} {
		both(t, func(t *testing.T, opts Options) {
			r := open(t, root, opts)
			failed := false
			r.hook = func(name string) error {
				if name == call {
					failed = true
					return fs.ErrPermission
				}
				return nil
			}
			got, err := r.Resolve("inside/raft.png")
			if failed && (!errors.Is(err, fs.ErrPermission) || got != "") || !failed && err != nil {
				t.Errorf("%s: %q, %v", call, got, err)
			}
		})
	}
}
