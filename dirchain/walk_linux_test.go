package dirchain

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// walked gives what a walk gave.
func walked(r *Root, path string, limits WalkLimits, fn func(Entry) error) (string, error) {
	var all []string
	err := r.Walk(context.Background(), path, limits, func(e Entry) error {
		s := e.Path + mark(e.Type)
		if e.Post {
			s = "<" + s
		}
		if e.Err != nil {
			s += "!"
		}
		all = append(all, s)
		if fn == nil {
			return nil
		}
		return fn(e)
	})
	return strings.Join(all, " "), err
}

func on(path string, err error) func(Entry) error {
	return func(e Entry) error {
		if e.Path == path && !e.Post {
			return err
		}
		return nil
	}
}

func TestWalkOrder(t *testing.T) {
	const planted = "a/b/f a/b/g a/c.d/ a/l->/etc p| z B"
	for name, c := range map[string]struct {
		path   string
		limits WalkLimits
		fn     func(Entry) error
		want   string
		err    error
	}{
		"bk/RR2 the empty path is the root": {want: "B a/ a/b/ a/b/f a/b/g a/c.d/ a/l@ p| z"},
		"a directory beneath it":            {path: "a/b", want: "a/b/f a/b/g"},
		"after the contents again": {
			path: "a", limits: WalkLimits{Post: true}, want: "a/b/ a/b/f a/b/g <a/b/ a/c.d/ <a/c.d/ a/l@",
		},
		"a directory is skipped": {
			limits: WalkLimits{Post: true}, fn: on("a/b", fs.SkipDir), want: "B a/ a/b/ a/c.d/ <a/c.d/ a/l@ <a/ p| z",
		},
		"the rest of a directory is skipped": {
			limits: WalkLimits{Post: true}, fn: on("a/b/f", fs.SkipDir),
			want: "B a/ a/b/ a/b/f <a/b/ a/c.d/ <a/c.d/ a/l@ <a/ p| z",
		},
		"the rest of the root is skipped": {fn: on("B", fs.SkipDir), want: "B"},
		"everything is skipped":           {fn: on("a/b", fs.SkipAll), want: "B a/ a/b/"},
		"an error ends it":                {fn: on("a/b/f", os.ErrInvalid), want: "B a/ a/b/ a/b/f", err: os.ErrInvalid},
		"a file is not walked":            {path: "z", err: ErrNotDirectory},
		"a FIFO is not walked":            {path: "p", err: ErrNotDirectory},
		"a link is not walked":            {path: "a/l", err: ErrNotDirectory},
		"what is missing is not walked":   {path: "no", err: fs.ErrNotExist},
		"two points are no path":          {path: "a/..", err: ErrPath},
		"a point is no path":              {path: ".", err: ErrPath},
		"too deep": {
			limits: WalkLimits{Depth: 2}, want: "B a/ a/b/! a/c.d/! a/l@ p| z", err: ErrLimit,
		},
		"deep enough":                      {limits: WalkLimits{Depth: 3}, want: "B a/ a/b/ a/b/f a/b/g a/c.d/ a/l@ p| z"},
		"what is too deep may be left out": {limits: WalkLimits{Depth: 1}, fn: on("a", fs.SkipDir), want: "B a/! p| z"},
		"too many": {
			limits: WalkLimits{Entries: 8, Post: true}, want: "B a/ a/b/ a/b/f <a/b/ a/c.d/! a/l@ <a/ p| z", err: ErrLimit,
		},
		"not too many": {limits: WalkLimits{Entries: 9}, want: "B a/ a/b/ a/b/f a/b/g a/c.d/ a/l@ p| z"},
		"too long":     {limits: WalkLimits{Time: 1}, err: ErrLimit},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, opts Options) {
				dir := t.TempDir()
				plant(t, dir, planted)
				noLeak(t, dir)
				got, err := walked(open(t, dir, opts), c.path, c.limits, c.fn)
				if name == "too many" && strings.Contains(got, "a/b/g") { // any of them
					got = strings.Replace(got, "a/b/g", "a/b/f", 1)
				}
				if got != c.want {
					t.Errorf("walk: got %q, want %q", got, c.want)
				}
				var e *Error
				if !errors.Is(err, c.err) || err != nil && (!errors.As(err, &e) || e.Op != "walk" || e.Path != c.path) {
					t.Errorf("error: got %v, want %v", err, c.err)
				}
			})
		})
	}
}

func TestWalkStopsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, "a/b/f z")
	r := open(t, dir, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	err := r.Walk(ctx, "", WalkLimits{}, func(Entry) error { n++; cancel(); return nil })
	if !errors.Is(err, context.Canceled) || n != 1 {
		t.Errorf("after %d entries: %v", n, err)
	}
	if err = r.Close(); err != nil {
		t.Fatal(err)
	}
	if err = r.Walk(t.Context(), "", WalkLimits{}, nil); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("of a closed root: %v", err)
	}
}

