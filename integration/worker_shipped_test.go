package integration

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestWorkerCannotBeMutated: the programs that are shipped have no word of a layer that could
// be left out, and those that the tests build have. bk/WP10 is the same from outside.
func TestWorkerCannotBeMutated(t *testing.T) {
	words := []string{
		"BRAINBOX_MUTATION", "skip-probe", "writable-repo", "no-landlock", "no-seccomp", "fifo-check", "fd-check",
		"keep-fds", "keep-caps", "share-user", "share-pid", "host-net", "host-scratch", "no-limits", "long-lines",
	}
	find := func(file string) (found []string) {
		t.Helper()
		text, err := os.ReadFile(file)
		must(t, err)
		for _, w := range words {
			if bytes.Contains(text, []byte(w)) {
				found = append(found, w)
			}
		}
		return found
	}
	for _, name := range []string{"brainbox", "workerhost"} { // the second has package launcher
		if found := find(program(name)); len(found) > 0 {
			t.Errorf("%s knows %q", name, found)
		}
	}
	both := append(find(filepath.Join(bin, "mutated/brainbox")), find(filepath.Join(bin, "mutated/workerhost"))...)
	for _, w := range words {
		if !bytes.Contains([]byte(fmtWords(both)), []byte(" "+w+" ")) {
			t.Errorf("the build for tests does not know %q: the search shows nothing", w)
		}
	}
	// Another argument makes it another verb, which there is none of.
	cmd := exec.Command(program("brainbox"), "worker", "fifo-check,fd-check")
	out, err := cmd.CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte(`unknown verb "worker"`)) {
		t.Errorf("%q, %v", out, err)
	}
}

func fmtWords(words []string) string {
	text := " "
	for _, w := range words {
		text += w + " "
	}
	return text
}
