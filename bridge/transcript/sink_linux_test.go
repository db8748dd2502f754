package transcript

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// inside says that this process is a child whose files are small.
const inside = "BRAINBOX_TRANSCRIPT_TEST_DIR"

func open(t testing.TB, dir string, o Options) *Sink {
	t.Helper()
	s, err := Open(dir, redactor(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil && !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
	return s
}

func files(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, Folder))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	r := record(t)
	r.Request.ID = "a:b"
	ref, err := s.Write(r)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, filepath.FromSlash(ref.Path))
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	if ref.SHA256 != hex.EncodeToString(sum[:]) || ref.Path != "files/parent-tools/a=3ab.json" || !ref.Valid() {
		t.Errorf("reference %+v", ref)
	}
	if ref.Kind != "tool-call-transcript" || string(text) != mustEncode(t, r) {
		t.Errorf("kind %s, text %s", ref.Kind, text)
	}
	for path, want := range map[string]fs.FileMode{path: 0o600, filepath.Dir(path): fs.ModeDir | 0o700} {
		if info, err := os.Lstat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	// A second one under that name does not replace the first.
	r.Took++
	if ref, err := s.Write(r); !errors.Is(err, fs.ErrExist) || ref.Kind != "" {
		t.Errorf("again: %+v, %v", ref, err)
	}
	if again, _ := os.ReadFile(path); string(again) != string(text) {
		t.Error("the first one changed")
	}
}

// No link is followed, and nothing is written where others may write.
func TestRefusedPlaces(t *testing.T) {
	outside := t.TempDir()
	for name, prepare := range map[string]func(dir string) error{
		"files is a link": func(dir string) error { return os.Symlink(outside, filepath.Join(dir, "files")) },
		"its folder is a link": func(dir string) error {
			return errors.Join(os.Mkdir(filepath.Join(dir, "files"), 0o700), os.Symlink(outside, filepath.Join(dir, Folder)))
		},
		"files is a file":  func(dir string) error { return os.WriteFile(filepath.Join(dir, "files"), nil, 0o600) },
		"others may write": func(dir string) error { return os.Chmod(dir, 0o777) },
		"the group may":    func(dir string) error { return os.Chmod(dir, 0o770) },
		"others write files": func(dir string) error {
			return errors.Join(os.Mkdir(dir+"/files", 0o700), os.Chmod(dir+"/files", 0o777))
		},
	} {
		dir := t.TempDir()
		if s, err := Open(dir, nil, Options{}); err != nil {
			t.Fatalf("control: %v", err)
		} else if err := errors.Join(s.Close(), os.RemoveAll(dir+"/files")); err != nil {
			t.Fatal(err)
		}
		if err := prepare(dir); err != nil {
			t.Fatal(err)
		}
		if s, err := Open(dir, nil, Options{}); err == nil || s != nil {
			t.Errorf("%s: opened", name)
		}
	}
	if _, err := Open(filepath.Join(outside, "missing"), nil, Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	dir := t.TempDir()
	s := open(t, dir, Options{})
	target := filepath.Join(outside, "target")
	if err := os.Symlink(target, filepath.Join(dir, Folder, "ptr_1.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write(record(t)); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a link has the name: %v", err)
	}
	// The directory is the one that was opened, whatever has its name by now.
	if err := errors.Join(os.Rename(dir+"/files", dir+"/moved"), os.Symlink(outside, dir+"/files")); err != nil {
		t.Fatal(err)
	}
	r := record(t)
	r.Request.ID = "ptr_2"
	if _, err := s.Write(r); err != nil {
		t.Errorf("control: %v", err)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 0 {
		t.Errorf("written outside: %v, %v", entries, err)
	}
	if _, err := os.Stat(dir + "/moved/parent-tools/ptr_2.json"); err != nil {
		t.Error(err)
	}
}

// A disk that is full in the middle of a file leaves no part of it.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	writes := 0
	s.write = func(fd int, p []byte) (int, error) {
		if writes++; writes > 1 {
			return 0, unix.ENOSPC
		}
		return unix.Write(fd, p[:10])
	}
	ref, err := s.Write(record(t))
	if !errors.Is(err, unix.ENOSPC) || ref.Path != "" {
		t.Errorf("got %+v, %v", ref, err)
	}
	if strings.Contains(fmt.Sprint(err), dir) {
		t.Errorf("%v names a path of the host", err)
	}
	if got := files(t, dir); len(got) != 0 {
		t.Errorf("left %q", got)
	}
	s.write = unix.Write
	if _, err := s.Write(record(t)); err != nil {
		t.Errorf("control: %v", err)
	}
}

// The same from the kernel: a limit on the size of files (setrlimit(2), EFBIG).
func TestFileLimit(t *testing.T) {
	if dir := os.Getenv(inside); dir != "" {
		signal.Ignore(unix.SIGXFSZ)
		lim := unix.Rlimit{Cur: 100, Max: 100}
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &lim); err != nil {
			t.Fatal(err)
		}
		_, err := open(t, dir, Options{}).Write(record(t))
		if !errors.Is(err, unix.EFBIG) {
			t.Fatalf("got %v", err)
		}
		return
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestFileLimit$")
	cmd.Env = append(os.Environ(), inside+"="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := files(t, dir); len(got) != 0 {
		t.Errorf("left %q", got)
	}
}

func TestTotal(t *testing.T) {
	s := open(t, t.TempDir(), Options{Total: 3*block - 1})
	for i, want := range []error{nil, nil, ErrFull} {
		r := record(t)
		r.Request.ID = fmt.Sprintf("ptr_%d", i)
		if _, err := s.Write(r); !errors.Is(err, want) {
			t.Errorf("%d: %v, want %v", i, err, want)
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	var mu sync.Mutex
	written, refused := 0, 0
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 20 {
				r := record(t)
				r.Request.ID = fmt.Sprintf("ptr_%d", (g*20+i)/2) // each id twice
				_, err := s.Write(r)
				mu.Lock()
				if err == nil {
					written++
				} else if errors.Is(err, fs.ErrExist) {
					refused++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if written != 80 || refused != 80 || len(files(t, dir)) != 80 {
		t.Errorf("written %d, refused %d, files %d", written, refused, len(files(t, dir)))
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	r := record(t)
	r.Request.ID = "late"
	if _, err := s.Write(r); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	if _, err := s.Write(Record{}); err == nil {
		t.Error("nothing is a call")
	}
}

func TestNoDescriptorIsLeft(t *testing.T) {
	count := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	base := count()
	dir := t.TempDir()
	for range 20 {
		s, err := Open(dir, nil, Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Write(record(t))
		if e := s.Close(); e != nil || err != nil && !errors.Is(err, fs.ErrExist) {
			t.Fatal(e, err)
		}
	}
	if n := count(); n > base {
		t.Errorf("%d descriptors, %d before", n, base)
	}
}

func BenchmarkWrite(b *testing.B) {
	s := open(b, b.TempDir(), Options{})
	r := record(b)
	for i := range b.N {
		r.Request.ID = fmt.Sprintf("ptr_%d", i)
		if _, err := s.Write(r); err != nil {
			b.Fatal(err)
		}
	}
}
