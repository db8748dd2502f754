package needs

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestInMounts: what the child mounts is nowhere in the first process.
func TestInMounts(t *testing.T) {
	const variable = "BRAINBOX_NEEDS_DIR"
	dir := os.Getenv(variable)
	if dir == "" {
		dir = t.TempDir()
	}
	inside := filepath.Join(dir, "inside")
	if InMounts(t, variable+"="+dir) {
		if err := unix.Mount("needs", dir, "tmpfs", 0, ""); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(inside, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if _, err := os.Lstat(inside); err == nil {
		t.Errorf("%q is there in the first process", inside)
	}
}
