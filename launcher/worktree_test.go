package launcher

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// within fails a test whose f does not return: a FIFO must not hold up a start.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s: no answer", what)
	}
}

func TestWorktreeDirsOfHostileFiles(t *testing.T) {
	base := resolved(t.TempDir())
	main, wt := base+"/main", base+"/wt"
	git := main + "/.git/worktrees/wt"
	reset := func(t *testing.T) {
		t.Helper()
		for _, dir := range []string{main, wt} {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
		for _, dir := range []string{git, wt} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		write(t, wt+"/.git", "gitdir: "+git+"\n")
		write(t, git+"/gitdir", wt+"/.git\n")
		write(t, git+"/commondir", "../..\n")
	}
	replace := func(t *testing.T, file string, mk func(string) error) {
		t.Helper()
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if err := mk(file); err != nil {
			t.Fatal(err)
		}
	}
	fifo := func(file string) error { return unix.Mkfifo(file, 0o600) }
	huge := func(file string) error {
		if err := os.WriteFile(file, []byte("gitdir: "+git+"\n"), 0o600); err != nil {
			return err
		}
		return os.Truncate(file, 1<<40)
	}
	for name, hostile := range map[string]func(t *testing.T){
		"no link back":                func(t *testing.T) { replace(t, git+"/gitdir", func(string) error { return nil }) },
		"a link back to another file": func(t *testing.T) { write(t, git+"/gitdir", base+"/other/.git\n") },
		"the .git file is a link": func(t *testing.T) {
			replace(t, wt+"/.git", func(f string) error { return os.Symlink(base+"/elsewhere", f) })
		},
		"the .git file is a FIFO":      func(t *testing.T) { replace(t, wt+"/.git", fifo) },
		"the .git file is huge":        func(t *testing.T) { replace(t, wt+"/.git", huge) },
		"the link back is a FIFO":      func(t *testing.T) { replace(t, git+"/gitdir", fifo) },
		"the link back is huge":        func(t *testing.T) { replace(t, git+"/gitdir", huge) },
		"commondir is a FIFO":          func(t *testing.T) { replace(t, git+"/commondir", fifo) },
		"commondir leads elsewhere":    func(t *testing.T) { write(t, git+"/commondir", "/etc\n") },
		"commondir is missing":         func(t *testing.T) { replace(t, git+"/commondir", func(string) error { return nil }) },
		"gitdir names the root":        func(t *testing.T) { write(t, wt+"/.git", "gitdir: /\n") },
		"gitdir names the home folder": func(t *testing.T) { write(t, wt+"/.git", "gitdir: "+base+"\n") },
		"no gitdir line":               func(t *testing.T) { write(t, wt+"/.git", "worktree: "+git+"\n") },
	} {
		t.Run(name, func(t *testing.T) {
			reset(t)
			if got := worktreeDirs(wt); !cmp.Equal(got, []string{main + "/.git"}) { // positive control
				t.Fatalf("a real worktree: %q", got)
			}
			hostile(t)
			within(t, name, func() {
				if got := worktreeDirs(wt); len(got) != 0 {
					t.Errorf("granted %q", got)
				}
			})
		})
	}
	if got := worktreeDirs(""); got != nil {
		t.Errorf("outside a checkout: %q", got)
	}
	if got := worktreeDirs(main); got != nil {
		t.Errorf("an ordinary checkout: %q", got)
	}
}

func TestWorktreeDirsOfRealGit(t *testing.T) {
	git := needs.Tool(t, "git")
	dir := resolved(t.TempDir())
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command(git, args...)
		cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	run("init", "-q", dir+"/main")
	run("-C", dir+"/main", "-c", "user.name=a", "-c", "user.email=b", "commit", "-q", "--allow-empty", "-m", "x")
	run("-C", dir+"/main", "worktree", "add", "-q", dir+"/wt")
	if got := worktreeDirs(dir + "/wt"); !cmp.Equal(got, []string{dir + "/main/.git"}) {
		t.Errorf("got %q, want the common directory", got)
	}
}

func TestReadSmallReadsOnlySmallRegularFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/huge", "x")
	if err := os.Truncate(dir+"/huge", maxSmall+1); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(dir+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{dir + "/huge", dir + "/fifo", dir, dir + "/missing", "/dev/zero"} {
		within(t, name, func() {
			if got := readSmall(name); got != "" {
				t.Errorf("readSmall(%q) gave %d bytes", name, len(got))
			}
		})
	}
	long := strings.Repeat("0123456789", 1000)
	write(t, dir+"/long", long)
	if got := readSmall(dir + "/long"); got != long {
		t.Errorf("%d bytes of %d", len(got), len(long))
	}
	if got := readSmall("/proc/self/status"); !strings.HasPrefix(got, "Name:") {
		t.Errorf("a file of size 0 in /proc: %q", got)
	}
	if got := readSmall(filepath.Join(dir, "long") + "\x00"); got != "" {
		t.Errorf("a name with a NUL byte: %q", got)
	}
}
