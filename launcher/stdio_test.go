package launcher

import (
	"errors"
	"net"
	"os"
	"testing"

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
			if err := checkStdio(fds); !errors.As(err, &r) || r.Status != StatusRefused || r.Hint == "" {
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
		"a seqpacket pair": pairFD(t, unix.SOCK_SEQPACKET), "connected TCP": connectedFD(t, "tcp"),
	} {
		if err := checkStdio([3]int{fd, fd, fd}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
