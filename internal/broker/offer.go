package broker

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offer is what this kernel and place offer of what a broker needs, by trying; nil where it
// is there. Nothing is changed by the trials.
type Offer struct {
	Notify error // a notification listener with WAIT_KILLABLE_RECV (Linux 5.19, seccomp_unotify(2))
	GetFD  error // pidfd_getfd(2), Linux 5.6
	Memory error // process_vm_readv(2)
	Lookup error // openat2(2), Linux 5.6
	Trace  error // leave to use both on the program: another user's, or with Yama's restrictions
}

// Err is the first that is missing.
func (o Offer) Err() error {
	for _, m := range [...]struct {
		what string
		err  error
	}{
		{"seccomp notification", o.Notify},
		{"pidfd_getfd", o.GetFD},
		{"process_vm_readv", o.Memory},
		{"openat2", o.Lookup},
		{"ptrace access", o.Trace},
	} {
		if m.err != nil {
			return fmt.Errorf("%s: %w", m.what, m.err)
		}
	}
	return nil
}

// Offered tries. otherUser says that the program is to run as another user than this
// process.
func Offered(otherUser bool) Offer {
	return Offer{Notify: tryNotify(), GetFD: tryGetFD(), Memory: tryMemory(), Lookup: tryLookup(), Trace: tryTrace(otherUser)}
}

// tryNotify asks for a listener with a filter at the null address: the kernel looks at the
// flags first, and answers EFAULT when it knows them.
func tryNotify() error {
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	_, _, e := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, 0)
	if e == unix.EFAULT {
		return nil
	}
	return e
}

func tryGetFD() error {
	p, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return err
	}
	defer unix.Close(p)
	fd, err := unix.PidfdGetfd(p, p, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func tryMemory() error {
	from, into := [1]byte{1}, [1]byte{}
	return copyMemory(os.Getpid(), uint64(uintptr(unsafe.Pointer(&from))), into[:])
}

func tryLookup() error {
	o, err := look(unix.AT_FDCWD, "/")
	if err != nil {
		return err
	}
	return unix.Close(o.fd)
}

// tryTrace looks at what decides about ptrace access (ptrace(2), "Ptrace access mode
// checking"): CAP_SYS_PTRACE for another user's program, and Yama, whose modes 0 and 1
// leave a process its descendants.
func tryTrace(otherUser bool) error {
	var caps capabilities
	if err := caps.get(); err != nil {
		return err
	}
	may := caps.data[unix.CAP_SYS_PTRACE>>5].Effective&(1<<(unix.CAP_SYS_PTRACE&31)) != 0
	if otherUser && !may {
		return fmt.Errorf("CAP_SYS_PTRACE: %w", unix.EPERM)
	}
	text, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	if err != nil { // without Yama there is no such file
		return nil
	}
	return yama(strings.TrimSpace(string(text)), may)
}

var errYama = errors.New("kernel.yama.ptrace_scope")

func yama(scope string, may bool) error {
	switch {
	case scope == "0", scope == "1", scope == "2" && may:
		return nil
	}
	return fmt.Errorf("%w is %s: %w", errYama, scope, syscall.EPERM)
}
