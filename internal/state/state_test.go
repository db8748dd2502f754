package state

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"brainbox/internal/needs"

	"golang.org/x/sys/unix"
)

func open(t *testing.T, path string) *Dir {
	t.Helper()
	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// A key that others could read or have made is not used.
func TestAKeyThatIsRefused(t *testing.T) {
	whole := make([]byte, KeySize)
	whole[0] = 1
	write := func(mode os.FileMode, text []byte) func(string) error {
		return func(path string) error {
			return errors.Join(os.WriteFile(path, text, 0o600), os.Chmod(path, mode))
		}
	}
	for name, tc := range map[string]struct {
		make func(path string) error
		want error // nil: any error but ErrNoKey
	}{
		"readable by a group": {write(0o640, whole), ErrUnsafe},
		"readable by others":  {write(0o604, whole), ErrUnsafe},
		"executable":          {write(0o700, whole), ErrUnsafe},
		"a FIFO":              {func(path string) error { return unix.Mkfifo(path, 0o600) }, ErrUnsafe},
		"two names": {func(path string) error {
			return errors.Join(write(0o600, whole)(path+".other"), os.Link(path+".other", path))
		}, ErrUnsafe},
		"a link": {func(path string) error {
			return errors.Join(write(0o600, whole)(path+".other"), os.Symlink(path+".other", path))
		}, unix.ELOOP},
		"a folder": {func(path string) error { return os.Mkdir(path, 0o700) }, ErrUnsafe},
		"short":    {write(0o600, whole[1:]), nil},
		"long":     {write(0o600, append(slices.Clone(whole), 1)), nil},
		"zeros":    {write(0o600, make([]byte, KeySize)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t, filepath.Join(t.TempDir(), "brainbox"))
			if err := tc.make(d.Path() + "/operator.key"); err != nil {
				t.Fatal(err)
			}
			for _, f := range []func() ([KeySize]byte, error){d.Key, d.MakeKey} {
				key, err := f()
				if err == nil || errors.Is(err, ErrNoKey) || tc.want != nil && !errors.Is(err, tc.want) || key != [KeySize]byte{} {
					t.Errorf("key %x, error %v, want %v", key, err, tc.want)
				}
			}
		})
	}
	d := open(t, filepath.Join(t.TempDir(), "brainbox")) // the control
	if err := write(0o600, whole)(d.Path() + "/operator.key"); err != nil {
		t.Fatal(err)
	}
	if key, err := d.Key(); err != nil || key != [KeySize]byte(whole) {
		t.Errorf("key %x, error %v", key, err)
	}
}

func TestAKeyOfAnotherUser(t *testing.T) {
	needs.Root(t)
	d := open(t, filepath.Join(t.TempDir(), "brainbox"))
	if _, err := d.MakeKey(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(d.Path()+"/operator.key", 4321, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Key(); !errors.Is(err, ErrUnsafe) {
		t.Errorf("error %v", err)
	}
	if err := os.Chown(d.Path(), 4321, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(d.Path()); !errors.Is(err, ErrUnsafe) {
		t.Errorf("error %v", err)
	}
}

func TestAKeyIsMadeOnce(t *testing.T) {
	old := unix.Umask(0) // the mode must not come from it
	defer unix.Umask(old)
	d := open(t, filepath.Join(t.TempDir(), "deep/brainbox"))
	if _, err := d.Key(); !errors.Is(err, ErrNoKey) {
		t.Fatalf("error %v", err)
	}
	var wg sync.WaitGroup
	keys := make([][KeySize]byte, 16)
	for i := range keys {
		wg.Go(func() {
			var err error
			if keys[i], err = d.MakeKey(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, k := range keys {
		if k != keys[0] || k == [KeySize]byte{} {
			t.Errorf("%x and %x", k, keys[0])
		}
	}
	entries, err := os.ReadDir(d.Path())
	if err != nil || len(entries) != 1 {
		t.Errorf("%v %v", entries, err)
	}
	st, err := os.Stat(d.Path() + "/operator.key")
	if err != nil || st.Mode() != 0o600 {
		t.Errorf("%v %v", st.Mode(), err)
	}
	for _, up := range []string{d.Path(), filepath.Dir(d.Path())} {
		if st, err := os.Stat(up); err != nil || st.Mode().Perm() != 0o700 {
			t.Errorf("%v %v", st.Mode(), err)
		}
	}
}

func TestAFolderThatIsRefused(t *testing.T) {
	dir := t.TempDir()
	for _, mode := range []os.FileMode{0o770, 0o707, 0o777} {
		path := filepath.Join(dir, mode.String())
		if err := errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); !errors.Is(err, ErrUnsafe) {
			t.Errorf("%v: error %v", mode, err)
		}
	}
	if err := os.Symlink("/", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir + "/link", "relative", ""} {
		if _, err := Open(path); err == nil {
			t.Errorf("%q was opened", path)
		}
	}
	if _, err := Existing(dir + "/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	d := open(t, dir+"/ok")
	for _, name := range []string{"", "a/b", "a\x00b"} {
		if _, err := d.OpenFile(name, unix.O_WRONLY|unix.O_CREAT); err == nil {
			t.Errorf("%q was opened", name)
		}
	}
}

func TestSessions(t *testing.T) {
	dir, err := os.MkdirTemp("", "bbx") //nolint:usetesting // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if list, err := Sessions(dir); err != nil || list != nil {
		t.Errorf("%v %v", list, err)
	}
	add := func(name string, folder, sock os.FileMode) {
		t.Helper()
		path := dir + "/brainbox/" + name
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("unix", path+"/ui.sock")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		if err := errors.Join(os.Chmod(path+"/ui.sock", sock), os.Chmod(path, folder)); err != nil {
			t.Fatal(err)
		}
	}
	add("00c0ffee", 0o700, 0o600)
	add("deadbeef", 0o700, 0o600)
	add("deadbee1", 0o755, 0o600)
	add("deadbee2", 0o700, 0o666)
	add("DEADBEEF", 0o700, 0o600)
	add("deadbeef1", 0o700, 0o600)
	if err := errors.Join(os.Mkdir(dir+"/brainbox/deadbee3", 0o700), os.WriteFile(dir+"/brainbox/deadbee3/ui.sock", nil, 0o600),
		os.Symlink(dir+"/brainbox/deadbeef", dir+"/brainbox/deadbee4")); err != nil {
		t.Fatal(err)
	}
	list, err := Sessions(dir)
	if err != nil || len(list) != 2 || list[0].ID != "00c0ffee" || list[1].Socket != dir+"/brainbox/deadbeef/ui.sock" {
		t.Errorf("%v %v", list, err)
	}
	if err := os.Chmod(dir+"/brainbox", 0o755); err != nil {
		t.Fatal(err)
	}
	if list, err := Sessions(dir); !errors.Is(err, ErrUnsafe) || list != nil {
		t.Errorf("%v %v", list, err)
	}
}
