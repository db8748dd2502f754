package broker

import (
	"bytes"
	"encoding/binary"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// Rules is what may be connected besides the listed sockets.
type Rules struct {
	Ports []uint16 // TCP, on every address, as Landlock rules
	UDP   bool     // any UDP
	All   bool     // any socket that the filter lets the program make, but for Unix sockets
}

// kind is what a socket is (socket(7): SO_DOMAIN, SO_TYPE, SO_PROTOCOL).
type kind struct{ domain, kind, protocol int }

// verdict is the decision about one call: an error, a path to look up, or the address as
// it is.
type verdict struct {
	errno  syscall.Errno
	path   string // if not empty
	direct bool
}

func refuse(e syscall.Errno) verdict { return verdict{errno: e} }

// The sizes of addresses, in bytes (linux/socket.h, linux/un.h, linux/in.h, RFC 2133).
const (
	maxAddress = 128 // struct sockaddr_storage
	familySize = 2
	unixSize   = 110
	inetSize   = 16
	inet6Size  = 24
	offsetPort = 2
	offsetPath = familySize
)

// decide judges a connect(2) of a socket to an address. Errors of form are those of the
// kernel.
func (r *Rules) decide(k kind, address []byte) verdict {
	if len(address) < familySize || len(address) > maxAddress {
		return refuse(unix.EINVAL)
	}
	family := int(binary.NativeEndian.Uint16(address))
	switch k.domain {
	case unix.AF_UNIX:
		return decideUnix(k, family, address)
	case unix.AF_INET, unix.AF_INET6:
		return r.decideInet(k, family, address)
	}
	if r.All {
		return verdict{direct: true}
	}
	return refuse(unix.EACCES)
}

func decideUnix(k kind, family int, address []byte) verdict {
	switch {
	case k.kind != unix.SOCK_STREAM && k.kind != unix.SOCK_SEQPACKET:
		return refuse(unix.EACCES)
	case family != unix.AF_UNIX || len(address) <= offsetPath || len(address) > unixSize:
		return refuse(unix.EINVAL)
	case address[offsetPath] == 0:
		return refuse(unix.EPERM) // abstract, as Landlock's scope answers
	}
	path, _, _ := bytes.Cut(address[offsetPath:], []byte{0})
	return verdict{path: string(path)}
}

func (r *Rules) decideInet(k kind, family int, address []byte) verdict {
	switch {
	case r.All:
		return verdict{direct: true}
	case k.kind == unix.SOCK_DGRAM && k.protocol == unix.IPPROTO_UDP && r.UDP:
		return verdict{direct: true}
	case k.kind != unix.SOCK_STREAM || k.protocol != unix.IPPROTO_TCP:
		return refuse(unix.EACCES)
	}
	// As Landlock does it (security/landlock/net.c): an end of the connection is no new one.
	switch {
	case family == unix.AF_UNSPEC:
		return verdict{direct: true}
	case family == unix.AF_INET && len(address) < inetSize, family == unix.AF_INET6 && len(address) < inet6Size:
		return refuse(unix.EINVAL)
	case family != k.domain:
		return refuse(unix.EINVAL)
	case !slices.Contains(r.Ports, binary.BigEndian.Uint16(address[offsetPort:])):
		return refuse(unix.EACCES)
	}
	return verdict{direct: true}
}
