package dirchain

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"testing"
	"time"
)

// TestWriteBefore: the caller is asked last, with the old file still in place and
// the new one complete beside it, and what changes while he thinks is seen.
func TestWriteBefore(t *testing.T) {
	refusal := errors.New("no longer allowed")
	tests := []struct {
		name   string
		before func(dir string) error
		want   error
		bytes  string
	}{
		{"an error takes the write back", func(string) error { return refusal }, refusal, "old"},
		{"a file that changes meanwhile is stale", func(dir string) error {
			return os.WriteFile(dir+"/d/f", []byte("other"), 0o600)
		}, ErrStale, "other"},
		{"a directory that is exchanged meanwhile is seen", func(dir string) error {
			return errors.Join(os.Rename(dir+"/d", dir+"/e"), os.Symlink("e", dir+"/d"))
		}, ErrChanged, "old"},
		{"nil lets it happen", func(string) error { return nil }, nil, "new"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			both(t, func(t *testing.T, opts Options) {
				dir := t.TempDir()
				if err := errors.Join(os.Mkdir(dir+"/d", 0o755), os.WriteFile(dir+"/d/f", []byte("old"), 0o600)); err != nil {
					t.Fatal(err)
				}
				r := open(t, dir, opts)
				base, asked := Sum([]byte("old")), 0
				r.hook = func(call string) error {
					if call == "renameat2" && tt.want != nil {
						t.Error("a rename is tried")
					}
					return nil
				}
				res, err := r.Write(t.Context(), "d/f", WriteRequest{
					Mode: Replace, Base: &base, Content: text("new"), Before: func(ctx context.Context) error {
						asked++
						if got, err := r.Read(ctx, "d/f", ReadRequest{}); err != nil || string(got.Data) != "old" {
							t.Errorf("before: %q, %v", got.Data, err)
						}
						return tt.before(dir)
					},
				})
				if !errors.Is(err, tt.want) || res.Applied != (tt.want == nil) || asked != 1 {
					t.Errorf("write: %+v, %v, asked %d times, want %v", res, err, asked, tt.want)
				}
				if got := read(t, dir+"/d/f"); got != tt.bytes {
					t.Errorf("bytes: %q, want %q", got, tt.bytes)
				}
				if left := names(t, dir+"/d/"); left != "f" {
					t.Errorf("left behind: %s", left)
				}
			})
		})
	}
}

// TestWriteBeforePanics: the lock of publications is let go.
func TestWriteBeforePanics(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir, Options{SkipSync: true})
	func() {
		defer func() { _ = recover() }()
		_, _ = r.Write(t.Context(), "f", WriteRequest{Before: func(context.Context) error { panic("no") }})
		t.Error("no panic")
	}()
	if left := names(t, dir); left != "" {
		t.Errorf("left behind: %s", left)
	}
	if _, err := r.Write(t.Context(), "f", WriteRequest{}); err != nil {
		t.Errorf("the next write: %v", err)
	}
}

// TestTrace: the seam of Options sees each call and may fail it.
func TestTrace(t *testing.T) {
	dir := t.TempDir()
	var calls []string
	fail := ""
	r := open(t, dir, Options{SkipSync: true, Trace: func(call string) error {
		calls = append(calls, call)
		if call == fail {
			return fs.ErrPermission
		}
		return nil
	}})
	if len(calls) == 0 {
		t.Error("opening the root was not told")
	}
	fail = "renameat2"
	if _, err := r.Write(t.Context(), "f", WriteRequest{}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("write: %v", err)
	}
	if left := names(t, dir); left != "" {
		t.Errorf("left behind: %s", left)
	}
	fail = ""
	if _, err := r.Write(t.Context(), "f", WriteRequest{}); err != nil {
		t.Errorf("write: %v", err)
	}
}

// TestWriteBeforeWrites: who changes something through the root that asks him is
// refused, with the context that he was given, and waits no longer than his own.
func TestWriteBeforeWrites(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/old", "x")
	put(t, dir+"/tree/f", "x")
	r, other := open(t, dir, Options{SkipSync: true}), open(t, t.TempDir(), Options{SkipSync: true})
	effects := func(ctx context.Context) map[string]error {
		_, mkdir := r.Mkdir(ctx, "d", MkdirRequest{})
		_, rename := r.Rename(ctx, "old", "new", RenameRequest{})
		_, remove := r.Remove(ctx, "old", RemoveRequest{})
		_, batch := r.Batch(ctx, []BatchEntry{{Path: "g"}})
		return map[string]error{
			"write": wrote(ctx, r, "g", Create, "x", nil), "mkdir": mkdir, "rename": rename, "remove": remove, "batch": batch,
		}
	}
	_, err := r.Write(t.Context(), "f", WriteRequest{Before: func(ctx context.Context) error {
		for what, err := range effects(ctx) {
			if !errors.Is(err, ErrBusy) {
				t.Errorf("%s: %v, want %v", what, err, ErrBusy)
			}
		}
		if res, err := r.RemoveTree(ctx, "tree", RemoveTreeRequest{}); !errors.Is(err, ErrBusy) || res.Files > 0 {
			t.Errorf("remove tree: %+v, %v, want %v", res, err, ErrBusy)
		}
		for what, err := range effects(expired(t)) {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s with a context of its own: %v, want %v", what, err, context.DeadlineExceeded)
			}
		}
		return wrote(ctx, other, "g", Create, "x", nil)
	}})
	if err != nil {
		t.Errorf("write: %v", err)
	}
	if got := tree(t, dir); got != "f old tree/ tree/f" {
		t.Errorf("left: %q", got)
	}
}

// expired is a context that ends soon.
func expired(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}
