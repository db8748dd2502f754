package launcher

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// esc/MD-01: root's program may not change the mode of the host's /dev/null by the
// descriptor that it is given.
func TestNullIsKept(t *testing.T) {
	needs.Root(t)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	was, err := null.Stat()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(t.TempDir() + "/f")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	got, opened := keepNull([3]int{int(null.Fd()), int(file.Fd()), -1})
	if len(opened) != 1 || got[0] != opened[0] || got[1] != int(file.Fd()) || got[2] != -1 {
		t.Fatalf("descriptors %v, new %v", got, opened)
	}
	defer unix.Close(opened[0])
	mode := uint32(was.Mode().Perm()) // what it is already: a failure of the test changes nothing
	if err := unix.Fchmod(got[0], mode); !errors.Is(err, unix.EROFS) {
		t.Errorf("fchmod: %v", err)
	}
	if err := unix.Chmod("/proc/self/fd/"+itoa(got[0]), mode); !errors.Is(err, unix.EROFS) {
		t.Errorf("chmod: %v", err)
	}
	// Positive control.
	_, werr := unix.Write(got[0], []byte("x"))
	n, rerr := unix.Read(got[0], make([]byte, 1))
	if werr != nil || rerr != nil || n != 0 {
		t.Errorf("write %v, read %d, %v", werr, n, rerr)
	}
	if err := unix.Fchmod(int(null.Fd()), mode); err != nil {
		t.Errorf("fchmod without it: %v", err)
	}
}
