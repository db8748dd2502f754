package integration

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"brainbox/internal/needs"
)

// otherUser is an ordinary user that needs no entry in /etc/passwd.
const otherUser = 54321

// passedLine is a verdict of package testing.
var passedLine = regexp.MustCompile(`(?m)^--- PASS: Test`)

// TestAsOrdinaryUser runs all tests of this package again as an ordinary user, with
// copied binaries, an own home and no Go tool chain.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Getenv(uidVariable) != "" {
		t.Skip("this is the run as an ordinary user") // gating: the root run asks for it
	}
	needs.Root(t)
	dir, err := os.MkdirTemp("", "brainbox-user-") //nolint:usetesting // the user cannot reach t.TempDir
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	self, err := os.Executable()
	must(t, err)
	test, progs := filepath.Join(dir, "integration.test"), filepath.Join(dir, "bin")
	copyProgram(t, self, test)
	must(t, os.Mkdir(progs, 0o755))
	for _, p := range programs {
		copyProgram(t, program(filepath.Base(p)), filepath.Join(progs, filepath.Base(p)))
	}
	env := []string{"PATH=/usr/local/bin:/usr/bin:/bin", binVariable + "=" + progs, uidVariable + "=" + itoa(otherUser)}
	for _, name := range []string{"HOME", "TMPDIR"} {
		own := filepath.Join(dir, strings.ToLower(name))
		must(t, os.Mkdir(own, 0o700))
		must(t, os.Chown(own, otherUser, otherUser))
		env = append(env, name+"="+own)
	}
	args := []string{"-test.v", "-test.count=1", "-test.timeout=20m"}
	if testing.Short() {
		args = append(args, "-test.short")
	}
	cmd := exec.Command(test, args...)
	cmd.Dir, cmd.Env = dir, append(env, userMust()...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: otherUser, Gid: otherUser}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("as uid %d: %v\n%s", otherUser, err, failures(string(out)))
	}
	if n := len(passedLine.FindAllString(string(out), -1)); n < 10 {
		t.Errorf("as uid %d: only %d tests passed\n%s", otherUser, n, out)
	}
}

// userMust is what must run for the ordinary user: all of the list but root's own.
func userMust() []string {
	var words []string
	for _, w := range strings.FieldsFunc(os.Getenv(needs.MustRun), func(r rune) bool { return r == ',' || r == ' ' }) {
		switch w {
		case "root", "cgroup-kill", "cgroup-memory", "overlay", "casefold", "btrfs":
		default:
			words = append(words, w)
		}
	}
	if len(words) == 0 {
		return nil
	}
	return []string{needs.MustRun + "=" + strings.Join(words, ",")}
}

// failures keeps the lines that say what failed.
func failures(out string) string {
	var keep []string
	for line := range strings.Lines(out) {
		if !strings.Contains(line, "--- PASS") && !strings.Contains(line, "=== ") && !strings.Contains(line, "--- SKIP") {
			keep = append(keep, line)
		}
	}
	return strings.Join(keep, "")
}

func copyProgram(t testing.TB, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	must(t, err)
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	must(t, err)
	_, err = io.Copy(out, in)
	must(t, err)
	must(t, out.Chmod(0o755))
	must(t, out.Close())
}
