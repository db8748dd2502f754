package setuid

import (
	"errors"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// allThreadsCapset is capset(2) on every thread of the process.
func allThreadsCapset(head *unix.CapUserHeader, data *unix.CapUserData) error {
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(head)), uintptr(unsafe.Pointer(data)), 0)
	runtime.KeepAlive(head)
	runtime.KeepAlive(data)
	if errno == 0 || errors.Is(errno, unix.ENOTSUP) {
		return nil
	}
	return errno
}
