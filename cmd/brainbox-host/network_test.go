package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"brainbox/internal/hostask"
	"brainbox/internal/netask"
	"brainbox/proxy"
	"brainbox/proxy/allow"
)

// patience is how long a condition may take on a slow machine.
const patience = 20 * time.Second

// A verb that serves a run is not one that a user can call by accident.
func TestRunVerbs(t *testing.T) {
	for _, args := range [][]string{nil, {"proxy"}, {"proxy", "--protocol=2"}, {"--protocol=1", "proxy"}, {"tool", "--protocol=1"}, {"proxy", "--protocol=1", "x"}} {
		if v := runVerbOf(args); v != nil {
			t.Errorf("%q: %s", args, v.name)
		}
	}
	for _, name := range []string{"bridge", "proxy"} { // positive control
		if v := runVerbOf([]string{name, "--protocol=1"}); v == nil || v.name != name {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

func TestBeginNetworkRefuses(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := netip.MustParseAddrPort(taken.Addr().String()).Port()
	for name, c := range map[string]*netask.Config{
		"a port that is taken": {Publish: []uint16{port}},
		"a rule that is none":  {Proxy: true, Rules: []netask.Rule{{Name: "no host"}}},
		"an upstream":          {Proxy: true, Upstream: "ftp://x"},
	} {
		if s, _, err := beginNetwork(bytes.NewReader(c.Encode())); err == nil {
			s.end()
			t.Errorf("%s is served", name)
		}
	}
	for name, text := range map[string]string{"nothing": "", "half a line": "{", "another line": "{}\n"} {
		if s, _, err := beginNetwork(bytes.NewReader([]byte(text))); err == nil {
			s.end()
			t.Errorf("%s is served", name)
		}
	}
	c := netask.Config{Proxy: true, Rules: []netask.Rule{{Name: "ok.test"}}} // positive control
	s, _, err := beginNetwork(bytes.NewReader(c.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	s.end()
}

// What leads back to the run itself is none of the hosts.
func TestOwn(t *testing.T) {
	n := &network{c: &netask.Config{Publish: []uint16{8080}}}
	for text, want := range map[string]bool{
		"127.0.0.1:8080": true, "127.9.9.9:8080": true, "[::1]:8080": true, "[::ffff:127.0.0.1]:8080": true,
		"127.0.0.1:8081": false, "192.0.2.1:8080": false,
	} {
		if got := n.own(netip.MustParseAddrPort(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// Every event of the proxy is one that brainbox reads, in order.
func TestRecord(t *testing.T) {
	var out bytes.Buffer
	n := &network{events: netask.NewSender(&out)}
	var want []netask.Event
	for path := allow.Connect; path <= allow.Lookup; path++ {
		n.record(proxy.Event{ID: 7, Path: path, Host: "a.test", Port: 1, Reason: allow.NotListed, Rule: -1})
		want = append(want, netask.Event{ID: 7, Path: pathWords[path], Host: "a.test", Port: 1, Reason: "not_listed", Rule: -1})
	}
	n.record(proxy.Event{ID: 8, Path: allow.Socks, Host: "a.test", Address: netip.MustParseAddrPort("[2001:db8::1]:1"), Closed: true, Sent: 1, Received: 2})
	want = append(want, netask.Event{ID: 8, Path: "socks", Host: "a.test", Address: "[2001:db8::1]:1", Closed: true, Sent: 1, Received: 2})
	n.note(allow.Query{Host: string(make([]byte, 999)), Path: allow.Lookup}, allow.Verdict{Reason: allow.Malformed, Rule: -1})
	want = append(want, netask.Event{Path: "lookup", Host: strings.Repeat("\uFFFD", 255), Reason: "malformed", Rule: -1})
	n.events.Close()
	var got []netask.Event
	for r := netask.NewReader(&out); ; {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What is sent in place of the descriptors is told, and nothing is served.
func TestServeRefusesOtherDescriptors(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours := os.NewFile(uintptr(pair[0]), "ours")
	defer ours.Close()
	control, err := passedConn(pair[1])
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	n := &network{c: &netask.Config{Proxy: true}}
	defer n.end()
	if _, err := ours.WriteString("user net\n"); err != nil {
		t.Fatal(err)
	}
	if err := n.receive(control.(*net.UnixConn), nil); err == nil {
		t.Error("it is served")
	}
	_ = ours.SetReadDeadline(time.Now().Add(patience))
	line, err := netask.NewReader(ours).Reply()
	if err != nil {
		t.Fatal(err)
	}
	if reply, err := hostask.DecodeReply(line); err != nil || reply.Error == "" {
		t.Errorf("%+v, %v", reply, err)
	}
}

// That nothing confines the host is told with the answer that the program waits for.
func TestWarningsComeWithTheSockets(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours := os.NewFile(uintptr(pair[0]), "ours")
	defer ours.Close()
	control, err := passedConn(pair[1])
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	raw, err := ours.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	sockets := netask.Sockets{User: int(ours.Fd()), Net: int(ours.Fd())} // what they are is not looked at
	if err := sockets.Send(raw, false); err != nil {
		t.Fatal(err)
	}
	n := &network{c: &netask.Config{}}
	defer n.end()
	if err := n.receive(control.(*net.UnixConn), []string{"unconfined"}); err != nil {
		t.Fatal(err)
	}
	line, err := netask.NewReader(ours).Reply()
	if err != nil {
		t.Fatal(err)
	}
	reply, err := hostask.DecodeReply(line)
	if err != nil || reply.Error != "" || !slices.Equal(reply.Warnings, []string{"unconfined"}) {
		t.Errorf("%+v, %v", reply, err)
	}
}

// here has the network of the test itself in place of a program's.
func here() *inside {
	return &inside{make: func(six bool) ([]int, error) {
		family := unix.AF_INET
		if six {
			family = unix.AF_INET6
		}
		fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		return []int{fd}, os.NewSyscallError("socket", err)
	}}
}

func TestInsideDials(t *testing.T) {
	in := here()
	defer in.close()
	l, err := in.Listen(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	at := netip.MustParseAddrPort(l.Addr().String())
	conn, err := in.dial(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got := conn.RemoteAddr().String(); got != "127.0.0.1:"+strconv.Itoa(int(at.Port())) {
		t.Errorf("it leads to %s", got)
	}
	_ = l.Close()
	if conn, err := in.dial(t.Context(), at); !errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("%v, %v; want ECONNREFUSED", conn, err)
	}
}

// A listener whose queue is full answers nothing: the end of the context ends the waiting.
func TestInsideDialEnds(t *testing.T) {
	in := here()
	defer in.close()
	full, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(full)
	if err := errors.Join(unix.Bind(full, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(full, 0)); err != nil {
		t.Fatal(err)
	}
	sa, err := unix.Getsockname(full)
	if err != nil {
		t.Fatal(err)
	}
	at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(sa.(*unix.SockaddrInet4).Port))
	for range 64 { // each fills a place, until one has to wait
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		conn, err := in.dial(ctx, at)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	t.Error("nothing had to wait")
}

func TestInsideAfterItsEnd(t *testing.T) {
	in := here()
	in.close()
	if conn, err := in.dial(t.Context(), netip.MustParseAddrPort("127.0.0.1:1")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v, %v", conn, err)
	}
}
