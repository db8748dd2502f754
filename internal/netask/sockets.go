package netask

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Sockets are the descriptors of one run, made when its namespaces are there.
type Sockets struct {
	User, Net int // /proc/PID/ns/user and net

	// Of mode proxy: listening, bound, and listening again. Otherwise -1.
	Proxy, LookupUDP, LookupTCP int
}

// headers are the lines that name the descriptors of a message, in their order.
var headers = map[bool]string{false: "user net\n", true: "user net proxy lookup_udp lookup_tcp\n"}

func (s *Sockets) list(proxy bool) []*int {
	list := []*int{&s.User, &s.Net}
	if proxy {
		list = append(list, &s.Proxy, &s.LookupUDP, &s.LookupTCP)
	}
	return list
}

// Send sends the descriptors, which stay the caller's.
func (s *Sockets) Send(control syscall.RawConn, proxy bool) error {
	var fds []int
	for _, fd := range s.list(proxy) {
		fds = append(fds, *fd)
	}
	var err error
	werr := control.Write(func(to uintptr) bool {
		err = retried(func() error {
			return unix.Sendmsg(int(to), []byte(headers[proxy]), unix.UnixRights(fds...), nil, unix.MSG_NOSIGNAL)
		})
		return !errors.Is(err, unix.EAGAIN)
	})
	return os.NewSyscallError("sendmsg", errors.Join(werr, err))
}

// Receive receives exactly the descriptors of one message, which become the caller's,
// close-on-exec (MSG_CMSG_CLOEXEC, Linux 2.6.23). On an error there are none.
func Receive(control syscall.RawConn, proxy bool) (Sockets, error) {
	s := Sockets{User: -1, Net: -1, Proxy: -1, LookupUDP: -1, LookupTCP: -1}
	text, oob := make([]byte, 256), make([]byte, unix.CmsgSpace(4*16))
	var n, m, flags int
	var err error
	rerr := control.Read(func(from uintptr) bool {
		err = retried(func() (e error) {
			n, m, flags, _, e = unix.Recvmsg(int(from), text, oob, unix.MSG_CMSG_CLOEXEC)
			return e
		})
		return !errors.Is(err, unix.EAGAIN)
	})
	if err := errors.Join(rerr, err); err != nil {
		return s, os.NewSyscallError("recvmsg", err)
	}
	fds, err := rights(oob[:m])
	switch {
	case err != nil:
	case flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0:
		err = errors.New("descriptors: the message is cut off")
	case string(text[:n]) != headers[proxy]:
		err = fmt.Errorf("descriptors: %q where %q belongs", text[:n], headers[proxy])
	case len(fds) != strings.Count(headers[proxy], " ")+1:
		err = fmt.Errorf("descriptors: %d of them, not those of %q", len(fds), headers[proxy])
	}
	if err != nil {
		for _, fd := range fds {
			unix.Close(fd)
		}
		return s, err
	}
	for i, fd := range s.list(proxy) {
		*fd = fds[i]
	}
	return s, nil
}

// rights takes every descriptor out of the control data.
func rights(oob []byte) (fds []int, err error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, os.NewSyscallError("recvmsg", err)
	}
	for i := range messages {
		list, e := unix.ParseUnixRights(&messages[i])
		fds, err = append(fds, list...), errors.Join(err, e)
	}
	return fds, err
}

// retried calls again what a signal interrupted.
func retried(f func() error) (err error) {
	for {
		if err = f(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
