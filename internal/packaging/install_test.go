package packaging

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

const (
	root    = "../.."
	listing = "testdata/installed.txt"
)

var update = flag.Bool("update", false, "write testdata/installed.txt")

// programs makes a folder as make build does: the command and its helper for the host's
// side are real, the others stand-ins.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "brainbox-packaging-")
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-trimpath", "-tags", "urfave_cli_no_docs", "-o", dir+"/", "./cmd/brainbox", "./cmd/brainbox-host")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("go build: %w\n%s", err, out)
	}
	for _, name := range []string{"brainbox-exec", "brainbox-kill", "brainbox-mcp", "brainbox-seccomp"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o700); err != nil {
			return dir, err
		}
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	status := m.Run()
	if dir, _ := programs(); dir != "" {
		_ = os.RemoveAll(dir)
	}
	os.Exit(status)
}

// install runs hack/install with a umask and returns DESTDIR and PREFIX together.
func install(t *testing.T, umask int, dest string, flags ...string) string {
	t.Helper()
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-c", fmt.Sprintf(`umask %04o; exec hack/install "$@"`, umask), "sh"}, flags...)
	cmd := exec.CommandContext(t.Context(), "/bin/sh", append(args, bin, dest, "/opt/box")...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("hack/install %q: %v\n%s", flags, err, out)
	}
	return filepath.Join(dest, "opt/box")
}

// installed lists what lies below a folder, a line each: mode, name, where a link leads.
// Of the documents in docs only their number is told.
func installed(t *testing.T, dir string) string {
	t.Helper()
	var lines []string
	docs := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		name, mode := strings.TrimPrefix(path, dir), st.Mode&0o7777
		switch {
		case d.IsDir():
			lines = append(lines, fmt.Sprintf("%04o %s/", mode, name))
		case d.Type() == fs.ModeSymlink:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			lines = append(lines, fmt.Sprintf("link %s -> %s", name, to))
		case strings.HasPrefix(name, "/share/doc/brainbox/docs/") && mode == 0o644:
			docs++
		default:
			lines = append(lines, fmt.Sprintf("%04o %s", mode, name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if pages, _ := filepath.Glob(root + "/docs/*.md"); docs != len(pages) || docs == 0 {
		t.Errorf("%d documents are installed, there are %d", docs, len(pages))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}

// TestInstalledFiles has the same files with the same modes under every umask, and none
// of them set-uid or set-gid, or writable by others.
func TestInstalledFiles(t *testing.T) {
	got := installed(t, install(t, 0o022, t.TempDir()))
	if *update {
		if err := os.WriteFile(listing, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(listing)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", listing, diff)
	}
	for line := range strings.Lines(got) {
		if mode, _, _ := strings.Cut(line, " "); !slices.Contains([]string{"0644", "0755", "link"}, mode) {
			t.Errorf("mode: %q", line)
		}
	}
	for _, umask := range []int{0o077, 0o000} {
		if diff := cmp.Diff(got, installed(t, install(t, umask, t.TempDir()))); diff != "" {
			t.Errorf("umask %04o (-022 +this):\n%s", umask, diff)
		}
	}
}

// TestInstalledOverAnOlderOne: helpers of another version that lie beside brainbox, where
// it looks first, go; a set-uid bit that somebody gave is not kept, a folder's mode is.
func TestInstalledOverAnOlderOne(t *testing.T) {
	dest := t.TempDir()
	dir := install(t, 0o022, dest)
	for name, mode := range map[string]uint32{"bin/brainbox-host": 0o755, "bin/brainbox-exec": 0o4755, "bin/other": 0o755} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := unix.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Chmod(filepath.Join(dir, "bin"), 0o2775); err != nil {
		t.Fatal(err)
	}
	install(t, 0o022, dest)
	got := installed(t, dir)
	for _, line := range []string{"2775 /bin/", "0755 /bin/other", "0755 /bin/brainbox-exec"} {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("no %q in\n%s", line, got)
		}
	}
	if strings.Contains(got, "/bin/brainbox-host") {
		t.Errorf("the older helper is still there:\n%s", got)
	}
}

// TestUninstalled leaves what is somebody else's.
func TestUninstalled(t *testing.T) {
	dest := t.TempDir()
	dir := install(t, 0o022, dest)
	own := filepath.Join(dir, "bin/own")
	if err := os.WriteFile(own, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	install(t, 0o022, dest, "-u")
	var left []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if name := strings.TrimPrefix(path, dir); err == nil && (!d.IsDir() || strings.Contains(name, "brainbox")) {
			left = append(left, name)
		}
		return err
	})
	if diff := cmp.Diff([]string{"/bin/own"}, left); err != nil || diff != "" {
		t.Errorf("%v (-want +left):\n%s", err, diff)
	}
	install(t, 0o022, dest, "-u") // nothing is there: no error
}

// TestInstalledProgramRuns starts what was installed, and what it starts from libexec.
func TestInstalledProgramRuns(t *testing.T) {
	needs.LandlockABI(t, 6)
	needs.Seccomp(t)
	dir := install(t, 0o077, t.TempDir())
	work := t.TempDir()
	run := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "bin/brainbox"), args...)
		cmd.Dir = work
		cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir()}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run("run", "--isolation", "landlock", "-q", "--", "sh", "-c", "echo inside >f; cat f"); err != nil || out != "inside\n" {
		t.Errorf("%v, %q", err, out)
	}
	if text, err := os.ReadFile(filepath.Join(work, "f")); err != nil || !bytes.Equal(text, []byte("inside\n")) {
		t.Errorf("the file: %q, %v", text, err)
	}
	rules := filepath.Join(work, "rules.json")
	if err := os.WriteFile(rules, []byte(`{"bash":{"*":"allow","git push":"deny"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	ask := []string{"why", "--gate", rules, "tool", "bash", "git push"}
	out, err := run(ask...)
	if err == nil || !strings.Contains(out, "denied") {
		t.Errorf("%q: %v, %q", ask, err, out)
	}
	if err := os.Remove(filepath.Join(dir, "libexec/brainbox/brainbox-host")); err != nil {
		t.Fatal(err)
	}
	if out, err := run(ask...); err == nil || !strings.Contains(out, "the helper brainbox-host is not beside") {
		t.Errorf("without its helper: %v, %q", err, out)
	}
}
