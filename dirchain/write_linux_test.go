package dirchain

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// both runs a test with either walk.
func both(t *testing.T, test func(t *testing.T, opts Options)) {
	t.Helper()
	for name, old := range map[string]bool{"openat2": false, "openat": true} {
		t.Run(name, func(t *testing.T) { test(t, Options{NoOpenat2: old, SkipSync: true}) })
	}
}

func open(t *testing.T, dir string, opts Options) *Root {
	t.Helper()
	r, err := OpenRoot(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func text(s string) *strings.Reader { return strings.NewReader(s) }

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func names(t *testing.T, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range list {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

func TestWriteModes(t *testing.T) {
	both(t, func(t *testing.T, opts Options) {
		dir := t.TempDir()
		r := open(t, dir, opts)
		ctx := t.Context()
		got, err := r.Write(ctx, "a/b/f", WriteRequest{Content: text("one"), Parents: true})
		if err != nil || !got.Applied || !got.Created || got.SHA256 != Sum([]byte("one")) || got.Size != 3 {
			t.Fatalf("create: %+v, %v", got, err)
		}
		if _, err = r.Write(ctx, "a/b/f", WriteRequest{Content: text("x")}); !errors.Is(err, fs.ErrExist) {
			t.Errorf("create over a file: %v", err)
		}
		base := Sum([]byte("one"))
		got, err = r.Write(ctx, "a/b/f", WriteRequest{Mode: Append, Base: &base, Content: text("two")})
		if err != nil || got.SHA256 != Sum([]byte("onetwo")) || got.Created {
			t.Errorf("append: %+v, %v", got, err)
		}
		if _, err = r.Write(ctx, "a/b/f", WriteRequest{Mode: Replace, Base: &base, Content: text("x")}); !errors.Is(err, ErrStale) {
			t.Errorf("replace with another base: %v", err)
		}
		if _, err = r.Edit(ctx, "a/b/f", EditRequest{Old: []byte("et"), New: []byte("$&-")}); err != nil {
			t.Errorf("edit: %v", err)
		}
		if got := read(t, dir+"/a/b/f"); got != "on$&-wo" {
			t.Errorf("bytes: %q", got)
		}
		res, err := r.Read(ctx, "a/b/f", ReadRequest{Offset: 1, Limit: 3})
		if err != nil || !bytes.Equal(res.Data, []byte("n$&")) || !res.Truncated || res.SHA256 != Sum([]byte("on$&-wo")) {
			t.Errorf("read: %+v, %v", res, err)
		}
		if left := names(t, dir+"/a/b"); left != "f" {
			t.Errorf("left behind: %s", left)
		}
	})
}

func TestWriteRefusesLinks(t *testing.T) {
	both(t, func(t *testing.T, opts Options) {
		dir, outside := t.TempDir(), t.TempDir()
		if err := errors.Join(os.Symlink(outside, dir+"/out"), os.Symlink(outside+"/new", dir+"/f")); err != nil {
			t.Fatal(err)
		}
		r := open(t, dir, opts)
		for _, path := range []string{"out/f", "f", "out/d/f"} {
			_, err := r.Write(t.Context(), path, WriteRequest{Mode: CreateOrReplace, Content: text("x"), Parents: true})
			if !errors.Is(err, ErrLink) && !errors.Is(err, ErrNotDirectory) {
				t.Errorf("%s: %v", path, err)
			}
			if _, err = r.Read(t.Context(), path, ReadRequest{}); !errors.Is(err, ErrLink) && !errors.Is(err, ErrNotDirectory) {
				t.Errorf("read %s: %v", path, err)
			}
		}
		if got := names(t, outside); got != "" {
			t.Errorf("outside: %s", got)
		}
		if got := names(t, dir); got != "f out" {
			t.Errorf("inside: %s", got)
		}
	})
}

// TestWriteTellsWhatItLeaves: the new file is in place, and the old one cannot be
// removed.
func TestWriteTellsWhatItLeaves(t *testing.T) {
	both(t, func(t *testing.T, opts Options) {
		dir := t.TempDir()
		plant(t, dir, "f")
		r := open(t, dir, opts)
		r.hook = func(call string) error {
			if call == "unlinkat" {
				return unix.EPERM
			}
			return nil
		}
		got, err := r.Write(t.Context(), "f", WriteRequest{Mode: Replace, Content: text("new")})
		tmp, _, _ := strings.Cut(names(t, dir), " ")
		if !got.Applied || !errors.Is(err, unix.EPERM) || !strings.Contains(err.Error(), tmp) {
			t.Errorf("%+v, %v, left is %q", got, err, tmp)
		}
		if read(t, dir+"/f") != "new" || read(t, dir+"/"+tmp) != "f" {
			t.Errorf("there are %q", names(t, dir))
		}
	})
}
