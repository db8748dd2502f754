package landlock

import (
	"strings"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// Right is what a rule grants. The zero value is the least of them.
type Right uint8

const (
	// Read is to read files and to list folders.
	Read Right = iota
	// Exec is Read and to execute.
	Exec
	// Write is Read and to write, truncate, create, remove, rename and link.
	// Device files cannot be created with it.
	Write
	// WriteExec is Write and Exec.
	WriteExec
)

// String is the word of check --json.
func (r Right) String() string {
	switch r {
	case Read:
		return "read"
	case Exec:
		return "exec"
	case Write:
		return "write"
	case WriteExec:
		return "write_exec"
	}
	return "invalid"
}

const (
	fileRead  = ll.AccessFSReadFile
	fileExec  = ll.AccessFSExecute
	fileWrite = ll.AccessFSWriteFile | ll.AccessFSTruncate
	dirRead   = ll.AccessFSReadDir
	// Without MAKE_CHAR and MAKE_BLOCK: a device node is a way out for root.
	dirWrite = ll.AccessFSRemoveDir | ll.AccessFSRemoveFile | ll.AccessFSMakeDir | ll.AccessFSMakeReg |
		ll.AccessFSMakeSock | ll.AccessFSMakeFifo | ll.AccessFSMakeSym | ll.AccessFSRefer
)

// Access is the kernel's access bits for a right (LANDLOCK_ACCESS_FS_*,
// landlock(7)), as far as the ABI knows them. A rule for something that is not
// a folder takes only the bits that make sense for a file: the kernel refuses
// the others with EINVAL. A right that does not exist has no bits.
func Access(r Right, dir bool, abi int) uint64 {
	var bits uint64
	switch r {
	case Read:
		bits = fileRead
	case Exec:
		bits = fileRead | fileExec
	case Write:
		bits = fileRead | fileWrite
	case WriteExec:
		bits = fileRead | fileExec | fileWrite
	default:
		return 0
	}
	if dir {
		bits |= dirRead
		if r == Write || r == WriteExec {
			bits |= dirWrite
		}
	}
	return bits & handledFS(abi)
}

// handledFS is every filesystem right that the ABI knows. An ABI above [Known]
// counts as Known.
func handledFS(abi int) uint64 {
	switch {
	case abi < 1:
		return 0
	case abi < 2:
		return ll.AccessFSRefer - 1
	case abi < 3:
		return ll.AccessFSTruncate - 1
	case abi < 5:
		return ll.AccessFSIoctlDev - 1
	case abi < 9:
		return ll.AccessFSResolveUnix - 1
	}
	return ll.AccessFSResolveUnix<<1 - 1
}

// handledTCP is every TCP right that the ABI knows.
func handledTCP(abi int) uint64 {
	if abi < 4 {
		return 0
	}
	return ll.AccessNetBindTCP | ll.AccessNetConnectTCP
}

// AccessNames spells filesystem access bits in the kernel's words, lower case,
// lowest bit first, separated by spaces.
func AccessNames(bits uint64) string {
	names := [...]string{
		"execute", "write_file", "read_file", "read_dir", "remove_dir", "remove_file", "make_char",
		"make_dir", "make_reg", "make_sock", "make_fifo", "make_block", "make_sym", "refer", "truncate",
		"ioctl_dev", "resolve_unix",
	}
	var b strings.Builder
	for i, name := range names {
		if bits&(1<<i) == 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(name)
	}
	return b.String()
}

// ConnectUnix is the access bit of connect(2) to a Unix socket by path (ABI 9), for a rule
// that gives nothing else.
const ConnectUnix uint64 = ll.AccessFSResolveUnix
