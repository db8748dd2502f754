package dirchain

import (
	"errors"
	"os"
	"testing"
)

// TestFoldingOfWhatGetsAnEntry: a directory that was empty can be made to fold until
// it has our entry, by whoever owns it and may not even write to it. It is looked at
// once more then, and the entry does not come to a name that may be a protected one.
func TestFoldingOfWhatGetsAnEntry(t *testing.T) {
	for name, c := range map[string]struct {
		entry string // the call that brings an entry there
		nth   int
		act   func(t *testing.T, r *Root) error
	}{
		"mkdir": {"mkdirat", 1, func(t *testing.T, r *Root) error {
			_, err := r.Mkdir(t.Context(), "d/.GIT", MkdirRequest{})
			return err
		}},
		"rename": {"renameat2", 2, func(t *testing.T, r *Root) error {
			_, err := r.Rename(t.Context(), "f", "d/.GIT", RenameRequest{})
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			plant(t, dir, "d/ f")
			r := open(t, dir, Options{SkipSync: true, Protect: []string{"d/.git"}})
			made := 0
			r.hook = func(call string) error {
				if call == c.entry {
					made++
				}
				if call == "ioctl" && made >= c.nth {
					return errFoldingDirectory
				}
				if call == "renameat2" && made > c.nth { // the new name
					if _, err := os.Lstat(dir + "/d/.GIT"); err == nil {
						t.Error("it has the new name")
					}
				}
				return nil
			}
			if err := c.act(t, r); !errors.Is(err, ErrFilesystem) {
				t.Errorf("%v, want %v", err, ErrFilesystem)
			}
			if got := tree(t, dir); got != "d/ f" {
				t.Errorf("left: %q, want %q", got, "d/ f")
			}
			r.hook = nil
			if err := c.act(t, r); err != nil {
				t.Errorf("control: %v", err)
			}
		})
	}
}
