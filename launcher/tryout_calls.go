package launcher

import (
	"encoding/binary"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"brainbox/internal/spawn"
	"brainbox/seccomp"
)

// execveCheck is AT_EXECVE_CHECK: the kernel says whether it would execute, and does not
// (execveat(2), Linux 6.14).
const execveCheck = 0x10000

// atCwd is AT_FDCWD as an argument.
const atCwd = ^uintptr(99)

// trialOf is the calls of one operation; nil: there are none that can be made.
func trialOf(op *Operation) spawn.Trial {
	switch op.Op {
	case OpRead:
		return openTrial(op.Path, unix.O_RDONLY, 0)
	case OpWrite:
		return openTrial(op.Path, unix.O_WRONLY, 0)
	case OpTruncate:
		return one(unix.SYS_TRUNCATE, pathArg(0, op.Path))
	case OpExec:
		return one(unix.SYS_EXECVEAT, num(0, atCwd), pathArg(1, op.Path), num(4, execveCheck))
	case OpCreate:
		return createTrial(op)
	case OpRemove:
		flags := uintptr(0)
		if op.Kind == KindFolder {
			flags = unix.AT_REMOVEDIR
		}
		return one(unix.SYS_UNLINKAT, num(0, atCwd), pathArg(1, op.Path), num(2, flags))
	case OpRename:
		return one(unix.SYS_RENAMEAT2, num(0, atCwd), pathArg(1, op.Path), num(2, atCwd), pathArg(3, op.Dest))
	case OpLink:
		return one(unix.SYS_LINKAT, num(0, atCwd), pathArg(1, op.Path), num(2, atCwd), pathArg(3, op.Dest))
	case OpConnect:
		return socketTrial(unix.AF_INET, unix.SYS_CONNECT, inet4([4]byte{255, 255, 255, 255}, op.Port))
	case OpBind:
		return socketTrial(unix.AF_INET, unix.SYS_BIND, inet4([4]byte{192, 0, 2, 1}, op.Port))
	case OpUnix:
		if len(op.Path) >= unixPathSize {
			return nil
		}
		return socketTrial(unix.AF_UNIX, unix.SYS_CONNECT, sockaddrUnix(op.Path))
	case OpSyscall:
		return syscallTrial(op.Call)
	}
	return nil
}

