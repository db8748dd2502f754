package launcher

import (
	"errors"
	"net"
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// socketFD makes a socket that is closed when the test ends.
func socketFD(t *testing.T, family, kind int) int {
	t.Helper()
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	return fd
}

func pairFD(t *testing.T, kind int) int {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = unix.Close(pair[0]), unix.Close(pair[1]) })
	return pair[0]
}

// connectedFD is a socket with a peer on this machine.
func connectedFD(t *testing.T, network string) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	c, err := net.Dial(network, l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	f, err := c.(interface{ File() (*os.File, error) }).File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return int(f.Fd())
}

func TestStdioRefusesWhatIsAGrantOfItsOwn(t *testing.T) {
	folder, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	listening := socketFD(t, unix.AF_INET, unix.SOCK_STREAM)
	if err := unix.Listen(listening, 1); err != nil {
		t.Fatal(err)
	}
	for name, fd := range map[string]int{
		"a folder":               int(folder.Fd()),
		"UDP":                    socketFD(t, unix.AF_INET, unix.SOCK_DGRAM),
		"UDP by IPv6":            socketFD(t, unix.AF_INET6, unix.SOCK_DGRAM),
		"connected UDP":          connectedFD(t, "udp"),
		"netlink":                socketFD(t, unix.AF_NETLINK, unix.SOCK_RAW),
		"a datagram pair":        pairFD(t, unix.SOCK_DGRAM),
		"Unix without a peer":    socketFD(t, unix.AF_UNIX, unix.SOCK_STREAM),
		"TCP without a peer":     socketFD(t, unix.AF_INET, unix.SOCK_STREAM),
		"TCP that listens":       listening,
		"seqpacket without peer": socketFD(t, unix.AF_UNIX, unix.SOCK_SEQPACKET),
	} {
		for at := range 3 {
			fds := [3]int{-1, -1, -1}
			fds[at] = fd
			var r *Refusal
			if err := checkStdio(fds, reconnectOpen); !errors.As(err, &r) || r.Status != StatusRefused || r.Hint == "" {
				t.Errorf("%s as %d: %v, want a refusal with a hint", name, at, err)
			}
		}
	}
}

func TestStdioTakesPipesAndConnectedStreams(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	for name, fd := range map[string]int{
		"closed": -1, "a pipe": int(r.Fd()), "a stream pair": pairFD(t, unix.SOCK_STREAM),
		"a seqpacket pair": pairFD(t, unix.SOCK_SEQPACKET),
	} {
		if err := checkStdio([3]int{fd, fd, fd}, reconnectAnywhere); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// mptcpFD is a connected socket of multipath TCP, to which no rule of Landlock holds; -1 where
// the kernel has none.
func mptcpFD(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, unix.IPPROTO_MPTCP)
	if err != nil {
		return -1
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: l.Addr().(*net.TCPAddr).Port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	return fd
}

// esc/IN-05: a connected socket of the Internet is as good as one that is not, so that it is
// handed over only where something else refuses the next connection.
func TestHandedSocketsOfTheInternet(t *testing.T) {
	tcp, unix4 := connectedFD(t, "tcp"), pairFD(t, unix.SOCK_STREAM)
	for held, want := range map[reconnect][3]bool{ // TCP, MPTCP, Unix
		reconnectAnywhere: {false, false, true},
		reconnectByPort:   {true, false, true},
		reconnectOpen:     {true, true, true},
	} {
		for i, fd := range [...]int{tcp, mptcpFD(t), unix4} {
			if fd < 0 {
				continue
			}
			for name, err := range map[string]error{
				"standard input": checkStdio([3]int{fd, -1, -1}, held), "passed": checkHandedFD("descriptor 9", fd, held),
			} {
				var r *Refusal
				if refused := errors.As(err, &r); refused == want[i] || refused && r.Hint == "" {
					t.Errorf("held %d, socket %d, %s: %v", held, i, name, err)
				}
			}
		}
	}
}

// What that rests on: a connection of TCP can be undone, one of a Unix socket can't.
func TestWhichSocketsConnectAnew(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	to := &unix.SockaddrInet4{Port: l.Addr().(*net.TCPAddr).Port, Addr: [4]byte{127, 0, 0, 1}}
	for name, c := range map[string]struct {
		fd   int
		anew bool
	}{"TCP": {connectedFD(t, "tcp"), true}, "Unix": {pairFD(t, unix.SOCK_STREAM), false}} {
		var unspec unix.RawSockaddr // AF_UNSPEC is 0
		_, _, e := unix.Syscall(unix.SYS_CONNECT, uintptr(c.fd), uintptr(unsafe.Pointer(&unspec)), unsafe.Sizeof(unspec))
		if got := e == 0 && unix.Connect(c.fd, to) == nil; got != c.anew {
			t.Errorf("%s: connects anew: %v (%v), want %v", name, got, e, c.anew)
		}
	}
}

func TestWhatHoldsHandedSockets(t *testing.T) {
	ports, open := "[network]\nmode = \"ports\"\nconnect_tcp = [443]\n", "[network]\nmode = \"host\"\n"
	at := func(abi int) world {
		return world{host: host{abi: abi, uid: 1000, command: []string{"true"}}, tree: debian()}
	}
	for name, c := range map[string]struct {
		inside bool
		abi    int
		policy string
		want   reconnect
	}{
		"namespaces, none":      {true, 7, "", reconnectAnywhere},
		"namespaces, ports":     {true, 7, ports, reconnectByPort},
		"namespaces, host":      {true, 7, open, reconnectOpen},
		"landlock, none":        {false, 7, "", reconnectByPort},
		"landlock, none, abi 3": {false, 3, "", reconnectAnywhere},
		"landlock, ports":       {false, 7, ports, reconnectByPort},
		"landlock, host":        {false, 7, open, reconnectOpen},
	} {
		pol := resolve(t, bare+c.policy)
		w := at(c.abi)
		f := w.facts(pol)
		p := newPlan(pol, f, c.inside)
		if got := p.reconnects(f); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	p, f := insidePlan(t, reaching(), bare+"[network]\nmode = \"proxy\"\nallow_hosts = [\"a.example\"]\n")
	if got := p.reconnects(f); got != reconnectAnywhere || p.Network == nil {
		t.Errorf("proxy: %d", got)
	}
}
