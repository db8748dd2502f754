package netns

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// lo is its index in every network namespace (LOOPBACK_IFINDEX).
const lo = 1

// The requests of Up, numbered in the order in which the kernel carries them out: a route
// needs an interface that is up.
const (
	seqLink = iota + 1
	seqRoute4
	seqRoute6
)

// steps names them for messages.
func steps(seq uint32) string {
	names := [...]string{seqLink: "lo up", seqRoute4: "route of IPv4", seqRoute6: "route of IPv6"}
	if int(seq) < len(names) && names[seq] != "" {
		return names[seq]
	}
	return "unknown request"
}

// Up brings lo up, and makes every address one of the namespace's own: by "local default dev
// lo" in the table local, of IPv4 and of IPv6. What is routed more narrowly, 127.0.0.0/8 and
// ::1, stays as it is. fd is a socket of [Routing] in the namespace.
//
// Where there is no IPv6, or it is switched off, six is false and that is no error. Doing it
// again changes nothing.
func Up(fd int) (six bool, err error) {
	batch := slices.Concat(linkUp(seqLink), localDefault(seqRoute4, unix.AF_INET), localDefault(seqRoute6, unix.AF_INET6))
	if err := unix.Sendto(fd, batch, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return false, fmt.Errorf("netns: %w", os.NewSyscallError("sendto", err))
	}
	var answers [seqRoute6 + 1]answer
	for got := 0; got < seqRoute6; {
		acks, err := hear(fd)
		if err != nil {
			return false, fmt.Errorf("netns: %w", err)
		}
		for _, a := range acks {
			if a.seq < seqLink || a.seq > seqRoute6 || answers[a.seq].seq != 0 {
				return false, fmt.Errorf("netns: an answer to request %d, which is not waited for", a.seq)
			}
			answers[a.seq] = a
			got++
		}
	}
	return judge(answers[seqLink:])
}

// judge says what the answers mean, one of each request.
func judge(answers []answer) (six bool, err error) {
	for _, a := range answers {
		switch {
		case a.errno == 0, a.errno == unix.EEXIST && a.seq != seqLink:
			six = six || a.seq == seqRoute6
		case a.seq == seqRoute6 && without(a.errno):
		default:
			return false, fmt.Errorf("netns: %s: %w", steps(a.seq), a.errno)
		}
	}
	return six, nil
}

// without reports whether a refused route of IPv6 says that there is none: EOPNOTSUPP and
// EAFNOSUPPORT from a kernel without it or started with ipv6.disable=1, EACCES or ENODEV
// where it is switched off for the interface (disable_ipv6, ip6_route_info_create).
func without(e syscall.Errno) bool {
	return slices.Contains([]syscall.Errno{unix.EOPNOTSUPP, unix.EAFNOSUPPORT, unix.EACCES, unix.ENODEV}, e)
}

// header is struct nlmsghdr of a request that is acknowledged (netlink(7)), with its body.
func header(kind, flags uint16, seq uint32, body []byte) []byte {
	b := make([]byte, 0, unix.NLMSG_HDRLEN+len(body))
	b = binary.NativeEndian.AppendUint32(b, uint32(unix.NLMSG_HDRLEN+len(body)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = binary.NativeEndian.AppendUint16(b, unix.NLM_F_REQUEST|unix.NLM_F_ACK|flags)
	b = binary.NativeEndian.AppendUint32(b, seq)
	b = binary.NativeEndian.AppendUint32(b, 0) // the port: the kernel fills it in
	return append(b, body...)
}

// linkUp is a request with struct ifinfomsg (rtnetlink(7)).
func linkUp(seq uint32) []byte {
	body := []byte{unix.AF_UNSPEC, 0, 0, 0} // family, padding, type
	body = binary.NativeEndian.AppendUint32(body, lo)
	body = binary.NativeEndian.AppendUint32(body, unix.IFF_UP) // flags
	body = binary.NativeEndian.AppendUint32(body, unix.IFF_UP) // those that change
	return header(unix.RTM_NEWLINK, 0, seq, body)
}

// localDefault is a request with struct rtmsg and the attribute RTA_OIF (rtnetlink(7)). The
// table local is the one that is asked first, and that says which IPv4 addresses can be bound.
func localDefault(seq uint32, family byte) []byte {
	body := []byte{
		family, 0, 0, 0, // destination's and source's length: any
		unix.RT_TABLE_LOCAL, unix.RTPROT_STATIC, unix.RT_SCOPE_HOST, unix.RTN_LOCAL,
		0, 0, 0, 0, // flags
	}
	body = binary.NativeEndian.AppendUint16(body, unix.SizeofRtAttr+4)
	body = binary.NativeEndian.AppendUint16(body, unix.RTA_OIF)
	body = binary.NativeEndian.AppendUint32(body, lo)
	return header(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_EXCL, seq, body)
}

// answer is one acknowledgement.
type answer struct {
	seq   uint32
	errno syscall.Errno // 0: done
}

// hear reads one datagram of answers. The kernel has put it there before sendto(2) is over;
// the wait is for a kernel that would not.
func hear(fd int) ([]answer, error) {
	var buf [4096]byte
	for {
		n, from, err := unix.Recvfrom(fd, buf[:], 0)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1) // EINTR: once more
		case err != nil:
			return nil, os.NewSyscallError("recvfrom", err)
		default:
			if a, ok := from.(*unix.SockaddrNetlink); !ok || a.Pid != 0 {
				return nil, errors.New("an answer that is not the kernel's")
			}
			return parse(buf[:n])
		}
	}
}

// parse reads the acknowledgements of one datagram: struct nlmsghdr, then struct nlmsgerr.
func parse(b []byte) (list []answer, err error) {
	for len(b) > 0 {
		if len(b) < unix.NLMSG_HDRLEN+4 {
			return nil, errors.New("an answer that is cut short")
		}
		size := uint64(binary.NativeEndian.Uint32(b))
		kind, errno := binary.NativeEndian.Uint16(b[4:]), int32(binary.NativeEndian.Uint32(b[unix.NLMSG_HDRLEN:]))
		switch {
		case size < unix.NLMSG_HDRLEN+4 || size > uint64(len(b)):
			return nil, errors.New("an answer with a wrong length")
		case kind != unix.NLMSG_ERROR:
			return nil, fmt.Errorf("an answer of type %d", kind)
		case errno > 0 || errno < -4095:
			return nil, fmt.Errorf("an answer with the errno %d", errno)
		}
		list = append(list, answer{binary.NativeEndian.Uint32(b[8:]), syscall.Errno(-errno)})
		b = b[min(uint64(len(b)), (size+3)&^3):]
	}
	return list, nil
}
