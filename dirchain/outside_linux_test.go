package dirchain

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// outside watches directories that no operation may touch: every event of the
// kernel counts, so that what was made and removed again is seen too, and so is
// a file that was only opened. What is there is compared as well.
type outside struct {
	dirs   []string
	fd     int
	names  map[int32]string
	before map[string]string
}

// allEvents leaves out the closing of what was opened.
const allEvents = unix.IN_ALL_EVENTS &^ unix.IN_CLOSE

func watch(t *testing.T, dirs ...string) *outside {
	t.Helper()
	o := &outside{dirs: dirs, names: map[int32]string{}, before: manifest(t, dirs)}
	var err error
	if o.fd, err = unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(o.fd) })
	for name := range o.before {
		wd, err := unix.InotifyAddWatch(o.fd, name, allEvents|unix.IN_DONT_FOLLOW)
		if err != nil {
			t.Fatalf("watch %q: %v", name, err)
		}
		o.names[int32(wd)] = name
	}
	return o
}

// events are those since the last call. The kernel queues an event before the
// call that makes it returns, so there is nothing to wait for.
func (o *outside) events(t *testing.T) []string {
	t.Helper()
	var all []string
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.Read(o.fd, buf)
		if errors.Is(err, unix.EAGAIN) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		for b := buf[:n]; len(b) >= unix.SizeofInotifyEvent; {
			wd := int32(binary.NativeEndian.Uint32(b))
			mask, size := binary.NativeEndian.Uint32(b[4:]), binary.NativeEndian.Uint32(b[12:])
			name := string(bytes.TrimRight(b[16:16+size], "\x00"))
			all = append(all, fmt.Sprintf("%s/%s: %#x", o.names[wd], name, mask))
			b = b[16+size:]
		}
	}
}

// opened forgets that directories were opened, and only that.
func (o *outside) opened(t *testing.T) {
	t.Helper()
	for _, e := range o.events(t) {
		if !strings.HasSuffix(e, fmt.Sprintf("%#x", unix.IN_OPEN|unix.IN_ISDIR)) {
			t.Errorf("outside: %q", e)
		}
	}
}

// untouched fails the test when anything happened outside.
func (o *outside) untouched(t *testing.T) {
	t.Helper()
	if got := o.events(t); len(got) > 0 {
		t.Errorf("outside: %q", got)
	}
	if diff := cmp.Diff(o.before, manifest(t, o.dirs)); diff != "" {
		t.Errorf("outside (-before +after):\n%s", diff)
	}
	o.events(t) // the manifest has opened everything
}

// manifest describes everything beneath the directories.
func manifest(t *testing.T, dirs []string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			var st unix.Stat_t
			if err = unix.Lstat(path, &st); err != nil {
				return err
			}
			var content []byte
			switch st.Mode & unix.S_IFMT {
			case unix.S_IFREG:
				content, err = os.ReadFile(path)
			case unix.S_IFLNK:
				var to string
				to, err = os.Readlink(path)
				content = []byte(to)
			}
			all[path] = fmt.Sprintf("%#o %d:%d links %d inode %d size %d mtime %d ctime %d %s",
				st.Mode, st.Uid, st.Gid, st.Nlink, st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano(), Sum(content))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// ground is what the tests stand on: root/g/p/f with the text "old", and the same
// names outside with the text "secret".
type ground struct{ base, root, out string }

const target = "g/p/f"

func newGround(t *testing.T) ground {
	t.Helper()
	base := t.TempDir()
	g := ground{base, base + "/root", base + "/outside"}
	for dir, content := range map[string]string{g.root: "old", g.out: "secret"} {
		if err := os.MkdirAll(dir+"/g/p", 0o755); err != nil {
			t.Fatal(err)
		}
		putText(t, filepath.Join(dir, target), content)
	}
	putText(t, g.out+"/f", "secret")
	if err := os.Mkdir(g.root+"/g/e", 0o755); err != nil {
		t.Fatal(err)
	}
	return g
}

// inMemory puts the temporary directories of a test that makes thousands of trees
// on a tmpfs, where there is one.
func inMemory(t *testing.T) {
	t.Helper()
	var st unix.Statfs_t
	if unix.Statfs("/dev/shm", &st) == nil && st.Type == unix.TMPFS_MAGIC && unix.Access("/dev/shm", unix.W_OK) == nil {
		t.Setenv("TMPDIR", "/dev/shm")
	}
}

// in is a path beneath the root, to one outside.
func (g ground) in(path string) string { return filepath.Join(g.root, path) }
func (g ground) to(path string) string { return filepath.Join(g.out, path) }

func putText(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func symlink(t *testing.T, to, at string) {
	t.Helper()
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
}

// inside lists everything beneath dir, and what regular files hold; a link is
// not followed.
func inside(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, content := path[len(dir)+1:], e.Type().String()
		if e.Type().IsRegular() {
			var b []byte
			b, err = os.ReadFile(path)
			content = string(b)
		}
		all[name] = content
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// temps are the new files that were left.
func temps(all map[string]string) []string {
	var found []string
	for name := range all {
		if isTemp(filepath.Base(name)) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

func TestTheWatcherSeesWhatWasTakenBack(t *testing.T) {
	g := newGround(t)
	o := watch(t, g.out)
	o.untouched(t)
	for what, do := range map[string]func() error{
		"a file made and removed": func() error {
			return errors.Join(os.WriteFile(g.to("x"), nil, 0o600), os.Remove(g.to("x")))
		},
		"a directory":      func() error { return errors.Join(os.Mkdir(g.to("g/p/d"), 0o700), os.Remove(g.to("g/p/d"))) },
		"a file read":      func() error { _, err := os.ReadFile(g.to("f")); return err },
		"a mode set back":  func() error { return errors.Join(os.Chmod(g.to("f"), 0o600), os.Chmod(g.to("f"), 0o644)) },
		"a directory read": func() error { _, err := os.ReadDir(g.out); return err },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
		if len(o.events(t)) == 0 {
			t.Errorf("%s is not seen", what)
		}
	}
}
