package seccomp

import "strconv"

// Action is what a filter returns: the SECCOMP_RET_ values of linux/seccomp.h,
// with the errno, the trap or the trace message in the low 16 bits. The zero
// value is [KillThread].
type Action uint32

// The actions, most restrictive first: when several filters are loaded the
// first of these that any of them returns wins (seccomp(2)).
const (
	KillProcess Action = 0x80000000 // Linux 4.14
	KillThread  Action = 0x00000000
	Trap        Action = 0x00030000
	errnoAction Action = 0x00050000
	Notify      Action = 0x7fc00000 // Linux 5.0
	Trace       Action = 0x7ff00000
	Log         Action = 0x7ffc0000 // Linux 4.14
	Allow       Action = 0x7fff0000

	actionMask = 0xffff0000
	dataMask   = 0x0000ffff
)

// Errno returns the action that makes the call fail with e; 0 makes it return
// success without having run. The kernel caps e at 4095.
func Errno(e uint16) Action { return errnoAction | Action(e) }

// Errno returns the errno of an action made by [Errno].
func (a Action) Errno() (e uint16, ok bool) {
	return uint16(a & dataMask), a&actionMask == errnoAction
}

// Kind is the action without its errno or message.
func (a Action) Kind() Action { return a & actionMask }

// Runs reports whether the system call may still happen after a: the kernel
// runs it itself, or leaves that to another process.
func (a Action) Runs() bool {
	switch a & actionMask {
	case Allow, Log, Trace, Notify:
		return true
	default:
		return false
	}
}

// String returns the action in words: "allow", "errno EPERM", "kill process".
func (a Action) String() string {
	if e, ok := a.Errno(); ok {
		return "errno " + errnoName(e)
	}
	switch a & actionMask {
	case KillProcess:
		return "kill process"
	case KillThread:
		return "kill thread"
	case Trap:
		return "trap"
	case Notify:
		return "notify"
	case Trace:
		return "trace"
	case Log:
		return "log"
	case Allow:
		return "allow"
	default:
		// The kernel treats what it does not know as KILL_PROCESS (Linux 4.14).
		return "kill process (unknown action 0x" + strconv.FormatUint(uint64(a), 16) + ")"
	}
}

// errnoName names the errors that profiles use; the table of golang.org/x/sys
// would weigh more than this package.
func errnoName(e uint16) string {
	switch e {
	case 0:
		return "0"
	case 1:
		return "EPERM"
	case 2:
		return "ENOENT"
	case 9:
		return "EBADF"
	case 12:
		return "ENOMEM"
	case 13:
		return "EACCES"
	case 14:
		return "EFAULT"
	case 22:
		return "EINVAL"
	case 38:
		return "ENOSYS"
	case 93:
		return "EPROTONOSUPPORT"
	case 95:
		return "EOPNOTSUPP"
	case 97:
		return "EAFNOSUPPORT"
	}
	return strconv.Itoa(int(e))
}
