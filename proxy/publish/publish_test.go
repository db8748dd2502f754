package publish_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"brainbox/proxy/pipe"
	"brainbox/proxy/publish"
)

const patience = 20 * time.Second

// listenAt listens on some port of an address.
func listenAt(t *testing.T, addr string) (net.Listener, uint16) {
	t.Helper()
	listener := listen(t, addr, 0)
	return listener, uint16(listener.Addr().(*net.TCPAddr).Port)
}

// freePort is one that nobody listens on at either loopback, and that no connection of another
// process gets by chance: it is below those that are given out (ip_local_port_range, ip(7)).
func freePort(t *testing.T) uint16 {
	t.Helper()
	for range 1000 {
		port := uint16(10_000 + rand.IntN(22_000))
		bound, err := publish.Listen(port)
		for _, l := range bound {
			l.Close()
		}
		if err == nil {
			return port
		}
	}
	t.Fatal("no free port in 1000")
	return 0
}

func listen(t *testing.T, addr string, port uint16) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", netip.AddrPortFrom(netip.MustParseAddr(addr), port).String())
	if addr == "::1" && (errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT)) {
		t.Skip("needs: IPv6") // gating: internal/needs has no word for it
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener
}

func dial(t *testing.T, address string) *net.TCPConn {
	t.Helper()
	conn, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return conn.(*net.TCPConn)
}

// serve publishes the program's dial function, and returns the address on the host and how
// to end it.
func serve(t *testing.T, dial func(context.Context) (net.Conn, error)) (address string, end func() error) {
	t.Helper()
	host, _ := listenAt(t, "127.0.0.1")
	return serveAt(t, host, dial)
}

func serveAt(t *testing.T, host net.Listener, dial func(context.Context) (net.Conn, error)) (address string, end func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- publish.Serve(ctx, host, dial) }()
	t.Cleanup(cancel)
	return host.Addr().String(), func() error {
		cancel()
		select {
		case err := <-done:
			return err
		case <-time.After(patience):
			return errors.New("Serve has not returned after 20 s")
		}
	}
}

// inside stands for connecting inside a namespace.
func inside(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", addr.String())
}

func TestATakenPortIsAnErrorAndNothingStaysBound(t *testing.T) {
	for taken, other := range map[string]string{"127.0.0.1": "::1", "::1": "127.0.0.1"} {
		t.Run(taken+" is taken", func(t *testing.T) {
			port := freePort(t)
			listener := listen(t, taken, port)
			got, err := publish.Listen(port)
			if !errors.Is(err, syscall.EADDRINUSE) || len(got) != 0 {
				t.Fatalf("Listen(%d) = %v, %v; want none and %v", port, got, err, syscall.EADDRINUSE)
			}
			if !strings.Contains(err.Error(), "another port") || !strings.Contains(err.Error(), taken) {
				t.Errorf("no way out in %q", err)
			}
			listen(t, other, port).Close() // or it stayed bound
			listener.Close()
			both, err := publish.Listen(port)
			if err != nil {
				t.Fatalf("Listen(%d) of a free port = %v", port, err)
			}
			for _, l := range both {
				l.Close()
			}
		})
	}
}

func TestPortZeroIsRefused(t *testing.T) {
	if got, err := publish.Listen(0); err == nil {
		t.Errorf("Listen(0) = %v, want an error", got)
	}
}

func TestOnlyLoopbackIsBound(t *testing.T) {
	port := freePort(t)
	bound, err := publish.Listen(port)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range bound {
		defer l.Close()
		if ip := l.Addr().(*net.TCPAddr).IP; !ip.IsLoopback() {
			t.Errorf("bound %v", l.Addr())
		}
		dial(t, l.Addr().String()) // positive control
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, addr := range addrs {
		prefix, err := netip.ParsePrefix(addr.String())
		if err != nil || prefix.Addr().IsLoopback() || prefix.Addr().IsLinkLocalUnicast() {
			continue
		}
		conn, err := net.DialTimeout("tcp", netip.AddrPortFrom(prefix.Addr(), port).String(), patience)
		if err == nil {
			conn.Close()
			t.Errorf("reachable at %v", prefix.Addr())
		}
	}
}

func TestAProgramThatDoesNotListenIsAReset(t *testing.T) {
	port := freePort(t)
	address, end := serve(t, publish.Loopback(port, inside))
	conn, err := net.DialTimeout("tcp", address, patience)
	if err == nil { // else the reset was there before connect(2) was looked after
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		_, err = conn.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a connection gives %v, want %v", err, syscall.ECONNRESET)
	}
	go echoOne(listen(t, "127.0.0.1", port))
	roundTrip(t, address, "now it listens")
	if err := end(); err != nil {
		t.Error(err)
	}
}

// echoOne answers one connection with what it sent, once that has ended.
func echoOne(listener net.Listener) {
	conn, err := listener.Accept()
	if err != nil {
		return
	}
	defer conn.Close()
	all, _ := io.ReadAll(conn)
	_, _ = conn.Write(all) // who asked sees what came
}

func send(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
}

func roundTrip(t *testing.T, address, text string) {
	t.Helper()
	conn := dial(t, address)
	send(t, conn, text)
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(conn)
	if err != nil || string(got) != text {
		t.Errorf("%d bytes came back, %v; want %d", len(got), err, len(text))
	}
}

func TestEitherLoopbackOfTheProgramIsFound(t *testing.T) {
	for _, addr := range []string{"127.0.0.1", "::1"} {
		t.Run(addr, func(t *testing.T) {
			port := freePort(t)
			program := listen(t, addr, port)
			address, end := serve(t, publish.Loopback(port, inside))
			go echoOne(program)
			roundTrip(t, address, strings.Repeat("both ways, and an end of each ", 10_000))
			if err := end(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTheEndOfTheRunEndsEveryConnection(t *testing.T) {
	program, to := listenAt(t, "127.0.0.1")
	port := freePort(t)
	address, end := serveAt(t, listen(t, "127.0.0.1", port), publish.Loopback(to, inside))
	conn := dial(t, address)
	far, err := program.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("the host's side reads %v, want a reset", err)
	}
	listen(t, "127.0.0.1", port).Close() // the host's port is free again
}

// What comes after the 256th waits, and has its turn when one has ended.
func TestConnectionsAreBounded(t *testing.T) {
	const most = 256
	reached := make(chan net.Conn, 2*most)
	address, _ := serve(t, func(context.Context) (net.Conn, error) {
		near, far := net.Pipe()
		reached <- far
		return near, nil
	})
	var first *net.TCPConn
	for range most {
		first = dial(t, address)
		<-reached
	}
	late := dial(t, address)
	select {
	case <-reached:
		t.Fatalf("connection %d reached the program", most+1)
	case <-time.After(200 * time.Millisecond): // a slow machine can only make this pass
	}
	pipe.Reset(first)
	send(t, late, "x")
	select {
	case program := <-reached:
		if err := program.SetDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(program, make([]byte, 1)); err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Error("the one that waited never had its turn")
	}
}

func TestAClosedListenerIsAnError(t *testing.T) {
	host, _ := listenAt(t, "127.0.0.1")
	host.Close()
	if err := publish.Serve(t.Context(), host, nil); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve() = %v, want %v", err, net.ErrClosed)
	}
}
