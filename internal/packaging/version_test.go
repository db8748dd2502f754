package packaging

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"brainbox/internal/needs"
)

// sources makes a folder as of a source archive: hack/version and what it reads.
func sources(t *testing.T, version string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"hack/version", "debian/changelog", "go.mod"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err == nil {
			err = os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if version != "" {
		if err := os.WriteFile(filepath.Join(dir, "VERSION"), []byte(version+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func versionOf(t *testing.T, dir string, flags ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "hack/version", flags...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "VERSION=", "HOME="+dir)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("hack/version %q: %v", flags, err)
	}
	return strings.TrimSuffix(string(out), "\n")
}

// TestVersionOfASourceArchive is the file's, or none; never that of a checkout around it.
func TestVersionOfASourceArchive(t *testing.T) {
	git := needs.Tool(t, "git")
	dir := sources(t, "v1.2.3")
	if got := versionOf(t, dir); got != "v1.2.3" {
		t.Errorf("with VERSION: %q", got)
	}
	plain := sources(t, "")
	if got := versionOf(t, plain); got != "devel" {
		t.Errorf("without: %q", got)
	}
	in := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), git, append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-C", filepath.Dir(plain)}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	in("init", "-q")
	in("commit", "-q", "--allow-empty", "-m", "outer")
	in("tag", "v9")
	if got := versionOf(t, plain); got != "devel" {
		t.Errorf("inside another checkout: %q", got)
	}
	in("-C", plain, "init", "-q")
	in("-C", plain, "add", ".")
	in("-C", plain, "commit", "-q", "-m", "own")
	in("-C", plain, "tag", "v1.2-rc1")
	if got := versionOf(t, plain); got != "v1.2-rc1" {
		t.Errorf("a checkout of its own: %q", got)
	}
	if got := versionOf(t, plain, "-d"); got != "1.2~rc1" {
		t.Errorf("for Debian: %q", got)
	}
}

// TestVersionForDebian sorts as time does.
func TestVersionForDebian(t *testing.T) {
	dpkg := needs.Program(t, "dpkg")
	form := regexp.MustCompile(`^[0-9][0-9A-Za-z.+~]*$`) // native: no hyphen
	before := ""
	for _, test := range []struct{ name, want string }{
		{"devel", "0.1.0~dev"},
		{"0123456789ab", ""}, // with the time
		{"v0.1.0", "0.1.0"},
		{"v0.1.0-3-g0123456789ab", "0.1.0+3.g0123456789ab"},
		{"v0.1.0-3-g0123456789ab-dirty", "0.1.0+3.g0123456789ab+dirty"},
		{"v0.2.0-rc1", "0.2.0~rc1"},
		{"v0.2.0-rc1-2-g0123456789ab", "0.2.0~rc1+2.g0123456789ab"},
		{"v0.2.0", "0.2.0"},
	} {
		got := versionOf(t, sources(t, test.name), "-d")
		if test.want != "" && got != test.want || !form.MatchString(got) {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
		if before != "" && exec.CommandContext(t.Context(), dpkg, "--compare-versions", before, "lt", got).Run() != nil {
			t.Errorf("%s does not come after %s", got, before)
		}
		before = got
	}
}