// TestWalkGivesNamesAsTheyAre: esc/DC-18, bk/TT15.
func TestWalkGivesNamesAsTheyAre(t *testing.T) {
	both(t, func(t *testing.T, opts Options) {
		dir := t.TempDir()
		want := []string{"a\nb", "b\x1b[2J", "c\xff", `d\e`, strings.Repeat("f", 255)}
		for _, name := range want {
			if err := os.WriteFile(dir+"/"+name, nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		err := open(t, dir, opts).Walk(t.Context(), "", WalkLimits{}, func(e Entry) error {
			st, err := e.Stat()
			if err != nil || st.Type() != e.Type {
				t.Errorf("%q: %v, %v", e.Name, st, err)
			}
			got = append(got, e.Name)
			if e.Name == "c\xff" {
				return e.Remove(st)
			}
			return nil
		})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("names: %v\n%s", err, diff)
		}
		if _, err = os.Lstat(dir + "/c\xff"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a name that is not UTF-8 was not removed: %v", err)
		}
	})
}

// TestWalkIsNotLedAway: esc/DC-11, bk/TT6: the directory is exchanged for a link
// between the look at its name and its opening, or after it.
func TestWalkIsNotLedAway(t *testing.T) {
	for name, c := range map[string]struct {
		entered bool
		want    string
	}{
		"before it is opened": {false, "d@->! z"},
		"after it is opened":  {true, "d/ d/in z"},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, opts Options) {
				dir, outside := t.TempDir(), t.TempDir()
				plant(t, dir, "d/in z")
				plant(t, outside, "secret")
				noLeak(t, dir)
				r := open(t, dir, opts)
				swap := func() {
					if err := errors.Join(os.Rename(dir+"/d", dir+"/.gone"), os.Symlink(outside, dir+"/d")); err != nil {
						t.Fatal(err)
					}
				}
				if !c.entered {
					read := false
					r.hook = func(call string) error {
						if call == "getdents64" {
							read = true
						} else if read {
							r.hook = nil
							swap()
						}
						return nil
					}
				}
				var got []string
				err := r.Walk(t.Context(), "", WalkLimits{}, func(e Entry) error {
					s := e.Path + mark(e.Type)
					if e.Err != nil {
						if !errors.Is(e.Err, ErrNotDirectory) && !errors.Is(e.Err, ErrLink) {
							t.Errorf("%s: %v", e.Path, e.Err)
						}
						s = e.Path + "@->!"
					}
					got = append(got, s)
					if c.entered && e.Path == "d" {
						swap()
					}
					return nil
				})
				if s := strings.Join(got, " "); err != nil || s != c.want {
					t.Errorf("got %q, %v, want %q", s, err, c.want)
				}
			})
		})
	}
}

func TestWalkOfAHugeDirectoryKeepsWithinItsLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("makes 20 000 files") // gating: -short
	}
	dir := t.TempDir()
	many(t, dir, 1, 20_000)
	r := open(t, dir, Options{})
	reads := 0
	r.hook = func(call string) error {
		if call == "getdents64" {
			reads++
		}
		return nil
	}
	n := 0
	err := r.Walk(t.Context(), "d000", WalkLimits{Entries: 10}, func(Entry) error { n++; return nil })
	if !errors.Is(err, ErrLimit) || n != 10 || reads != 1 {
		t.Errorf("%d entries, %d reads, %v", n, reads, err)
	}
}

// many makes dirs directories with files empty files each.
func many(t testing.TB, dir string, dirs, files int) {
	t.Helper()
	for d := range dirs {
		sub := fmt.Sprintf("%s/d%03d", dir, d)
		if err := os.Mkdir(sub, 0o755); err != nil {
			t.Fatal(err)
		}
		for f := range files {
			file, err := os.OpenFile(fmt.Sprintf("%s/file-%06d.txt", sub, f), os.O_CREATE|os.O_WRONLY, 0o644)
			if err != nil {
				t.Fatal(err)
			}
			_ = file.Close()
		}
	}
}

func TestWalkLimitOfTime(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, "a b")
	n := 0
	err := open(t, dir, Options{}).Walk(t.Context(), "", WalkLimits{Time: 50 * time.Millisecond}, func(Entry) error {
		n++
		for start := time.Now(); time.Since(start) < 60*time.Millisecond; {
		}
		return nil
	})
	if !errors.Is(err, ErrLimit) || n != 1 {
		t.Errorf("after %d entries: %v", n, err)
	}
}
