package dirchain

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// suite is what holds on every file system where something is written, with
// either walk.
func suite(t *testing.T, dir string) {
	t.Helper()
	both(t, func(t *testing.T, opts Options) {
		for name, test := range map[string]func(t *testing.T, dir string, opts Options){
			"refuses what is no file of its own":    suiteRefusals,
			"does not overwrite what it was not on": suiteStale,
			"takes back what went elsewhere":        suiteElsewhere,
			"knows what it holds":                   suiteHeld,
			"takes over the permission bits":        suiteBits,
			"makes, replaces, lengthens and edits":  suiteModes,
			"gives what is there":                   suiteWalk,
			"makes, moves and removes":              suiteOperations,
		} {
			t.Run(name, func(t *testing.T) { test(t, own(t, dir), opts) })
		}
	})
}

func suiteModes(t *testing.T, dir string, opts Options) {
	r, ctx := open(t, dir, opts), t.Context()
	if err := r.Writable(); err != nil {
		t.Fatal(err)
	}
	steps := []struct {
		name, want string
		act        func() error
	}{
		{"create", "one", func() error {
			_, err := r.Write(ctx, "a/b/f", WriteRequest{Content: text("one"), Parents: true})
			return err
		}},
		{"replace", "two", func() error { return wrote(ctx, r, "a/b/f", Replace, "two", nil) }},
		{"create or replace", "three", func() error { return wrote(ctx, r, "a/b/f", CreateOrReplace, "three", nil) }},
		{"append", "three, four", func() error { return wrote(ctx, r, "a/b/f", Append, ", four", nil) }},
		{"edit", "3, four", func() error {
			_, err := r.Edit(ctx, "a/b/f", EditRequest{Old: []byte("three"), New: []byte("3")})
			return err
		}},
	}
	for _, step := range steps {
		if err := step.act(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		got, err := r.Read(ctx, "a/b/f", ReadRequest{})
		if err != nil || string(got.Data) != step.want || got.SHA256 != Sum([]byte(step.want)) {
			t.Errorf("%s: read %q, %v, want %q", step.name, got.Data, err, step.want)
		}
		if there := read(t, dir+"/a/b/f"); there != step.want {
			t.Errorf("%s: %q is there, want %q", step.name, there, step.want)
		}
	}
	if err := wrote(ctx, r, "a/b/f", Create, "x", nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("create over a file: %v, want %v", err, fs.ErrExist)
	}
	if got := names(t, dir+"/a/b"); got != "f" {
		t.Errorf("names: %q, want %q", got, "f")
	}
}

func suiteWalk(t *testing.T, dir string, opts Options) {
	put(t, dir+"/a/b/f", "x")
	put(t, dir+"/g", "x")
	if err := errors.Join(os.Symlink("a", dir+"/a/link"), unix.Mkfifo(dir+"/fifo", 0o600)); err != nil {
		t.Fatal(err)
	}
	var got []string
	err := open(t, dir, opts).Walk(t.Context(), "", WalkLimits{}, func(e Entry) error {
		got = append(got, e.Path+" "+e.Type.String())
		return e.Err
	})
	const folder, link, fifo, file = " d---------", " L---------", " p---------", " ----------"
	want := []string{"a" + folder, "a/b" + folder, "a/b/f" + file, "a/link" + link, "fifo" + fifo, "g" + file}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("walk: %v (-want +got):\n%s", err, diff)
	}
}

