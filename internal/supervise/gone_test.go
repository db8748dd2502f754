package supervise

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// pids reads the process numbers that a script wrote, one a line.
func pids(t *testing.T, file string, atLeast int) []int {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list []int
	for word := range strings.FieldsSeq(string(text)) {
		n, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, n)
	}
	if len(list) < atLeast {
		t.Fatalf("%d processes in %q, want at least %d", len(list), text, atLeast)
	}
	return list
}

// gone fails for every process that is still there. It does not wait: the run says that
// it has ended.
func gone(t *testing.T, list []int) {
	t.Helper()
	for _, pid := range list {
		if err := syscall.Kill(pid, 0); !errors.Is(err, unix.ESRCH) {
			t.Errorf("process %d is still there: %v", pid, err)
			_ = syscall.Kill(pid, unix.SIGKILL)
		}
	}
}

// waitGone waits for the end of a process that is not a child.
func waitGone(t *testing.T, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(patience.Milliseconds()))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n != 1 {
			t.Fatalf("process %d does not end: %d, %v", pid, n, err)
		}
		return
	}
}
