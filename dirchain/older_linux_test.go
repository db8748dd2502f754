package dirchain

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// TestSuiteOnOlderKernels runs everything where calls are answered as a kernel
// answers that does not have them (ENOSYS), and as outer filters do (EPERM).
func TestSuiteOnOlderKernels(t *testing.T) {
	for name, filter := range map[string]string{
		"before Linux 5.6": "openat2:38", "before Linux 4.11": "openat2:38 statx:38",
		"a filter of openat2": "openat2:1", "a filter of statx": "statx:1",
	} {
		t.Run(name, func(t *testing.T) {
			if !needs.IsChild(t) {
				needs.Seccomp(t)
			}
			if !needs.InMounts(t) {
				return
			}
			if err := installFilter(filter); err != nil { // irreversible
				t.Fatal(err)
			}
			dir := t.TempDir()
			isFiltered(t, filter, dir)
			suite(t, dir)
			suiteMounts(t, dir)
		})
	}
}

// isFiltered looks whether the calls fail that should, and whether a root has
// noticed.
func isFiltered(t *testing.T, filter, dir string) {
	t.Helper()
	var st unix.Statx_t
	fails := unix.Statx(unix.AT_FDCWD, dir, 0, unix.STATX_BASIC_STATS, &st) != nil
	if fails != strings.Contains(filter, "statx") {
		t.Fatalf("statx fails: %v", fails)
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, dir, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC})
	if err == nil {
		err = unix.Close(fd)
	}
	if r := open(t, dir, Options{}); r.old != strings.Contains(filter, "openat2") || r.old != (err != nil) {
		t.Fatalf("openat2 fails with %v, the root walks without it: %v", err, r.old)
	}
}
