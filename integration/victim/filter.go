package main

import (
	"errors"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// opFilter adds a seccomp filter that allows everything, and then makes the
// attempt: the kernel takes the narrowest answer of all filters (seccomp(2)).
// Irreversible for this process's thread: use it through "self".
func opFilter(words []string) (string, error) {
	if err := install([]unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}}); err != nil {
		return "", err
	}
	a := &attempt{}
	var detail string
	for _, call := range split(words) {
		var err error
		if detail, err = a.call(call); err != nil {
			return "", err
		}
	}
	return detail, nil
}

// opWithout becomes a program for which one system call does not exist: an older
// kernel, or an outer container's filter. Irreversible.
func opWithout(words []string) (string, error) {
	if len(words) < 2 {
		return "", errors.New("usage: without NR PROGRAM [ARG]…")
	}
	nr, ok := number(words[0])
	if !ok {
		return "", errors.New("bad number")
	}
	refuse := uint32(unix.SECCOMP_RET_ERRNO | unix.ENOSYS)
	return "", errors.Join(install([]unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // seccomp_data.nr
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: uint32(nr)},
		{Code: unix.BPF_RET | unix.BPF_K, K: refuse},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}), unix.Exec(words[1], words[1:], os.Environ()))
}

// install puts a filter on the calling thread. Irreversible.
func install(code []unix.SockFilter) error {
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, _, errno := syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return errno
	}
	return nil
}