// suiteRefusals holds bk/FB6, bk/FB7, bk/FB8, bk/FB9, esc/DC-05 and esc/DC-06.
func suiteRefusals(t *testing.T, dir string, opts Options) {
	inside, outside := dir+"/in", dir+"/out"
	put(t, outside+"/canary", "outside")
	put(t, inside+"/plain", "inside")
	err := errors.Join(os.Symlink(outside+"/canary", inside+"/link"), os.Symlink(outside, inside+"/linked"),
		os.Symlink(outside+"/new", inside+"/dangling"), os.Mkdir(inside+"/folder", 0o755),
		os.Link(outside+"/canary", inside+"/hard"), unix.Mkfifo(inside+"/fifo", 0o600),
		unix.Mknod(inside+"/socket", unix.S_IFSOCK|0o600, 0))
	if err != nil {
		t.Fatal(err)
	}
	before := names(t, inside)
	r := open(t, inside, opts)
	for path, want := range map[string]error{
		"link": ErrLink, "dangling": ErrLink, "linked/canary": nil, "linked/new": nil, "folder": ErrNotRegular,
		"hard": ErrLinked, "fifo": ErrNotRegular, "socket": ErrNotRegular, "plain/x": ErrNotDirectory,
	} {
		for what, err := range all(t.Context(), r, path) {
			if want == nil && !errors.Is(err, ErrLink) && !errors.Is(err, ErrNotDirectory) || want != nil && !errors.Is(err, want) {
				t.Errorf("%s %q: %v, want %v", what, path, err, want)
			}
		}
	}
	if got := read(t, outside+"/canary"); got != "outside" || names(t, outside) != "canary" {
		t.Errorf("outside: %q with %q", names(t, outside), got)
	}
	if got := names(t, inside); got != before {
		t.Errorf("inside: %q, want %q", got, before)
	}
	for what, err := range all(t.Context(), r, "plain") {
		if err != nil {
			t.Errorf("%s of a plain file: %v", what, err)
		}
	}
}

// all tries everything that takes an existing file.
func all(ctx context.Context, r *Root, path string) map[string]error {
	_, reading := r.Read(ctx, path, ReadRequest{})
	_, editing := r.Edit(ctx, path, EditRequest{Old: []byte("ins"), New: []byte("INS")})
	return map[string]error{
		"read": reading, "edit": editing, "append": wrote(ctx, r, path, Append, " and more", nil),
		"replace":           wrote(ctx, r, path, Replace, "inside", nil),
		"create or replace": wrote(ctx, r, path, CreateOrReplace, "inside", nil),
	}
}

// suiteBits holds bk/FB17 but for its watcher.
func suiteBits(t *testing.T, dir string, opts Options) {
	r := open(t, dir, opts)
	put(t, dir+"/f", "x")
	for _, bits := range []fs.FileMode{0o600, 0o640, 0o644, 0o755, 0o777, 0o444} {
		if err := os.Chmod(dir+"/f", bits); err != nil {
			t.Fatal(err)
		}
		if err := wrote(t.Context(), r, "f", Replace, bits.String(), nil); err != nil {
			t.Fatal(err)
		}
		st, err := os.Stat(dir + "/f")
		if err != nil || st.Mode() != bits || st.Size() != int64(len(bits.String())) {
			t.Errorf("%v was replaced by %v, %v", bits, st.Mode(), err)
		}
	}
	for _, point := range []string{"fill", "publish"} {
		put(t, dir+"/"+point, "theirs")
		r := open(t, dir, opts)
		r.hook = at(point, func() error { return os.Chmod(dir+"/"+point, 0o600) })
		if err := wrote(t.Context(), r, point, Replace, "mine", nil); !errors.Is(err, ErrChanged) {
			t.Errorf("narrowed at %q: %v, want %v", point, err, ErrChanged)
		}
		st, err := os.Stat(dir + "/" + point)
		if err != nil || st.Mode() != 0o600 || read(t, dir+"/"+point) != "theirs" {
			t.Errorf("narrowed at %q: %v with %q, %v", point, st.Mode(), read(t, dir+"/"+point), err)
		}
	}
}

