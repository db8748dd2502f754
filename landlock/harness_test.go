package landlock

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"

	"brainbox/internal/needs"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// rootMark hands the folder with the zones to the child.
const rootMark = "BRAINBOX_LANDLOCK_ROOT"

// A zone is a folder with the same content as every other; what the child may do
// there is what the zones differ in.
const (
	zoneOut   = "out" // no rule
	zoneRead  = "ro"  // Read
	zoneExec  = "x"   // Exec
	zoneWrite = "w"   // Write
	zoneAlso  = "w2"  // Write
	zoneFull  = "wx"  // WriteExec
	script    = "#!/bin/sh\nexit 0\n"
	canary    = "canary"
)

func zones() []string {
	return []string{zoneOut, zoneRead, zoneExec, zoneWrite, zoneAlso, zoneFull}
}

// layout makes the zones below root.
func layout(t *testing.T, root string) {
	t.Helper()
	for _, zone := range zones() {
		at := filepath.Join(root, zone)
		for _, dir := range []string{"", "dir", "empty"} {
			must(t, os.Mkdir(filepath.Join(at, dir), 0o755))
		}
		for _, name := range []string{"f", "g", "dir/f"} {
			must(t, os.WriteFile(filepath.Join(at, name), []byte(canary), 0o644))
		}
		must(t, os.WriteFile(filepath.Join(at, "prog"), []byte(script), 0o755))
		must(t, unix.Mkfifo(filepath.Join(at, "fifo"), 0o644))
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// snapshot describes every name below the given zones: mode, links, and content.
func snapshot(t *testing.T, root string, zones ...string) map[string]string {
	t.Helper()
	seen := map[string]string{}
	entries, err := os.ReadDir(root)
	must(t, err)
	for _, e := range entries {
		seen[e.Name()] = e.Type().String()
	}
	for _, zone := range zones {
		must(t, filepath.WalkDir(filepath.Join(root, zone), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			var st unix.Stat_t
			if err := unix.Lstat(path, &st); err != nil {
				return err
			}
			text := fmt.Sprintf("mode %o links %d", st.Mode, st.Nlink)
			if d.Type().IsRegular() {
				content, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				text += fmt.Sprintf(" %d bytes %x", len(content), sha256.Sum256(content))
			}
			seen[path] = text
			return nil
		}))
	}
	return seen
}

// rules are what the child of every test has: the zones, and what it takes to
// start a program.
func rules(t *testing.T, root string) []Rule {
	t.Helper()
	var list []Rule
	for zone, right := range map[string]Right{
		zoneRead: Read, zoneExec: Exec, zoneWrite: Write, zoneAlso: Write, zoneFull: WriteExec,
	} {
		list = append(list, Rule{FD: hold(t, filepath.Join(root, zone)), Dir: true, Right: right})
	}
	list = append(list, Rule{FD: hold(t, "/proc"), Dir: true, Right: Read})
	return append(list, programs(t)...)
}

// confine puts the calling goroutine's thread under the Spec, for good.
func confine(t *testing.T, spec Spec) {
	t.Helper()
	sup, err := Probe()
	must(t, err)
	spec.Degraded = all()
	fd, err := Build(spec, sup)
	must(t, err)
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	must(t, unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	must(t, RestrictThreadIrreversibly(fd))
	must(t, unix.Close(fd))
}

// place is a zone in the child's eyes.
type place struct{ root, zone string }

func (p place) at(name string) string       { return filepath.Join(p.root, p.zone, name) }
func (p place) in(zone, name string) string { return filepath.Join(p.root, zone, name) }

// attempt is one case: the same operation is refused in some zones and works in
// another, in one child process.
type attempt struct {
	name    string // begins with the vector's id
	abi     int
	refused []string
	works   string
	want    []unix.Errno
	// prepare runs before the child is confined; what it returns runs after.
	prepare func(t *testing.T, p place) func() error
}

// now is an attempt that prepares nothing.
func now(do func(p place) error) func(*testing.T, place) func() error {
	return func(_ *testing.T, p place) func() error {
		return func() error { return do(p) }
	}
}

// run runs the case, and judges it from outside: nothing has changed in the
// zones that refuse.
func (a attempt) run(t *testing.T) {
	needs.LandlockABI(t, a.abi)
	if needs.IsChild(t) {
		a.child(t, os.Getenv(rootMark))
		return
	}
	root := t.TempDir()
	layout(t, root)
	before := snapshot(t, root, a.refused...)
	needs.RunChild(t, rootMark+"="+root)
	if diff := cmp.Diff(before, snapshot(t, root, a.refused...)); diff != "" {
		t.Errorf("the child changed what it must not (-before +after):\n%s", diff)
	}
}

func (a attempt) child(t *testing.T, root string) {
	t.Helper()
	do := map[string]func() error{}
	for _, zone := range append(slices.Clone(a.refused), a.works) {
		do[zone] = a.prepare(t, place{root, zone})
	}
	confine(t, Spec{Rules: rules(t, root)})
	for _, zone := range a.refused {
		err := do[zone]()
		if !slices.Contains(a.want, errno(err)) {
			t.Errorf("in %s: %v, want one of %v", zone, err, a.want)
		}
	}
	if err := do[a.works](); err != nil {
		t.Errorf("control in %s: %v", a.works, err)
	}
}

// errno is the system call's error in err, or 0.
func errno(err error) unix.Errno {
	var e syscall.Errno
	if !errors.As(err, &e) {
		return 0
	}
	return e
}

// open opens and closes a path.
func open(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC|unix.O_NONBLOCK, 0o644)
	if err != nil {
		return fmt.Errorf("open %q %#x: %w", path, flags, err)
	}
	return unix.Close(fd)
}

// runChild makes the zones and runs body in a child with them. It returns the
// zones' folder in the first process, and "" in the child, which is done then.
func runChild(t *testing.T, abi int, body func(root string), env ...string) string {
	t.Helper()
	needs.LandlockABI(t, abi)
	if needs.IsChild(t) {
		body(os.Getenv(rootMark))
		return ""
	}
	root := t.TempDir()
	layout(t, root)
	needs.RunChild(t, append(env, rootMark+"="+root)...)
	return root
}

// wantErrno reports an operation that did not end as it must; 0 is success.
func wantErrno(t *testing.T, what string, err error, want ...unix.Errno) {
	t.Helper()
	if got := errno(err); (err != nil) != (got != 0) || !slices.Contains(want, got) {
		t.Errorf("%s: %v, want one of %d %v", what, err, want, want)
	}
}