// freeTrialOf is trialOf for who is not confined. Others may write in a folder, and lead
// elsewhere by the time that the call is made: what root would make, empty or open then is
// theirs to choose. So nothing on the way may be a link, nor the name.
func freeTrialOf(op *Operation) spawn.Trial {
	o := *op
	if o.Op == OpTruncate && o.Kind == KindRegular {
		o.Op = OpWrite // asks for the same, and empties nothing
	}
	t := trialOf(&o)
	if t == nil {
		return nil
	}
	at := 0 // which argument is the folder
	switch t[0].Nr {
	case unix.SYS_OPENAT:
		t[0] = openNoLinks(trimNUL(t[0].Data[1]), uint64(t[0].Args[2]), uint64(t[0].Args[3]))
		return t
	case unix.SYS_MKDIRAT, unix.SYS_MKNODAT, unix.SYS_UNLINKAT:
	case unix.SYS_SYMLINKAT:
		at = 1
	case unix.SYS_RENAMEAT2, unix.SYS_LINKAT:
		at = 2
	default:
		return t
	}
	path := trimNUL(t[0].Data[at+1])
	t[0].First, t[0].Data[at+1] = at+1, append([]byte(filepath.Base(path)), 0)
	folder := openNoLinks(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	return append(append(spawn.Trial{folder}, t...), spawn.TrialCall{Nr: unix.SYS_CLOSE, First: 1})
}

func trimNUL(b []byte) string { return strings.TrimSuffix(string(b), "\x00") }

// openNoLinks is openat2(2) with RESOLVE_NO_SYMLINKS.
func openNoLinks(path string, flags, mode uint64) spawn.TrialCall {
	how := binary.NativeEndian.AppendUint64(nil, flags)
	how = binary.NativeEndian.AppendUint64(how, mode)
	how = binary.NativeEndian.AppendUint64(how, unix.RESOLVE_NO_SYMLINKS)
	return one(unix.SYS_OPENAT2, num(0, atCwd), pathArg(1, path), data(2, how), num(3, uintptr(len(how))))[0]
}

// arg changes one argument of a call.
type arg func(*spawn.TrialCall)

func num(n int, v uintptr) arg { return func(c *spawn.TrialCall) { c.Args[n] = v } }

func data(n int, b []byte) arg { return func(c *spawn.TrialCall) { c.Data[n] = b } }

func pathArg(n int, path string) arg {
	return func(c *spawn.TrialCall) { c.Data[n] = append([]byte(path), 0) }
}

func one(nr uintptr, args ...arg) spawn.Trial {
	c := spawn.TrialCall{Nr: nr}
	for _, a := range args {
		a(&c)
	}
	return spawn.Trial{c}
}

// openTrial never waits, takes no terminal and reads nothing.
func openTrial(path string, flags, mode uintptr) spawn.Trial {
	flags |= unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	t := one(unix.SYS_OPENAT, num(0, atCwd), pathArg(1, path), num(2, flags), num(3, mode))
	return append(t, spawn.TrialCall{Nr: unix.SYS_FSTAT, First: 1, Out: 2}, spawn.TrialCall{Nr: unix.SYS_CLOSE, First: 1})
}

func createTrial(op *Operation) spawn.Trial {
	special := func(mode uintptr) spawn.Trial {
		return one(unix.SYS_MKNODAT, num(0, atCwd), pathArg(1, op.Path), num(2, mode|0o600))
	}
	switch op.Kind {
	case KindRegular:
		return openTrial(op.Path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o600)
	case KindFolder:
		return one(unix.SYS_MKDIRAT, num(0, atCwd), pathArg(1, op.Path), num(2, 0o700))
	case KindLink:
		return one(unix.SYS_SYMLINKAT, pathArg(0, "nowhere"), num(1, atCwd), pathArg(2, op.Path))
	case KindFIFO:
		return special(unix.S_IFIFO)
	case KindSocket:
		return special(unix.S_IFSOCK)
	case KindAbsent, KindChar, KindBlock: // a device needs a capability that no program has
	}
	return nil
}

// socketTrial makes a socket and hands it an address. The addresses of the trials reach
// nobody: the broadcast address, which TCP refuses after Landlock has allowed it
// (ENETUNREACH), and one that is reserved for documentation, which no host has
// (EADDRNOTAVAIL; RFC 5737).
func socketTrial(family, nr uintptr, address []byte) spawn.Trial {
	socket := one(unix.SYS_SOCKET, num(0, family), num(1, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK))
	call := spawn.TrialCall{Nr: nr, First: 1, Data: [6][]byte{1: address}}
	call.Args[2] = uintptr(len(address))
	return append(socket, call, spawn.TrialCall{Nr: unix.SYS_CLOSE, First: 1})
}

// inet4 is struct sockaddr_in (ip(7)).
func inet4(host [4]byte, port uint16) []byte {
	b := binary.NativeEndian.AppendUint16(nil, unix.AF_INET)
	b = binary.BigEndian.AppendUint16(b, port)
	return append(append(b, host[:]...), make([]byte, 8)...)
}

// unixPathSize is that of sun_path, with the NUL byte (unix(7)).
const unixPathSize = 108

func sockaddrUnix(path string) []byte {
	b := binary.NativeEndian.AppendUint16(nil, unix.AF_UNIX)
	return append(append(b, path...), 0)
}

// syscallTrial calls with arguments that nothing can be done with. Calls that take none, or
// that act whatever they are given, are not made.
func syscallTrial(name string) spawn.Trial {
	if slices.Contains(neverTried(), name) {
		return nil
	}
	nr, ok := seccomp.Number(runtime.GOARCH, name)
	if !ok {
		return nil
	}
	c := spawn.TrialCall{Nr: uintptr(nr)}
	for i := range c.Args {
		c.Args[i] = ^uintptr(0)
	}
	return spawn.Trial{c}
}

func neverTried() []string {
	return []string{
		"exit", "exit_group", "fork", "vfork", "clone", "clone3", "pause", "rt_sigreturn", "restart_syscall",
		"sync", "vhangup", "reboot", "kill", "tkill", "tgkill", "rt_sigsuspend", "execve", "execveat",
		"map_shadow_stack", "uretprobe", "uprobe", "brk", "munlockall", "seccomp", "prctl", "arch_prctl",
	}
}
