package seccomp

import (
	"os"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// load installs p on every thread of this process. Irreversible: only in a
// child process.
func load(t testing.TB, p Program) {
	t.Helper()
	if err := setFilter(p, unix.SECCOMP_FILTER_FLAG_TSYNC); err != nil {
		t.Fatal(err)
	}
}

// setFilter installs p on the calling thread, or on all with TSYNC. Irreversible.
func setFilter(p Program, flags uintptr) error {
	runtime.LockOSThread() // never undone: the thread is not as the others are
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	fprog := struct {
		n      uint16
		filter *Insn
	}{uint16(len(p)), &p[0]}
	_, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&fprog)))
	if e != 0 {
		return os.NewSyscallError("seccomp", e)
	}
	return nil
}
