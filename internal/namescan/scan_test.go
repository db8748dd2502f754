package namescan

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

func open(t testing.TB, dir string) int {
	t.Helper()
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	return fd
}

// build makes a tree: a name that ends in "/" is a folder, "a -> b" a link, "a =" a socket
// and "a |" a FIFO; everything else is a file.
func build(t testing.TB, top string, names ...string) {
	t.Helper()
	for _, n := range names {
		path, err := top+"/"+n, error(nil)
		name, target, isLink := strings.Cut(path, " -> ")
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		switch {
		case isLink:
			err = os.Symlink(target, name)
		case strings.HasSuffix(n, "/"):
			err = os.MkdirAll(path, 0o755)
		case strings.HasSuffix(n, " ="):
			socket(t, strings.TrimSuffix(path, " ="))
		case strings.HasSuffix(n, " |"):
			err = unix.Mkfifo(strings.TrimSuffix(path, " |"), 0o600)
		default:
			err = os.WriteFile(path, nil, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// socket leaves a socket file. Its path may be longer than the 107 bytes of unix(7).
func socket(t testing.TB, path string) {
	t.Helper()
	dir := open(t, filepath.Dir(path))
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: "/proc/self/fd/" + itoa(dir) + "/" + filepath.Base(path), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	t.Cleanup(func() { _ = l.Close() })
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + itoa(n%10)
}

func scan(t testing.TB, dir string, o Options) Result {
	t.Helper()
	res, err := Scan(open(t, dir), o)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(res.Git, byPath)
	slices.SortFunc(res.Names, byPath)
	for _, list := range [][]string{res.Sockets, res.Unsure, res.Mounts, res.Unread} {
		slices.Sort(list)
	}
	return res
}

func byPath(a, b Found) int { return strings.Compare(a.Path, b.Path) }

func TestScanFindsRepositoriesAndSockets(t *testing.T) {
	top := t.TempDir()
	build(t, top, "a.go", ".git/config", ".git/hooks/pre-commit", "sub/.git", "vendor/x/y/.git/HEAD",
		"link/.git -> ../elsewhere", "run/db.sock =", "run/deep/er/s =", "x.sock =", "pipe |", ".gitignore", "deps/.github/w.yml",
		"away -> /etc", "dead -> nowhere", "..x/.git/HEAD", "...")
	got := scan(t, top, Options{})
	want := Result{
		Git: []Found{
			{"..x/.git", Folder},
			{".git", Folder},
			{"link/.git", Link},
			{"sub/.git", File},
			{"vendor/x/y/.git", Folder},
		},
		Sockets: []string{"run/db.sock", "run/deep/er/s", "x.sock"},
		Count:   26,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("scan (-want +got):\n%s", diff)
	}
}

func TestScanKnowsWhichNamesExist(t *testing.T) {
	top := t.TempDir()
	build(t, top, ".envrc", ".vscode/", ".npmrc -> x", "conf -> real", "real/git", ".config/other", "file", "deep/a/b/", ".git/hooks/")
	got := scan(t, top, Options{
		Names: []string{".envrc", ".vscode", ".npmrc", ".idea", "conf/git", "real/git", ".config/git", "file/x", "none/git", "deep/a/b/c/d", ".git/hooks", "skipped/x"},
		Skip:  []string{"deep/a"},
	})
	want := []Found{{".envrc", File}, {".npmrc", Link}, {".vscode", Folder}, {"real/git", File}}
	if diff := cmp.Diff(want, got.Names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{".git/hooks", "conf/git", "deep/a/b/c/d"}, got.Unsure); diff != "" {
		t.Errorf("unsure (-want +got):\n%s", diff)
	}
}

func TestScanStopsAtTheMost(t *testing.T) {
	top := t.TempDir()
	build(t, top, "a/1", "a/2", "b/.git/HEAD", "b/c/.git/HEAD", "d/s =")
	all := scan(t, top, Options{})
	for most := 1; most <= all.Count+1; most++ {
		got := scan(t, top, Options{Max: most, Names: []string{"a/1", "a/none"}})
		if most >= all.Count {
			if got.Partial || got.Stopped != "" || len(got.Git) != 2 || len(got.Unsure) != 0 {
				t.Errorf("all %d names may be read: %+v", most, got)
			}
			continue
		}
		if got.Count != most || !got.Partial || got.Stopped == "" {
			t.Errorf("%d names may be read: %+v", most, got)
		}
		if most < 3 && got.Stopped != "." || most == 3 && got.Stopped == "." {
			t.Errorf("after %d names it stopped in %q", most, got.Stopped)
		}
		if most < 3 && len(got.Names)+len(got.Unsure) != 2 {
			t.Errorf("%d names may be read: names %v, unsure %v", most, got.Names, got.Unsure)
		}
	}
}

func TestScanFlatReadsOneFolder(t *testing.T) {
	top := t.TempDir()
	build(t, top, "a/.git/HEAD", ".git", "s =", "b/c")
	got := scan(t, top, Options{Flat: true, Names: []string{"s", "b/c", "z"}})
	if got.Count != 4 || len(got.Git) != 1 || len(got.Sockets) != 1 || got.Partial {
		t.Errorf("%+v", got)
	}
	if !slices.Equal(got.Unsure, []string{"b/c"}) || len(got.Names) != 1 {
		t.Errorf("names %v, unsure %v", got.Names, got.Unsure)
	}
	all := scan(t, top, Options{Flat: true, All: true})
	if diff := cmp.Diff([]Found{{".git", File}, {"a", Folder}, {"b", Folder}, {"s", Socket}}, all.Names); diff != "" {
		t.Errorf("all names (-want +got):\n%s", diff)
	}
}

func TestScanNotesUnreadableFolders(t *testing.T) {
	needs.User(t)
	top := t.TempDir()
	build(t, top, "open/.git/HEAD", "closed/.git/HEAD", "blind/.git/HEAD")
	for name, mode := range map[string]fs.FileMode{"closed": 0, "blind": 0o111} {
		if err := os.Chmod(top+"/"+name, mode); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(top+"/"+name, 0o700) })
	}
	got := scan(t, top, Options{Names: []string{"closed/x", "open/x"}})
	if !slices.Equal(got.Unread, []string{"blind", "closed"}) || len(got.Git) != 1 || !slices.Equal(got.Unsure, []string{"closed/x"}) {
		t.Errorf("%+v", got)
	}
}

func TestScanOfNoFolderIsAnError(t *testing.T) {
	build(t, t.TempDir())
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if _, err := Scan(fd, Options{}); err == nil {
		t.Error("a file was scanned")
	}
	if _, err := Scan(-1, Options{}); err == nil {
		t.Error("no descriptor was scanned")
	}
}

// A folder with more names than one buffer holds is read to its end.
func TestScanReadsLargeFolders(t *testing.T) {
	if testing.Short() {
		t.Skip("makes many files") // gating: -short
	}
	top := t.TempDir()
	long := strings.Repeat("n", 200)
	for i := range 2000 {
		build(t, top, long+itoa(i))
	}
	build(t, top, "zz/.git/HEAD")
	if got := scan(t, top, Options{}); got.Count != 2002 || len(got.Git) != 1 {
		t.Errorf("%+v", got)
	}
}

// A path that the kernel cannot take any more is told, and ends nothing else.
func TestScanOfADeepTree(t *testing.T) {
	needs.Kernel(t) // openat2(2): without it no path is too long
	top := t.TempDir()
	dir, err := unix.Open(top, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.Repeat("d", 250)
	for range 20 {
		if err := unix.Mkdirat(dir, name, 0o755); err != nil {
			t.Fatal(err)
		}
		next, err := unix.Openat(dir, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		_ = unix.Close(dir)
		dir = next
	}
	_ = unix.Close(dir)
	build(t, top, "z/.git/HEAD")
	got := scan(t, top, Options{})
	if len(got.Unread) != 1 || len(got.Git) != 1 || len(got.Unread[0]) < 4000 {
		t.Errorf("unread %d, git %v", len(got.Unread), got.Git)
	}
}
