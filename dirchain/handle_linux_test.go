package dirchain

import (
	"errors"
	"io/fs"
	"os"
	"testing"
)

func TestDirIsTheHeldRoot(t *testing.T) {
	both(t, func(t *testing.T, opts Options) {
		dir := t.TempDir()
		top := dir + "/top"
		if err := errors.Join(os.Mkdir(top, 0o755), os.WriteFile(top+"/f", nil, 0o644)); err != nil {
			t.Fatal(err)
		}
		r := open(t, top, opts)
		if err := errors.Join(os.Rename(top, dir+"/moved"), os.Symlink("/", top)); err != nil {
			t.Fatal(err)
		}
		f, err := r.Dir()
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err = r.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err = r.Dir(); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("of a closed root: %v", err)
		}
		if list, err := f.Readdirnames(-1); err != nil || len(list) != 1 || list[0] != "f" {
			t.Errorf("names: %q, %v", list, err)
		}
	})
}
