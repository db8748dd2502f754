package sys

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("x", 5000)
	if err := os.WriteFile(dir+"/f", []byte(long), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadFile(dir+"/f", 5000); err != nil || string(got) != long {
		t.Errorf("ReadFile = %d bytes, %v; want 5000", len(got), err)
	}
	if _, err := ReadFile(dir+"/f", 4999); !errors.Is(err, unix.EFBIG) {
		t.Errorf("a longer file: %v, want EFBIG", err)
	}
	if err := unix.Mkfifo(dir+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/fifo", ""} {
		if _, err := ReadFile(dir+name, 10); !errors.Is(err, unix.EINVAL) {
			t.Errorf("ReadFile(%q): %v, want EINVAL", name, err)
		}
	}
	if _, err := ReadFile(dir+"/none", 10); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an absent file: %v", err)
	}
	if got, err := ReadFile("/proc/self/status", 1<<20); err != nil || !strings.Contains(string(got), "Pid:") {
		t.Errorf("a file without a size: %q, %v", got, err)
	}
}

func TestReadDirNames(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for i := range 500 {
		name := strings.Repeat("n", 40) + string(rune('a'+i%26)) + strings.Repeat("x", i/26)
		want = append(want, name)
		if err := os.WriteFile(dir+"/"+name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := ReadDirNames(dir)
	slices.Sort(got)
	slices.Sort(want)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("ReadDirNames: %d names, %v; want %d", len(got), err, len(want))
	}
}
