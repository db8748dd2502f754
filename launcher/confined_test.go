package launcher

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"brainbox/internal/needs"
)

// A helper that reads what others wrote is held by brainbox itself: it can see where
// paths lead, and nothing else.
func TestHelperIsConfined(t *testing.T) {
	needs.LandlockABI(t, 1)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const name = "brainbox-test-helper"
	path := filepath.Join(filepath.Dir(exe), name)
	if f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o755); err != nil {
		t.Skipf("beside the test: %v", err)
	} else if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(path) })
	build := exec.CommandContext(t.Context(), needs.Program(t, "go"), "build", "-o", path, "./testdata/helper")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	file := filepath.Join(resolved(t.TempDir()), "file")
	write(t, file, "text")
	if err := os.Symlink(file, file+".link"); err != nil {
		t.Fatal(err)
	}
	const all = "read true\nwrite true\nlisten true\nstart true\nsee where a link leads true\n"
	free := exec.CommandContext(t.Context(), path)
	free.Stdin = strings.NewReader(file)
	if out, err := free.CombinedOutput(); err != nil || string(out) != all {
		t.Fatalf("control: %v\n%s", err, out)
	}
	if err := os.Remove(file + ".new"); err != nil {
		t.Fatal(err)
	}
	in, err := memory([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, errOut, status, err := runHelper(name, in)
	const want = "read false\nwrite false\nlisten false\nstart false\nsee where a link leads true\n"
	if err != nil || status != 0 || string(out) != want {
		t.Errorf("%v, status %d, %s\n%s", err, status, errOut, out)
	}
	if _, err := os.Lstat(file + ".new"); err == nil {
		t.Error("it wrote a file")
	}
}
