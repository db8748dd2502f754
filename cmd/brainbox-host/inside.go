package main

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/netns"
)

// batch is how many sockets are made at once: each time a child of this process is.
const batch = 16

// inside makes TCP sockets in the network of a run's program.
type inside struct {
	make    func(six bool) ([]int, error) // some more, of one family
	release func()                        // called at the end; nil: nothing

	mu   sync.Mutex
	free [2][]int // of IPv4 and IPv6
	gone bool
}

// newInside makes them in ns, which becomes its own.
func newInside(ns netns.NS) *inside {
	return &inside{
		make: func(six bool) ([]int, error) {
			want := make([]netns.Socket, batch)
			for i := range want {
				want[i] = netns.TCP4()
				if six {
					want[i] = netns.TCP6()
				}
			}
			return ns.Sockets(want...)
		},
		release: func() { unix.Close(ns.User); unix.Close(ns.Net) },
	}
}

// socket returns one that is neither bound nor connected. It is the caller's.
func (in *inside) socket(six bool) (int, error) {
	at := 0
	if six {
		at = 1
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.gone {
		return -1, net.ErrClosed
	}
	if len(in.free[at]) == 0 {
		fds, err := in.make(six)
		if err != nil {
			return -1, err
		}
		in.free[at] = fds
	}
	last := len(in.free[at]) - 1
	fd := in.free[at][last]
	in.free[at] = in.free[at][:last]
	return fd, nil
}

// Listen makes a listening socket at an address.
func (in *inside) Listen(at netip.AddrPort) (net.Listener, error) {
	fd, err := in.socket(at.Addr().Is6())
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), at.String())
	defer f.Close()
	if err := netns.Listen(fd, sockaddr(at)); err != nil {
		return nil, err
	}
	return net.FileListener(f)
}

// dial connects to an address.
func (in *inside) dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	fd, err := in.socket(to.Addr().Is6())
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), to.String()) // it does not block, so that the runtime waits for it
	defer f.Close()
	defer context.AfterFunc(ctx, func() { _ = f.SetDeadline(time.Unix(1, 0)) })()
	if err := connect(f, sockaddr(to)); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, err
	}
	conn, err := net.FileConn(f)
	if err == nil && conn.LocalAddr().String() == conn.RemoteAddr().String() {
		// Nobody listens, and the kernel chose the very port that was asked for: it met itself,
		// and as long as it lasts the program cannot bind the port (RFC 9293, section 3.5).
		return nil, errors.Join(os.NewSyscallError("connect", unix.ECONNREFUSED), conn.Close())
	}
	return conn, err
}

// connect waits for a connection: asked again connect(2) says how far it is.
func connect(f *os.File, to unix.Sockaddr) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var answer error
	err = conn.Write(func(fd uintptr) bool {
		for answer = unix.EINTR; answer == unix.EINTR; {
			answer = unix.Connect(int(fd), to)
		}
		return answer != unix.EINPROGRESS && answer != unix.EALREADY
	})
	if err != nil {
		return err
	}
	if answer == unix.EISCONN {
		return nil
	}
	return os.NewSyscallError("connect", answer)
}

func sockaddr(a netip.AddrPort) unix.Sockaddr {
	if a.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
	}
	return &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
}

// close gives back what was not used. No socket is made any more.
func (in *inside) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.gone = true
	for _, list := range in.free {
		for _, fd := range list {
			unix.Close(fd)
		}
	}
	in.free = [2][]int{}
	if in.release != nil {
		in.release()
	}
}
