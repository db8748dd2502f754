package seccomp

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// TestDatagramPairsReachNoSocketFile is esc/IP-21.
func TestDatagramPairsReachNoSocketFile(t *testing.T) {
	needs.Seccomp(t)
	dir := workDir(t)
	name := &unix.SockaddrUnix{Name: filepath.Join(dir, "canary")}
	if needs.IsChild(t) {
		filtered(t, Options{}, dir)
		for _, typ := range []int{unix.SOCK_DGRAM, unix.SOCK_RAW, unix.SOCK_DGRAM | unix.SOCK_CLOEXEC} {
			if err := sendFromPair(typ, name); !errors.Is(err, unix.EPERM) {
				t.Errorf("a pair of type %#x sends: %v, want EPERM", typ, err)
			}
		}
		for _, typ := range []int{unix.SOCK_STREAM, unix.SOCK_SEQPACKET | unix.SOCK_NONBLOCK} {
			if err := sendFromPair(typ, name); err == nil || errors.Is(err, unix.EPERM) {
				t.Errorf("a pair of type %#x sends: %v, want a pair that is connected already", typ, err)
			}
		}
		return
	}
	canary, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name.Name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = canary.Close() }()
	if err := sendFromPair(unix.SOCK_DGRAM, name); err != nil || !received(t, canary) {
		t.Fatalf("without a filter: %v; want the datagram to arrive", err) // the positive control
	}
	filtered(t, Options{}, dir)
	if received(t, canary) {
		t.Error("a datagram arrived from under the filter")
	}
}

// sendFromPair sends from one end of a socket pair to a socket file.
func sendFromPair(typ int, to *unix.SockaddrUnix) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, typ, 0)
	if err != nil {
		return err
	}
	defer func() { _, _ = unix.Close(pair[0]), unix.Close(pair[1]) }()
	if err := unix.Sendto(pair[0], []byte("x"), 0, to); err != nil {
		return err
	}
	return errors.Join(unix.Connect(pair[0], to))
}

// received reports whether a datagram waits at the canary.
func received(t *testing.T, canary *net.UnixConn) bool {
	t.Helper()
	if err := canary.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	raw, err := canary.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	n := -1
	if err := raw.Control(func(fd uintptr) {
		n, _, _ = unix.Recvfrom(int(fd), make([]byte, 8), unix.MSG_DONTWAIT)
	}); err != nil {
		t.Fatal(err)
	}
	return n > 0
}

// TestFastOpenReachesNoListener is esc/NW-04, with TCP allowed.
func TestFastOpenReachesNoListener(t *testing.T) {
	needs.Seccomp(t)
	const portVar = "BRAINBOX_TEST_SECCOMP_PORT"
	if needs.IsChild(t) {
		filtered(t, Options{Network: NetPorts}, "")
		port, err := strconv.Atoi(os.Getenv(portVar))
		if err != nil {
			t.Fatal(err)
		}
		if err := fastOpen(port, unix.MSG_FASTOPEN); !errors.Is(err, unix.EPERM) {
			t.Errorf("sendto with MSG_FASTOPEN = %v, want EPERM", err)
		}
		if err := fastOpen(port, 0); !errors.Is(err, unix.EPIPE) && !errors.Is(err, unix.ENOTCONN) {
			t.Errorf("sendto without it = %v, want a socket that is not connected", err)
		}
		return
	}
	listener, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	port := listener.Addr().(*net.TCPAddr).Port
	if err := fastOpen(port, unix.MSG_FASTOPEN); err != nil {
		t.Skipf("without a filter: %v", err) // gating: tcp_fastopen may be off
	}
	if !accepted(t, listener) {
		t.Fatal("without a filter: the listener got nothing")
	}
	needs.RunChild(t, portVar+"="+strconv.Itoa(port))
	if accepted(t, listener) {
		t.Error("a connection arrived from under the filter")
	}
}

func fastOpen(port, flags int) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	to := &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}
	return unix.Sendto(fd, []byte("x"), flags|unix.MSG_NOSIGNAL, to)
}

// accepted takes one waiting connection; the handshake on loopback is over when
// the sender returns.
func accepted(t *testing.T, l *net.TCPListener) bool {
	t.Helper()
	if err := l.SetDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	c, err := l.Accept()
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}
