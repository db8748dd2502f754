package explain

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
	"brainbox/launcher"
)

// lastPage is a page with nothing mapped behind it.
func lastPage(t *testing.T) []byte {
	t.Helper()
	size := os.Getpagesize()
	b, err := unix.Mmap(-1, 0, 3*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(b) })
	if err := unix.Mprotect(b[2*size:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	return b[:2*size]
}

// A name is read up to its zero and no page further, however long it is.
func TestReadString(t *testing.T) {
	needs.Kernel(t)
	pages := lastPage(t)
	tid := os.Getpid()
	for _, length := range []int{0, 1, 255, 256, 257, 4094, 4095} {
		want := strings.Repeat("x", length)
		b := pages[len(pages)-length-1:]
		copy(b, want+"\x00")
		var into [pathMax]byte
		got, e := readString(tid, uint64(uintptr(unsafe.Pointer(&b[0]))), into[:])
		if e != 0 || string(got) != want {
			t.Errorf("%d bytes: got %d, %v", length, len(got), e)
		}
	}
	for i := range pages {
		pages[i] = 'x'
	}
	for back, want := range map[int]error{100: unix.EFAULT, pathMax + 1: unix.ENAMETOOLONG} {
		b := pages[len(pages)-back:]
		var into [pathMax]byte
		if _, e := readString(tid, uint64(uintptr(unsafe.Pointer(&b[0]))), into[:]); e != want { //nolint:errorlint // an errno
			t.Errorf("no end within %d bytes: %v; want %v", back, e, want)
		}
	}
}

// A program whose memory may not be read is told of as unknown, one that has gone not at all.
func TestUnreadable(t *testing.T) {
	needs.User(t)
	dir := realTemp(t)
	text, err := os.ReadFile(needs.Program(t, "sleep"))
	if err != nil {
		t.Fatal(err)
	}
	// A file that may not be read runs undumpable (execve(2)).
	if err := os.WriteFile(dir+"/sleep", text, 0o111); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), dir+"/sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w := newWatch(t, Config{Judge: grants{}})
	w.tid = cmd.Process.Pid
	got := w.call("mkdir", uint64(1<<20), 0)
	if len(got) != 1 || got[0].Certainty != Unknown || got[0].Op != launcher.OpSyscall || got[0].Operation.Call != "mkdir" {
		t.Errorf("an undumpable program: %q", words(got, dir))
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if got := w.call("mkdir", uint64(1<<20), 0); len(got) != 0 {
		t.Errorf("a program that has gone: %q", words(got, dir))
	}
}
