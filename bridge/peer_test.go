package bridge

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestListenRefuses(t *testing.T) {
	base, err := os.MkdirTemp("", "bb") //nolint:usetesting // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(base)
	made := func(name string, mode os.FileMode) string {
		dir := filepath.Join(base, name)
		if err := errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, mode)); err != nil { //nolint:gosec // what is refused
			t.Fatal(err)
		}
		return dir
	}
	open, file, link := made("open", 0o755), made("file", 0o700), filepath.Join(base, "link")
	if err := os.WriteFile(filepath.Join(file, "a.sock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(made("real", 0o700), link); err != nil {
		t.Fatal(err)
	}
	live := made("live", 0o700)
	first, err := Listen(live, "a.sock")
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	for _, tt := range []struct{ name, dir, file string }{
		{"relative", "x", "a.sock"},
		{"another directory", live, "../a.sock"},
		{"hidden", live, ".a"},
		{"no name", live, ""},
		{"too long", filepath.Join(base, strings.Repeat("x", 100)), "a.sock"},
		{"a directory that others can enter", open, "a.sock"},
		{"a directory that is a link", link, "a.sock"},
		{"esc/IP-14 a file in its place", file, "a.sock"},
		{"esc/BR-13 a server that answers", live, "a.sock"},
		{"no parent", filepath.Join(base, "no", "such"), "a.sock"},
	} {
		if l, err := Listen(tt.dir, tt.file); err == nil {
			t.Errorf("%s: listening", tt.name)
			_ = l.Close()
		}
	}
	if _, err := os.Stat(filepath.Join(file, "a.sock")); err != nil {
		t.Errorf("what was in the place is gone: %v", err)
	}
	c, err := net.Dial("unix", filepath.Join(live, "a.sock"))
	if err != nil {
		t.Fatalf("the first server: %v", err)
	}
	_ = c.Close()
}

func TestListen(t *testing.T) {
	base, err := os.MkdirTemp("", "bb") //nolint:usetesting // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(base)
	dir := filepath.Join(base, "d")
	path := filepath.Join(dir, "a.sock")
	for _, what := range []string{"new", "stale"} {
		l, err := Listen(dir, "a.sock")
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		st, err := os.Lstat(path)
		if err != nil || st.Mode().Perm() != 0o600 || st.Mode().Type() != os.ModeSocket {
			t.Errorf("%s: %v, %v", what, st.Mode(), err)
		}
		if st, err := os.Lstat(dir); err != nil || st.Mode().Perm() != 0o700 {
			t.Errorf("%s: the directory: %v, %v", what, st.Mode(), err)
		}
		l.SetUnlinkOnClose(what != "new") // the first one is left behind
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left behind: %v", err)
	}
}
