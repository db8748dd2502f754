package netns

import (
	"bufio"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const agentEnv = "NETNS_TEST_AGENT"

func TestMain(m *testing.M) {
	if os.Getenv(agentEnv) != "" {
		os.Exit(serve())
	}
	if os.Getenv(laterEnv) != "" {
		os.Exit(later())
	}
	os.Exit(m.Run())
}

// serve is the program inside: it answers each line of its input with one.
func serve() int {
	in := bufio.NewScanner(os.Stdin)
	var kept []int
	defer func() {
		for _, fd := range kept {
			unix.Close(fd)
		}
	}()
	for in.Scan() {
		f := strings.Fields(in.Text())
		out := ""
		switch f[0] {
		case "dial":
			out = dial(f[1], netip.MustParseAddrPort(f[2]))
		case "bind":
			var fd int
			if fd, out = bind(f[1], netip.MustParseAddrPort(f[2]), f[3:]...); out == "ok" {
				kept = append(kept, fd)
			} else {
				unix.Close(fd)
			}
		case "up":
			out = ownUp()
		case "fds":
			out = descriptors()
		case "status":
			out = status(f[1])
		case "write":
			out = text(os.WriteFile(f[1], []byte(f[2]), 0))
		}
		fmt.Println(out)
	}
	return 0
}

// ownUp changes the routes from inside.
func ownUp() string {
	r := Routing()
	fd, err := unix.Socket(r.Domain, r.Type|unix.SOCK_CLOEXEC, r.Protocol)
	if err != nil {
		return text(err)
	}
	defer unix.Close(fd)
	_, err = Up(fd)
	return text(err)
}

func text(err error) string {
	var e unix.Errno
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &e):
		return unix.ErrnoName(e)
	}
	return err.Error()
}

// descriptors lists what is open but the standard ones and what only Go's poller holds.
func descriptors() string {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return text(err)
	}
	var out []string
	for _, e := range list {
		to, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err == nil && len(e.Name()) == 1 && e.Name() <= "2" || strings.HasPrefix(to, "anon_inode:[event") {
			continue
		}
		if err == nil { // not the listing's own, which is closed by now
			out = append(out, to)
		}
	}
	return strings.Join(out, " ")
}

func status(key string) string {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return text(err)
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, key+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	return "none"
}

func sockaddr(a netip.AddrPort) (unix.Sockaddr, int) {
	if a.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}, unix.AF_INET
	}
	return &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}, unix.AF_INET6
}

func addrPort(sa unix.Sockaddr) string {
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port)).String()
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(sa.Addr), uint16(sa.Port)).String()
	}
	return "none"
}

func kindOf(network string) int {
	if network == "udp" {
		return unix.SOCK_DGRAM
	}
	return unix.SOCK_STREAM
}

// dial connects, writes a byte and reads one back: a datagram that nobody takes is refused
// at the read. It says where it was connected from, without the port.
func dial(network string, to netip.AddrPort) string {
	sa, family := sockaddr(to)
	fd, err := unix.Socket(family, kindOf(network), 0)
	if err != nil {
		return text(err)
	}
	defer unix.Close(fd)
	if err := unix.Connect(fd, sa); err != nil {
		return text(err)
	}
	if _, err := unix.Write(fd, []byte("x")); err != nil {
		return text(err)
	}
	var b [64]byte
	n, err := unix.Read(fd, b[:])
	if err != nil {
		return text(err)
	}
	local, err := unix.Getsockname(fd)
	if err != nil {
		return text(err)
	}
	return "from " + netip.MustParseAddrPort(addrPort(local)).Addr().String() + " got " + string(b[:n])
}

// bind takes an address and listens, with the options named.
func bind(network string, to netip.AddrPort, options ...string) (int, string) {
	sa, family := sockaddr(to)
	fd, err := unix.Socket(family, kindOf(network), 0)
	if err != nil {
		return -1, text(err)
	}
	for _, o := range options {
		level, name := unix.SOL_SOCKET, map[string]int{"reuse": unix.SO_REUSEADDR, "share": unix.SO_REUSEPORT}[o]
		if o == "free" {
			level, name = unix.IPPROTO_IPV6, unix.IPV6_FREEBIND
		}
		if err := unix.SetsockoptInt(fd, level, name, 1); err != nil {
			return fd, text(err)
		}
	}
	if err := unix.Bind(fd, sa); err != nil {
		return fd, text(err)
	}
	if network == "udp" {
		return fd, "ok"
	}
	return fd, text(unix.Listen(fd, 1))
}
