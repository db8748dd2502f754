package landlock

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"brainbox/internal/needs"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// TestTheKernelHasNoOtherRights: what a ruleset does not handle is open. A kernel of a known
// ABI takes every right and scope that is known of it, and none besides.
func TestTheKernelHasNoOtherRights(t *testing.T) {
	sup := probe(t, 1)
	if sup.ABI > Known {
		t.Skipf("the kernel has ABI %d, later than those known", sup.ABI) // gating: nothing is known of it
	}
	all := map[string]struct {
		bits uint64
		set  func(*ll.RulesetAttr) *uint64
	}{
		"files":   {handledFS(sup.ABI), func(a *ll.RulesetAttr) *uint64 { return &a.HandledAccessFS }},
		"network": {knownNet(sup.ABI), func(a *ll.RulesetAttr) *uint64 { return &a.HandledAccessNet }},
		"scopes":  {knownScopes(sup.ABI), func(a *ll.RulesetAttr) *uint64 { return &a.Scoped }},
	}
	for name, kind := range all {
		for bit := range 64 {
			attr := ll.RulesetAttr{HandledAccessFS: ll.AccessFSExecute} // a ruleset must handle something
			*kind.set(&attr) |= 1 << bit
			fd, err := ll.LandlockCreateRuleset(&attr, 0)
			if err == nil {
				_ = unix.Close(fd)
			}
			if known := kind.bits&(1<<bit) != 0; known != (err == nil) {
				t.Errorf("ABI %d, %s, bit %d: %v, want it taken: %v", sup.ABI, name, bit, err, known)
			}
		}
	}
}

// knownNet is every right on sockets that the ABI has; those of UDP are not used.
func knownNet(abi int) uint64 {
	if abi < 10 {
		return handledTCP(abi)
	}
	return handledTCP(abi) | ll.AccessNetBindUDP | ll.AccessNetConnectSendUDP
}

func knownScopes(abi int) uint64 {
	if abi < 6 {
		return 0
	}
	return ll.ScopeAbstractUnixSocket | ll.ScopeSignal
}

// TestSocketsByPath: from ABI 9 on a socket by path is reached only with a rule that says so,
// by connect(2) and by sendto(2); what was made inside is reached in any case, and what
// was connected before goes on.
func TestSocketsByPath(t *testing.T) {
	needs.LandlockABI(t, 9)
	if needs.IsChild(t) {
		socketsChild(t, os.Getenv(rootMark))
		return
	}
	root := t.TempDir()
	layout(t, root)
	var streams, datagrams []int
	for _, zone := range []string{zoneWrite, zoneAlso} {
		l := listen(t, &unix.SockaddrUnix{Name: filepath.Join(root, zone, "s")})
		wantErrno(t, "control: connect from outside", connect(&unix.SockaddrUnix{Name: filepath.Join(root, zone, "s")}), 0)
		if n := l.arrived(t); n != 1 {
			t.Fatalf("control: %d connections, want 1", n)
		}
		streams = append(streams, l.fd)
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		must(t, err)
		t.Cleanup(func() { _ = unix.Close(fd) })
		must(t, unix.Bind(fd, &unix.SockaddrUnix{Name: filepath.Join(root, zone, "d")}))
		wantErrno(t, "control: sendto from outside", sendto(filepath.Join(root, zone, "d")), 0)
		if n := datagramsIn(fd); n != 1 {
			t.Fatalf("control: %d datagrams, want 1", n)
		}
		datagrams = append(datagrams, fd)
	}
	needs.RunChild(t, rootMark+"="+root)
	for i, want := range []int{0, 2} { // a connection before, and one by the rule
		if n := (listener{fd: streams[i]}).arrived(t); n != want {
			t.Errorf("%d connections arrived at %d, want %d", n, i, want)
		}
		if n := datagramsIn(datagrams[i]); n != want/2 {
			t.Errorf("%d datagrams arrived at %d, want %d", n, i, want/2)
		}
	}
}

func socketsChild(t *testing.T, root string) {
	t.Helper()
	at := func(zone, name string) *unix.SockaddrUnix {
		return &unix.SockaddrUnix{Name: filepath.Join(root, zone, name)}
	}
	before, err := socket(at(zoneAlso, "s"), unix.SOCK_STREAM)
	must(t, err)
	must(t, unix.Connect(before, at(zoneAlso, "s")))
	list := rules(t, root)
	list = append(list,
		Rule{FD: hold(t, filepath.Join(root, zoneAlso, "s")), Unix: true},
		Rule{FD: hold(t, filepath.Join(root, zoneAlso, "d")), Unix: true})
	confine(t, Spec{Rules: list})
	wantErrno(t, "connect without a rule", connect(at(zoneWrite, "s")), unix.EACCES)
	wantErrno(t, "sendto without a rule", sendto(at(zoneWrite, "d").Name), unix.EACCES)
	wantErrno(t, "connect by the descriptor of the folder", connect(&unix.SockaddrUnix{
		Name: "/proc/self/fd/" + strconv.Itoa(hold(t, filepath.Join(root, zoneWrite))) + "/s",
	}), unix.EACCES)
	wantErrno(t, "connect by a rule", connect(at(zoneAlso, "s")), 0)
	wantErrno(t, "sendto by a rule", sendto(at(zoneAlso, "d").Name), 0)
	own := at(zoneWrite, "own")
	listen(t, own)
	wantErrno(t, "connect inside", connect(own), 0)
	_, err = unix.Write(before, []byte("x"))
	wantErrno(t, "write to what was connected before", err, 0)
}

// sendto sends one datagram to a socket by path.
func sendto(path string) error {
	return withSocketOf(unix.SOCK_DGRAM, &unix.SockaddrUnix{Name: path}, func(fd int, to unix.Sockaddr) error {
		return unix.Sendto(fd, []byte("x"), 0, to)
	})
}

// datagramsIn counts what has arrived since the last call.
func datagramsIn(fd int) int {
	for n := 0; ; n++ {
		if _, _, err := unix.Recvfrom(fd, make([]byte, 8), 0); err != nil {
			return n
		}
	}
}
