package landlock

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"

	"brainbox/internal/needs"

	"golang.org/x/sys/unix"
)

// listener stands outside. What reached it is counted when the child has ended:
// a connection waits in the backlog until then.
type listener struct {
	fd, port int
}

func listen(t *testing.T, at unix.Sockaddr) listener {
	t.Helper()
	fd, err := socket(at, unix.SOCK_STREAM|unix.SOCK_NONBLOCK)
	must(t, err)
	t.Cleanup(func() { _ = unix.Close(fd) })
	must(t, unix.Bind(fd, at))
	must(t, unix.Listen(fd, 16))
	name, err := unix.Getsockname(fd)
	must(t, err)
	switch a := name.(type) {
	case *unix.SockaddrInet4:
		return listener{fd, a.Port}
	case *unix.SockaddrInet6:
		return listener{fd, a.Port}
	}
	return listener{fd: fd}
}

// arrived counts the connections since the last call.
func (l listener) arrived(t *testing.T) int {
	t.Helper()
	for n := 0; ; n++ {
		fd, _, err := unix.Accept4(l.fd, unix.SOCK_CLOEXEC)
		if errors.Is(err, unix.EAGAIN) {
			return n
		}
		must(t, err)
		_ = unix.Close(fd)
	}
}

// socket makes a socket of the address's family.
func socket(like unix.Sockaddr, kind int) (int, error) {
	family := unix.AF_INET
	switch like.(type) {
	case *unix.SockaddrInet6:
		family = unix.AF_INET6
	case *unix.SockaddrUnix:
		family = unix.AF_UNIX
	}
	return unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
}

// connect opens a stream connection on the calling thread, and closes it.
func connect(to unix.Sockaddr) error { return withSocket(to, unix.Connect) }

// bind binds a stream socket on the calling thread, and closes it.
func bind(to unix.Sockaddr) error { return withSocket(to, unix.Bind) }

func withSocket(to unix.Sockaddr, do func(int, unix.Sockaddr) error) error {
	return withSocketOf(unix.SOCK_STREAM, to, do)
}

func withSocketOf(kind int, to unix.Sockaddr, do func(int, unix.Sockaddr) error) error {
	fd, err := socket(to, kind)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return do(fd, to)
}

func v4(port int) unix.Sockaddr {
	return &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}
}

func v6(port int) unix.Sockaddr {
	return &unix.SockaddrInet6{Port: port, Addr: [16]byte{15: 1}}
}

func mapped(port int) unix.Sockaddr {
	return &unix.SockaddrInet6{Port: port, Addr: [16]byte{10: 0xff, 11: 0xff, 12: 127, 15: 1}}
}

// given reads a number that the first process handed over.
func given(t *testing.T, name string) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv(name))
	must(t, err)
	return n
}

func TestTCP(t *testing.T) {
	needs.LandlockABI(t, 4)
	if needs.IsChild(t) {
		tcpChild(t)
		return
	}
	four, six, listed := listen(t, v4(0)), listen(t, v6(0)), listen(t, v4(0))
	for _, to := range []unix.Sockaddr{v4(four.port), v6(six.port), mapped(four.port)} {
		wantErrno(t, "control: connect from outside", connect(to), 0)
	}
	if a, b := four.arrived(t), six.arrived(t); a != 2 || b != 1 {
		t.Fatalf("control: %d and %d connections, want 2 and 1", a, b)
	}
	needs.RunChild(t, fmt.Sprintf("FOUR=%d", four.port), fmt.Sprintf("SIX=%d", six.port),
		fmt.Sprintf("LISTED=%d", listed.port))
	if a, b, c := four.arrived(t), six.arrived(t), listed.arrived(t); a != 0 || b != 0 || c != 2 {
		t.Errorf("%d, %d, %d connections arrived, want 0, 0, 2", a, b, c)
	}
	wantErrno(t, "connect from outside afterwards", connect(v4(four.port)), 0)
}

func tcpChild(t *testing.T) {
	t.Helper()
	listed, four, six := given(t, "LISTED"), given(t, "FOUR"), given(t, "SIX")
	confine(t, Spec{ConnectTCP: []uint16{uint16(listed)}, BindTCP: []uint16{0}})
	wantErrno(t, "esc/NW-01 connect by IPv4", connect(v4(four)), unix.EACCES)
	wantErrno(t, "esc/NW-01 connect by IPv6", connect(v6(six)), unix.EACCES)
	wantErrno(t, "esc/NW-02 connect by mapped IPv4", connect(mapped(four)), unix.EACCES)
	wantErrno(t, "esc/NW-09 bind to a port", bind(v4(1)), unix.EACCES)
	wantErrno(t, "esc/NW-09 bind to a port that connect may use", bind(v4(listed)), unix.EACCES)
	wantErrno(t, "bind to a port that the kernel chooses", bind(v4(0)), 0)
	wantErrno(t, "connect to the listed port", connect(v4(listed)), 0)
	wantErrno(t, "connect to the listed port, mapped", connect(mapped(listed)), 0)
	// esc/NW-10: declared open, to be closed by seccomp or a network namespace.
	fd, err := socket(v4(0), unix.SOCK_STREAM)
	must(t, err)
	wantErrno(t, "listen without bind", unix.Listen(fd, 1), 0)
}

func TestOpenTCP(t *testing.T) {
	needs.LandlockABI(t, 4)
	if needs.IsChild(t) {
		to := given(t, "PORT")
		confine(t, Spec{OpenTCP: true})
		wantErrno(t, "connect", connect(v4(to)), 0)
		wantErrno(t, "a file all the same", open("/etc/passwd", unix.O_RDONLY), unix.EACCES)
		return
	}
	l := listen(t, v4(0))
	needs.RunChild(t, fmt.Sprintf("PORT=%d", l.port))
	if n := l.arrived(t); n != 1 {
		t.Errorf("%d connections arrived, want 1", n)
	}
}

func TestAbstractUnix(t *testing.T) {
	for name, isOpen := range map[string]bool{"refused": false, "open": true} {
		t.Run(name, func(t *testing.T) {
			needs.LandlockABI(t, 6)
			want, arrive := unix.EPERM, 0
			if isOpen {
				want, arrive = 0, 1
			}
			if needs.IsChild(t) {
				confine(t, Spec{OpenAbstractUnix: isOpen})
				wantErrno(t, "connect outside", connect(&unix.SockaddrUnix{Name: os.Getenv("NAME")}), want)
				own := &unix.SockaddrUnix{Name: os.Getenv("NAME") + "-own"}
				listen(t, own)
				wantErrno(t, "connect inside", connect(own), 0)
				return
			}
			address := &unix.SockaddrUnix{Name: fmt.Sprintf("@brainbox-landlock-%d-%s", os.Getpid(), name)}
			l := listen(t, address)
			wantErrno(t, "control: connect from outside", connect(address), 0)
			if n := l.arrived(t); n != 1 {
				t.Fatalf("control: %d connections, want 1", n)
			}
			needs.RunChild(t, "NAME="+address.Name)
			if n := l.arrived(t); n != arrive {
				t.Errorf("%d connections arrived, want %d", n, arrive)
			}
		})
	}
}
