package explain

import (
	"encoding/binary"
	"net"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/launcher"

	"brainbox/internal/needs"
)

// ownLoopback is a judge of a program with a network of its own.
type ownLoopback struct{ grants }

func (o ownLoopback) Judge(op launcher.Operation) launcher.Judgement {
	if op.Op == launcher.OpConnect && op.Path == "127.0.0.1" {
		return launcher.Judgement{Verdict: launcher.Allowed}
	}
	return o.grants.Judge(op)
}

func inetAddress(port uint16, host [4]byte) []byte {
	b := binary.BigEndian.AppendUint16(socketAddress(unix.AF_INET), port)
	return append(append(b, host[:]...), make([]byte, 8)...)
}

func inet6Address(port uint16, host [16]byte) []byte {
	b := binary.BigEndian.AppendUint16(socketAddress(unix.AF_INET6), port)
	return append(append(append(b, 0, 0, 0, 0), host[:]...), 0, 0, 0, 0)
}

// In a network of the program's own its loopback is no denial, whoever listens; other addresses
// are.
func TestOwnNetwork(t *testing.T) {
	needs.Kernel(t)
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	port := uint16(ln.Addr().(*net.TCPAddr).Port)
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	w := newWatch(t, Config{Judge: ownLoopback{}, OwnNetwork: true})
	mapped := [16]byte{10: 0xff, 11: 0xff, 12: 127, 15: 1}
	for _, c := range []struct {
		want    string
		address []byte
	}{
		{"", inetAddress(port, [4]byte{127, 0, 0, 1})},
		{"", inet6Address(port, mapped)},
		{"connect refused", inetAddress(port, [4]byte{192, 0, 2, 1})},
	} {
		if got := words(w.call("connect", fd, c.address, len(c.address)), ""); got != c.want {
			t.Errorf("%q: got %q, want %q", c.address, got, c.want)
		}
	}
	shared := newWatch(t, Config{Judge: ownLoopback{}})
	address := inetAddress(port, [4]byte{127, 0, 0, 1})
	if got := words(shared.call("connect", fd, address, len(address)), ""); got != "connect refused" {
		t.Errorf("in the host's network: %q", got)
	}
}

func TestHasListener(t *testing.T) {
	text := []byte("  sl  local_address rem_address   st tx_queue\n" +
		"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000\n" +
		"   1: 0100007F:0050 0100007F:1F90 01 00000000:00000000\n")
	for port, want := range map[uint16]bool{8080: true, 80: false, 0: false} {
		if got := hasListener(text, port); got != want {
			t.Errorf("%d: %v", port, got)
		}
	}
}

func TestPortZeroIsAPort(t *testing.T) {
	d := &Denial{Seen: Seen{Operation: launcher.Operation{Op: launcher.OpBind}, Judgement: launcher.Judgement{Place: "0"}}}
	if got := d.target(); got != "port 0" {
		t.Errorf("target = %q", got)
	}
}