// suiteStale: somebody else changes the file after it was judged. What he wrote is
// there afterwards.
func suiteStale(t *testing.T, dir string, opts Options) {
	put(t, dir+"/f", "before")
	r, wrong := open(t, dir, opts), Sum([]byte("else"))
	if err := wrote(t.Context(), r, "f", Replace, "mine", &wrong); !errors.Is(err, ErrStale) {
		t.Errorf("another base: %v, want %v", err, ErrStale)
	}
	changes := map[string]func() error{
		"longer":            func() error { return os.WriteFile(dir+"/f", []byte("theirs is longer"), 0o644) },
		"as long as before": func() error { return os.WriteFile(dir+"/f", []byte("theirs"), 0o644) },
		"another file": func() error {
			return errors.Join(os.WriteFile(dir+"/g", []byte("theirs"), 0o644), os.Rename(dir+"/g", dir+"/f"))
		},
	}
	for name, change := range changes {
		for _, point := range []string{"fill", "publish"} {
			put(t, dir+"/f", "before")
			var theirs string
			r := open(t, dir, opts)
			r.hook = at(point, func() error {
				err := change()
				theirs = read(t, dir+"/f")
				return err
			})
			base := Sum([]byte("before"))
			if err := wrote(t.Context(), r, "f", Replace, "mine", &base); !errors.Is(err, ErrStale) {
				t.Errorf("%s at %q: %v, want %v", name, point, err, ErrStale)
			}
			if got := read(t, dir+"/f"); theirs == "" || got != theirs {
				t.Errorf("%s at %q: %q is there, want %q", name, point, got, theirs)
			}
			if got := names(t, dir); got != "f" {
				t.Errorf("%s at %q: names %q, want %q", name, point, got, "f")
			}
		}
	}
}

// suiteElsewhere holds bk/FB2 and bk/FB3: the directory is exchanged.
func suiteElsewhere(t *testing.T, dir string, opts Options) {
	for _, point := range []string{"fill", "publish"} {
		sub := filepath.Join(dir, point)
		put(t, sub+"/a/f", "old")
		r := open(t, sub, opts)
		r.hook = at(point, func() error {
			return errors.Join(os.Rename(sub+"/a", sub+"/away"), os.Mkdir(sub+"/a", 0o755))
		})
		if err := wrote(t.Context(), r, "a/f", CreateOrReplace, "new", nil); !errors.Is(err, ErrChanged) {
			t.Errorf("at %q: %v, want %v", point, err, ErrChanged)
		}
		if got := read(t, sub+"/away/f"); got != "old" || names(t, sub+"/away") != "f" || names(t, sub+"/a") != "" {
			t.Errorf("at %q: %q, away has %q, a has %q", point, got, names(t, sub+"/away"), names(t, sub+"/a"))
		}
	}
}

// suiteHeld: what is held has the same identity until it is let go, and no new
// file gets it.
func suiteHeld(t *testing.T, dir string, opts Options) {
	put(t, dir+"/a/f", "x")
	r := open(t, dir, opts)
	held, err := r.Hold("a/f")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	st, _ := held.Stat()
	if err = os.RemoveAll(dir + "/a"); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		put(t, dir+"/a/f", "x")
		again, err := r.Hold("a/f")
		if err != nil {
			t.Fatal(err)
		}
		now, _ := again.Stat()
		if again.Parent() == held.Parent() || now.ID == st.ID {
			t.Fatalf("a new directory or file has the identity of the held one: %v %v", again.Parent(), now.ID)
		}
		again.Close()
		if err = os.RemoveAll(dir + "/a"); err != nil {
			t.Fatal(err)
		}
	}
	if now, err := r.statAt(held.ch.parent(), ""); err != nil || now.ID != held.Parent() {
		t.Errorf("the held directory is %v now, was %v: %v", now.ID, held.Parent(), err)
	}
	put(t, dir+"/a/f", "x")
	req := WriteRequest{Mode: Replace, Content: text("y"), Held: held}
	if _, err = r.Write(t.Context(), "a/f", req); !errors.Is(err, ErrChanged) {
		t.Errorf("write to another directory than the held one: %v, want %v", err, ErrChanged)
	}
	if got := read(t, dir+"/a/f"); got != "x" {
		t.Errorf("the file is %q", got)
	}
}
