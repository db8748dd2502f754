package integration

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// listeners are sockets of the host that count what reaches them.
type listeners struct {
	vars map[string]string
	got  atomic.Int64
}

// listen opens one socket of each kind; they end with the test.
func listen(t testing.TB, dir string) *listeners {
	t.Helper()
	l := &listeners{vars: map[string]string{}}
	// A socket's path has 107 bytes, less than a test's folder may have.
	short, err := os.MkdirTemp("", "bb-") //nolint:usetesting // t.TempDir's names are too long
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(short) })
	must(t, os.Symlink(dir, filepath.Join(short, "outside")))

	l.stream(t, "TCP4", "tcp4", "127.0.0.1:0")
	l.stream(t, "TCP6", "tcp6", "[::1]:0")
	l.stream(t, "UNIX", "unix", filepath.Join(short, "stream"))
	l.stream(t, "SEQPACKET", "unixpacket", filepath.Join(short, "seqpacket"))
	name := fmt.Sprintf("brainbox-test-%d-%s", os.Getpid(), filepath.Base(short))
	l.stream(t, "ABSTRACT", "unix", "@"+name)
	l.packet(t, "UDP4", "udp4", "127.0.0.1:0")
	l.packet(t, "UDP6", "udp6", "[::1]:0")
	l.packet(t, "DGRAM", "unixgram", filepath.Join(short, "dgram"))
	l.packet(t, "ABSTRACTDGRAM", "unixgram", "@"+name+"-d")
	return l
}

// stream counts connections, and the bytes of each.
func (l *listeners) stream(t testing.TB, variable, network, address string) {
	t.Helper()
	ln, err := net.Listen(network, address)
	if errors.Is(err, unix.EADDRNOTAVAIL) || errors.Is(err, unix.EAFNOSUPPORT) {
		return // no IPv6 here: the row's control says so
	}
	must(t, err)
	t.Cleanup(func() { _ = ln.Close() })
	l.name(variable, ln.Addr())
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			l.got.Add(1)
			_ = conn.Close()
		}
	}()
}

// packet counts datagrams.
func (l *listeners) packet(t testing.TB, variable, network, address string) {
	t.Helper()
	conn, err := net.ListenPacket(network, address)
	if errors.Is(err, unix.EADDRNOTAVAIL) || errors.Is(err, unix.EAFNOSUPPORT) {
		return
	}
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	l.name(variable, conn.LocalAddr())
	go func() {
		var b [2048]byte
		for {
			if _, _, err := conn.ReadFrom(b[:]); err != nil {
				return
			}
			l.got.Add(1)
		}
	}()
}

// name keeps the address as the victim takes it.
func (l *listeners) name(variable string, at net.Addr) {
	switch a := at.(type) {
	case *net.TCPAddr:
		l.vars[variable] = a.String()
	case *net.UDPAddr:
		l.vars[variable] = a.String()
	default:
		l.vars[variable] = trimAt(at.String())
	}
}

func trimAt(name string) string {
	if name != "" && name[0] == '@' {
		return name[1:]
	}
	return name
}
