package main

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sigmask sets the calling thread's signal mask and stores the old one.
func sigmask(set, old *uint64) error {
	_, _, errno := syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK,
		uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(old)), 8, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
