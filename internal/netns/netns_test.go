package netns

import (
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// up makes sockets, the first of which was used to set routes.
func up(ns NS, want ...Socket) (fds []int, six bool, err error) {
	if fds, err = ns.Sockets(append([]Socket{Routing()}, want...)...); err != nil {
		return nil, false, err
	}
	six, err = Up(fds[0])
	unix.Close(fds[0])
	return fds[1:], six, err
}

// answerOne accepts one connection, or takes one datagram, answers it, and says what
// address it was for.
func answerOne(t testing.TB, fd int) string {
	t.Helper()
	readable(t, fd)
	conn, _, err := unix.Accept4(fd, unix.SOCK_CLOEXEC)
	if err != nil {
		var b [8]byte
		_, from, err := unix.Recvfrom(fd, b[:], 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Sendto(fd, []byte("u"), 0, from); err != nil {
			t.Fatal(err)
		}
		sa, err := unix.Getsockname(fd)
		if err != nil {
			t.Fatal(err)
		}
		return addrPort(sa)
	}
	defer unix.Close(conn)
	var b [1]byte
	if how, err := unix.GetsockoptString(conn, unix.IPPROTO_TCP, unix.TCP_CONGESTION); strings.TrimRight(how, "\x00") != "reno" {
		t.Errorf("what is accepted sends by %q, %v", how, err)
	}
	if n, err := unix.Read(conn, b[:]); n != 1 || err != nil {
		t.Fatalf("read: %d, %v", n, err)
	}
	if _, err := unix.Write(conn, []byte("t")); err != nil {
		t.Fatal(err)
	}
	sa, err := unix.Getsockname(conn)
	if err != nil {
		t.Fatal(err)
	}
	return addrPort(sa)
}

// options has what Listen promises of a socket: nothing shares it, and one of IPv6 takes no
// connection of IPv4, also at [::].
func options(t *testing.T, fd, family int, network string) {
	t.Helper()
	stream := 0
	if network == "tcp" {
		stream = 1
	}
	want := map[string][3]int{
		"SO_REUSEADDR": {unix.SOL_SOCKET, unix.SO_REUSEADDR, stream}, "SO_REUSEPORT": {unix.SOL_SOCKET, unix.SO_REUSEPORT, 0},
	}
	if family == unix.AF_INET6 {
		want["IPV6_V6ONLY"] = [3]int{unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1}
	}
	for name, o := range want {
		if got, err := unix.GetsockoptInt(fd, o[0], o[1]); err != nil || got != o[2] {
			t.Errorf("%s: %s is %d, want %d (%v)", network, name, got, o[2], err)
		}
	}
}

// Every address is the program's own: refused at once, reached where there is a listener.
func TestEveryAddress(t *testing.T) {
	var six bool
	a := inside(t, nil, func(ns NS) (err error) {
		_, six, err = up(ns)
		return err
	})
	for _, c := range []struct{ to, from string }{
		{"127.0.0.1:53", "127.0.0.1"},
		{"127.0.0.1:1023", "127.0.0.1"},
		{"198.18.3.4:443", "198.18.3.4"},
		{"192.0.2.1:22", "192.0.2.1"},
		{"10.1.2.3:80", "10.1.2.3"},
		{"169.254.169.254:80", "169.254.169.254"},
		{"240.0.0.1:8080", "240.0.0.1"},
		{"[::1]:53", "::1"},
		{"[fd12:3456:789a::7]:443", "::1"},
		{"[2001:db8::1]:80", "::1"},
		{"[2001:db8::1]:8080", "::1"},
	} {
		to := netip.MustParseAddrPort(c.to)
		sa, family := sockaddr(to)
		if family == unix.AF_INET6 && !six {
			t.Logf("%v: there is no IPv6 here", to)
			continue
		}
		for _, network := range []string{"tcp", "udp"} {
			if got := a.ask("dial %s %v", network, to); got != "ECONNREFUSED" {
				t.Errorf("%s %v without a listener: %s", network, to, got)
			}
			fds, err := a.ns.Sockets(Socket{family, kindOf(network), 0})
			if err != nil {
				t.Fatal(err)
			}
			if err := Listen(fds[0], sa); err != nil {
				t.Fatalf("%s %v: %v", network, to, err)
			}
			options(t, fds[0], family, network)
			a.tell("dial %s %v", network, to)
			if got := answerOne(t, fds[0]); got != c.to {
				t.Errorf("%s: the listener sees %s, want %s", network, got, c.to)
			}
			if got, want := a.answer(), "from "+c.from+" got "+network[:1]; got != want {
				t.Errorf("%s %v: %s, want %s", network, to, got, want)
			}
			unix.Close(fds[0])
		}
	}
	if six { // by itself one of all addresses takes connections of IPv4 as well (ipv6(7))
		fds, err := a.ns.Sockets(TCP6())
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fds[0])
		if err := Listen(fds[0], &unix.SockaddrInet6{Port: 8443}); err != nil {
			t.Fatal(err)
		}
		options(t, fds[0], unix.AF_INET6, "tcp")
		if got := a.ask("dial tcp 127.0.0.1:8443"); got != "ECONNREFUSED" {
			t.Errorf("by IPv4: %s", got)
		}
	}
}
