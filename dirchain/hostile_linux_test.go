package dirchain

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestZeroRoot: a Root that nobody opened does nothing; its descriptor would be 0,
// the standard input.
func TestZeroRoot(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/f", "x")
	saved, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		t.Fatal(err)
	}
	d, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err = unix.Dup2(int(d.Fd()), 0); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(unix.Dup2(saved, 0), unix.Close(saved)); err != nil {
			t.Error(err)
		}
	}()
	var r Root
	_, reading := r.Read(t.Context(), "f", ReadRequest{})
	_, writing := r.Write(t.Context(), "g", WriteRequest{})
	_, holding := r.Hold("f")
	for what, err := range map[string]error{
		"read": reading, "write": writing, "hold": holding, "close": r.Close(),
	} {
		if !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%s: %v, want %v", what, err, fs.ErrClosed)
		}
	}
	if _, err := unix.FcntlInt(0, unix.F_GETFD, 0); err != nil {
		t.Errorf("the standard input was closed: %v", err)
	}
	if got := names(t, dir); got != "f" {
		t.Errorf("names: %q, want %q", got, "f")
	}
}

// TestNoRoot: what names no directory opens none, least of all the working one.
func TestNoRoot(t *testing.T) {
	if r, err := OpenRoot("", Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("OpenRoot of the empty path: %v, %v, want %v", r, err, fs.ErrNotExist)
	}
	if r, err := NewRoot(nil, Options{}); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("NewRoot of nil: %v, %v, want %v", r, err, fs.ErrInvalid)
	}
}

// TestClosedTarget: what a target says, it says also when it is let go, and one
// that nobody held says nothing.
func TestClosedTarget(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/a/f", "x")
	r := open(t, dir, Options{SkipSync: true})
	held, err := r.Hold("a/f")
	if err != nil {
		t.Fatal(err)
	}
	parent, chain := held.Parent(), held.Chain()
	held.Close()
	held.Close()
	if got := held.Parent(); got != parent {
		t.Errorf("parent of a closed target: %v, want %v", got, parent)
	}
	if got := held.Chain(); len(got) != 2 || got[0] != chain[0] || got[1] != parent {
		t.Errorf("chain of a closed target: %v, want %v", got, chain)
	}
	var zero Target
	if got := zero.Parent(); got != (Identity{}) || len(zero.Chain()) != 0 {
		t.Errorf("zero target: %v, %v", got, zero.Chain())
	}
	zero.Close()
	for name, target := range map[string]*Target{"closed": held, "zero": &zero} {
		_, err := r.Write(t.Context(), "a/f", WriteRequest{Mode: Replace, Held: target})
		if !errors.Is(err, ErrChanged) {
			t.Errorf("write with a %s target: %v, want %v", name, err, ErrChanged)
		}
	}
}

// TestUnknownMode: no number stands for another one.
func TestUnknownMode(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/f", "old")
	r := open(t, dir, Options{SkipSync: true})
	for _, mode := range []Mode{-1, CreateOrReplace + 1} {
		for _, path := range []string{"f", "new"} {
			if err := wrote(t.Context(), r, path, mode, "x", nil); !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("mode %d of %q: %v, want %v", mode, path, err, fs.ErrInvalid)
			}
		}
	}
	if got := read(t, dir+"/f"); got != "old" || names(t, dir) != "f" {
		t.Errorf("bytes %q, names %q", got, names(t, dir))
	}
}

// TestOddNumbers: no number overflows, or makes a read need more than the file has.
func TestOddNumbers(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/f", "0123456789")
	r, ctx := open(t, dir, Options{SkipSync: true, MaxFile: math.MaxInt64}), t.Context()
	for _, tt := range []struct {
		offset, limit int64
		want          string
		more          bool
	}{
		{0, math.MaxInt64, "0123456789", false},
		{9, math.MaxInt64, "9", false},
		{10, 1, "", false},
		{math.MaxInt64, math.MaxInt64, "", false},
		{math.MaxInt64, 1, "", false},
		{3, 2, "34", true},
	} {
		got, err := r.Read(ctx, "f", ReadRequest{Offset: tt.offset, Limit: tt.limit})
		if err != nil || string(got.Data) != tt.want || got.Truncated != tt.more || got.SHA256 != Sum([]byte("0123456789")) {
			t.Errorf("%d from %d: %+v, %v, want %q", tt.limit, tt.offset, got, err, tt.want)
		}
	}
	for _, req := range []ReadRequest{{Offset: -1}, {Limit: -1}, {Offset: math.MinInt64, Limit: math.MinInt64}} {
		if _, err := r.Read(ctx, "f", req); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%+v: %v, want %v", req, err, fs.ErrInvalid)
		}
	}
	limits := WalkLimits{Depth: math.MaxInt, Entries: math.MaxInt, Time: math.MaxInt64}
	if err := r.Walk(ctx, "", limits, func(Entry) error { return nil }); err != nil {
		t.Errorf("walk: %v", err)
	}
	if err := wrote(ctx, r, "f", Append, "x", nil); err != nil || read(t, dir+"/f") != "0123456789x" {
		t.Errorf("append: %v", err)
	}
}

// TestEditIsNamed: an error says which operation it is of, however far that came.
func TestEditIsNamed(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/f", "old")
	r := open(t, dir, Options{SkipSync: true})
	for _, point := range []string{"statx", "fill", "publish"} {
		r.hook = at(point, func() error { return unix.EIO })
		_, err := r.Edit(t.Context(), "f", EditRequest{Old: []byte("old"), New: []byte("new")})
		var e *Error
		if !errors.As(err, &e) || e.Op != "edit" || e.Path != "f" || !errors.Is(err, unix.EIO) {
			t.Errorf("at %s: %v", point, err)
		}
	}
}
