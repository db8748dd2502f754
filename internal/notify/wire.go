package notify

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// request is struct seccomp_notif (linux/seccomp.h).
type request struct {
	id    uint64
	pid   uint32
	flags uint32
	nr    int32
	arch  uint32
	ip    uint64
	args  [6]uint64
}

// response is struct seccomp_notif_resp.
type response struct {
	id    uint64
	val   int64
	errno int32 // negative
	flags uint32
}

// response is an answer in the kernel's form, which takes no value or error beside the flag.
func (a Answer) response(id uint64) *response {
	if a.Continue && a.Errno == 0 {
		return &response{id: id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	}
	return &response{id: id, val: a.Value, errno: -int32(a.Errno)}
}

// sizes is struct seccomp_notif_sizes.
type sizes struct{ notif, resp, data uint16 }

// bufferSize asks for the size of the structure that the kernel writes on receipt: a newer
// one may have more fields behind ours, and it insists on their room being zero.
func bufferSize() (int, error) {
	var s sizes
	_, _, e := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_NOTIF_SIZES, 0, uintptr(unsafe.Pointer(&s)))
	if e != 0 {
		return 0, os.NewSyscallError("seccomp", e)
	}
	if int(s.resp) < int(unsafe.Sizeof(response{})) {
		return 0, os.NewSyscallError("seccomp", unix.EINVAL)
	}
	return max(int(s.notif), int(unsafe.Sizeof(request{}))), nil
}

const (
	setFlags   = 0x40082104 // SECCOMP_IOCTL_NOTIF_SET_FLAGS, Linux 6.6
	syncWakeUp = 1          // SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP
)

// wakeHere asks for the waking thread's own processor, which costs a fifth of another's.
// Before Linux 6.6 there is no such flag, and nothing is lost.
func wakeHere(fd int) {
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(fd), setFlags, syncWakeUp)
}

func receive(fd int, into *request) syscall.Errno {
	_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(into)))
	return e
}

// send answers; ENOENT means that the program has gone, or has been interrupted before the
// call was received.
func send(fd int, r *response) {
	for {
		_, _, e := unix.RawSyscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(r)))
		if e != unix.EINTR {
			return
		}
	}
}

// valid reports whether the call still waits. What was read of its thread before belongs
// to that thread: its number cannot have been given away meanwhile.
func valid(fd int, id uint64) bool {
	_, _, e := unix.RawSyscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_ID_VALID, uintptr(unsafe.Pointer(&id)))
	return e == 0
}

// deserted reports whether no program is left that could make a call.
func deserted(fd int) bool {
	p := [1]unix.PollFd{{Fd: int32(fd)}}
	n, err := unix.Poll(p[:], 0)
	return err == nil && n == 1 && p[0].Revents&unix.POLLHUP != 0
}
