package explain

import (
	"bytes"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	pathMax = 4096 // PATH_MAX, with the zero at the end
	page    = 4096 // the smallest that there is
	// firstRead is what is read at first: most names are shorter.
	firstRead = 256
)

// readString reads a string that ends with a zero from the memory of a thread into b. It
// reads to the end of a page at most at a time: the next one may not be there. ENAMETOOLONG
// is the kernel's answer to what does not end within b, EFAULT to what is not readable.
func readString(tid int, at uint64, b []byte) ([]byte, syscall.Errno) {
	size := uint64(firstRead)
	for n := 0; n < len(b); {
		chunk := min(size, page-(at+uint64(n))%page, uint64(len(b)-n))
		got, e := readMemory(tid, at+uint64(n), b[n:n+int(chunk)])
		if e != 0 {
			return nil, e
		}
		if end := bytes.IndexByte(b[n:n+got], 0); end >= 0 {
			return b[:n+end], 0
		}
		n += got
		size = page
	}
	return nil, unix.ENAMETOOLONG
}

// readAll fills b.
func readAll(tid int, at uint64, b []byte) syscall.Errno {
	for len(b) > 0 {
		chunk := min(page-at%page, uint64(len(b)))
		got, e := readMemory(tid, at, b[:chunk])
		if e != 0 {
			return e
		}
		b, at = b[got:], at+uint64(got)
	}
	return 0
}

// readMemory reads the memory of a process once (process_vm_readv(2)). The memory may be of
// a file whose file system hangs, so the runtime is told: a processor that it could not take
// back would stop the whole process.
func readMemory(tid int, at uint64, b []byte) (int, syscall.Errno) {
	if len(b) == 0 {
		return 0, 0
	}
	local := unix.Iovec{Base: &b[0], Len: uint64(len(b))}
	remote := unix.RemoteIovec{Base: uintptr(at), Len: len(b)}
	n, _, e := unix.Syscall6(unix.SYS_PROCESS_VM_READV, uintptr(tid),
		uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
	if e != 0 {
		return 0, e
	}
	if n == 0 {
		return 0, unix.EFAULT
	}
	return int(n), 0
}
