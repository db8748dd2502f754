package dirchain

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Follow tells every place that the links of the last name lead to, and no other link.
func TestFollow(t *testing.T) {
	root, outside := linked(t)
	for name, to := range map[string]string{"one": "a/two", "a/two": "../deep/../file", "endless": "./endless2", "endless2": "endless"} {
		if err := os.Symlink(to, root+"/"+name); err != nil {
			t.Fatal(err)
		}
	}
	loop := make([]string, 0, maxHops)
	for range maxHops / 2 {
		loop = append(loop, "endless2", "endless")
	}
	both(t, func(t *testing.T, opts Options) {
		r := open(t, root, opts)
		for _, c := range []struct {
			path string
			want Way
			err  error
		}{
			{"escape", Way{Links: []string{outside}}, ErrOutside},
			{"a/escape", Way{Links: []string{"../r2/none"}}, ErrOutside},
			{"escape/x", Way{}, ErrOutside},
			{"endless", Way{Links: loop}, ErrLink},
			{"fileslash", Way{Links: []string{"assets/raft.png"}}, ErrNotDirectory},

			{"assets/raft.png", Way{Path: "assets/raft.png"}, nil},
			{"inside/raft.png", Way{Path: "assets/raft.png"}, nil},
			{"file", Way{Path: "assets/raft.png", Links: []string{"assets/raft.png"}}, nil},
			{"one", Way{Path: "assets/raft.png", Links: []string{"a/two", "file", "assets/raft.png"}}, nil},
			{"abs", Way{Path: "assets", Links: []string{root + "/assets"}}, nil},
			{"slash/", Way{Path: "assets", Links: []string{"assets"}}, nil},
			{"a/dangling", Way{"assets/none/x.png", []string{"assets/none/x.png"}, 2}, nil},
			{"inside/n/m/x", Way{Path: "assets/n/m/x", Missing: 3}, nil},
			{"", Way{Path: "."}, nil},
		} {
			before := stillOpen(t)
			got, err := r.Follow(c.path)
			if !errors.Is(err, c.err) {
				t.Errorf("Follow(%q): %v, want %v", c.path, err, c.err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("Follow(%q) (-want +got):\n%s", c.path, diff)
			}
			if after := stillOpen(t); after != before {
				t.Errorf("%q: %d descriptors are open, want %d", c.path, after, before)
			}
		}
	})
}

// A target that was judged where its directories are missing is the place at which the
// operation must begin to make them.
func TestHeldAboveMissingDirectories(t *testing.T) {
	both(t, func(t *testing.T, opts Options) {
		write := func(r *Root, held *Target, path string) error {
			_, err := r.Write(t.Context(), path, WriteRequest{Content: text("x"), Parents: true, Held: held})
			return err
		}
		for name, c := range map[string]struct {
			change func(dir string) error
			path   string
			want   error
		}{
			"the parent was exchanged": {func(dir string) error {
				return errors.Join(os.Rename(dir+"/p", dir+"/away"), os.Mkdir(dir+"/p", 0o755))
			}, "p/n/m/f", ErrChanged},
			"the directory is there by now": {func(dir string) error { return os.Mkdir(dir+"/p/n", 0o755) }, "p/n/m/f", ErrChanged},
			"another directory":             {func(string) error { return nil }, "p/o/m/f", ErrChanged},
			"another parent":                {func(string) error { return nil }, "n/m/f", ErrChanged},
			"control":                       {func(string) error { return nil }, "p/n/m/f", nil},
		} {
			t.Run(name, func(t *testing.T) {
				dir := t.TempDir()
				if err := os.Mkdir(dir+"/p", 0o755); err != nil {
					t.Fatal(err)
				}
				r := open(t, dir, opts)
				held, err := r.Hold("p/n")
				if err != nil {
					t.Fatal(err)
				}
				defer held.Close()
				if err = c.change(dir); err != nil {
					t.Fatal(err)
				}
				if err = write(r, held, c.path); !errors.Is(err, c.want) {
					t.Errorf("write: %v, want %v", err, c.want)
				}
				if _, err = os.Lstat(dir + "/" + c.path); (err == nil) != (c.want == nil) || err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("afterwards: %v", err)
				}
				if c.want != nil && c.path == "p/o/m/f" && names(t, dir+"/p") != "" {
					t.Errorf("left: %s", names(t, dir+"/p"))
				}
			})
		}
		dir := t.TempDir()
		r := open(t, dir, opts)
		held, err := r.Hold("n")
		if err != nil {
			t.Fatal(err)
		}
		defer held.Close()
		if _, err = r.Mkdir(t.Context(), "n/m", MkdirRequest{Parents: true, Held: held}); err != nil {
			t.Errorf("mkdir: %v", err)
		}
		if _, err = r.Mkdir(t.Context(), "n/o", MkdirRequest{Parents: true, Held: held}); !errors.Is(err, ErrChanged) {
			t.Errorf("mkdir once more: %v, want %v", err, ErrChanged)
		}
	})
}
