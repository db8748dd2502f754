package landlock

import "strings"

// Feature is one thing that Landlock holds from some ABI on.
type Feature uint8

const (
	// Files is reading, writing, creating, removing and executing (ABI 1).
	Files Feature = iota
	// Truncate is truncate(2) and O_TRUNC (ABI 3).
	Truncate
	// IoctlDev is ioctl(2) on device files (ABI 5).
	IoctlDev
	// TCP is bind(2) and connect(2) of TCP sockets, by port (ABI 4).
	TCP
	// ScopeAbstractUnix is connect(2) to abstract Unix sockets of processes
	// outside (ABI 6).
	ScopeAbstractUnix
	// ScopeSignal is signals to processes outside (ABI 6).
	ScopeSignal
	// ResolveUnix is connect(2) and sendto(2) to Unix sockets by path (ABI 9).
	ResolveUnix
)

// features is their number.
const features = int(ResolveUnix) + 1

// String is the feature in the kernel's words.
func (f Feature) String() string {
	switch f {
	case Files:
		return "files"
	case Truncate:
		return "truncate"
	case IoctlDev:
		return "ioctl_dev"
	case TCP:
		return "tcp"
	case ScopeAbstractUnix:
		return "abstract_unix_socket"
	case ScopeSignal:
		return "signal"
	case ResolveUnix:
		return "resolve_unix"
	}
	return "invalid"
}

// Clause is the policy clause that the feature belongs to.
func (f Feature) Clause() string {
	switch f {
	case Files, Truncate, IoctlDev:
		return "files"
	case TCP:
		return "network"
	case ScopeAbstractUnix, ScopeSignal:
		return "ipc"
	case ResolveUnix:
		return "unix"
	}
	return ""
}

// ABI is the first ABI with the feature. A feature that does not exist has none
// that could be reached.
func (f Feature) ABI() int {
	switch f {
	case Files:
		return 1
	case Truncate:
		return 3
	case TCP:
		return 4
	case IoctlDev:
		return 5
	case ScopeAbstractUnix, ScopeSignal:
		return 6
	case ResolveUnix:
		return 9
	}
	return Known + 1
}

// Features is a set of features. The zero value is the empty set.
type Features uint16

// Set is the set of the given features.
func Set(list ...Feature) Features {
	var s Features
	for _, f := range list {
		s |= 1 << f
	}
	return s
}

// Has says whether f is in the set.
func (s Features) Has(f Feature) bool { return s&(1<<f) != 0 }

// String lists the set, separated by commas.
func (s Features) String() string {
	var names []string
	for f := range Feature(features) {
		if s.Has(f) {
			names = append(names, f.String())
		}
	}
	return strings.Join(names, ",")
}
