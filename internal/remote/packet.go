package remote

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

const (
	// Protocol names the wire.
	Protocol = "brainbox-spawn/1"

	maxPacket = 32 << 10 // bytes of a job in one packet; the socket's buffer holds several
	maxRights = 200      // descriptors in one packet; the kernel takes 253 (unix(7))
)

// link is one end of the socketpair.
type link struct{ fd int }

// packet is one received message. Its descriptors are close-on-exec.
type packet struct {
	data []byte
	fds  []int
}

// send writes one packet with its descriptors.
func (l *link) send(data []byte, fds ...int) error {
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	for {
		err := unix.Sendmsg(l.fd, data, oob, nil, unix.MSG_NOSIGNAL)
		if !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("sendmsg", err)
		}
	}
}

// receive reads one packet; io.EOF when the other end has closed.
func (l *link) receive() (packet, error) {
	data := make([]byte, maxPacket+1)
	oob := make([]byte, unix.CmsgSpace(4*(maxRights+1)))
	for {
		n, oobn, flags, _, err := unix.Recvmsg(l.fd, data, oob, unix.MSG_CMSG_CLOEXEC)
		// ECONNRESET, once: the other end closed without reading all. What it sent is there.
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.ECONNRESET) {
			continue
		}
		if err != nil {
			return packet{}, os.NewSyscallError("recvmsg", err)
		}
		p := packet{data: data[:n]}
		if oobn > 0 {
			if p.fds, err = rights(oob[:oobn]); err != nil {
				return packet{}, err
			}
		}
		if n == 0 && len(p.fds) == 0 {
			return packet{}, io.EOF
		}
		if flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 || n > maxPacket {
			closeAll(p.fds)
			return packet{}, fmt.Errorf("remote: a packet is too large")
		}
		return p, nil
	}
}

func rights(oob []byte) ([]int, error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	var fds []int
	for i := range messages {
		got, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			closeAll(fds)
			return nil, err
		}
		fds = append(fds, got...)
	}
	return fds, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}
