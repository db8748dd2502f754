package pipe_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"brainbox/proxy/pipe"
)

const patience = 20 * time.Second

// pair is the two ends of one TCP connection.
func pair(t *testing.T) (near, far *net.TCPConn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	dialled, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []net.Conn{dialled, accepted} {
		t.Cleanup(func() { c.Close() })
		if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
	}
	return dialled.(*net.TCPConn), accepted.(*net.TCPConn)
}

// joined is a client and a server with Both between them.
func joined(t *testing.T, ctx context.Context) (client, server *net.TCPConn, counts <-chan [2]int64) {
	t.Helper()
	client, a := pair(t)
	server, b := pair(t)
	for _, c := range []net.Conn{a, b} {
		if err := c.SetDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan [2]int64, 1)
	go func() {
		toB, toA := pipe.Both(ctx, a, b)
		done <- [2]int64{toB, toA}
	}()
	return client, server, done
}

func wait[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatal("nothing after 20 s")
		panic("not reached")
	}
}

// say sends all of what one side has to say, and that it was all.
func say(t *testing.T, c *net.TCPConn, text string) {
	if _, err := io.WriteString(c, text); err != nil {
		t.Error(err)
	}
	if err := c.CloseWrite(); err != nil {
		t.Error(err)
	}
}

// through sends a byte from one to the other: the pipe between them is at work.
func through(t *testing.T, from, to net.Conn) {
	t.Helper()
	if _, err := io.WriteString(from, "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(to, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
}

func TestTheEndOfOneWayLeavesTheOther(t *testing.T) {
	for _, first := range []string{"client", "server"} {
		t.Run("the "+first+" ends first", func(t *testing.T) {
			client, server, counts := joined(t, t.Context())
			asks, answers := client, server
			if first == "server" {
				asks, answers = server, client
			}
			question, answer := strings.Repeat("q", 300_000), strings.Repeat("a", 70_001)
			go say(t, asks, question)
			got, err := io.ReadAll(answers)
			if err != nil || string(got) != question {
				t.Fatalf("%d bytes and %v arrived, want %d", len(got), err, len(question))
			}
			go say(t, answers, answer)
			got, err = io.ReadAll(asks)
			if err != nil || string(got) != answer {
				t.Fatalf("%d bytes and %v came back after the half close, want %d", len(got), err, len(answer))
			}
			want := [2]int64{300_000, 70_001}
			if first == "server" {
				want = [2]int64{70_001, 300_000}
			}
			if got := wait(t, counts); got != want {
				t.Errorf("Both() = %v, want %v", got, want)
			}
		})
	}
}

func TestAResetIsPassedOnAsOne(t *testing.T) {
	client, server, counts := joined(t, t.Context())
	through(t, client, server)
	pipe.Reset(server)
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the client reads %v, want %v", err, syscall.ECONNRESET)
	}
	wait(t, counts)
}

func TestTheContextEndsAnIdleConnection(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	client, server, counts := joined(t, ctx)
	through(t, client, server)
	select {
	case <-counts:
		t.Fatal("Both returned while both ways were open")
	default:
	}
	cancel()
	wait(t, counts)
	for _, c := range []net.Conn{client, server} {
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("after the end of the context a read gives %v, want %v", err, syscall.ECONNRESET)
		}
	}
}

func TestConnectionsWithoutHalvesEndTogether(t *testing.T) {
	client, a := net.Pipe()
	b, server := net.Pipe()
	done := make(chan int64, 1)
	go func() {
		toB, _ := pipe.Both(t.Context(), a, b)
		done <- toB
	}()
	go func() {
		_, _ = io.WriteString(client, "all of it") // what came is read below
		client.Close()
	}()
	if got, err := io.ReadAll(server); string(got) != "all of it" || err != nil {
		t.Errorf("the server reads %q, %v", got, err)
	}
	if got := wait(t, done); got != 9 {
		t.Errorf("Both() = %d bytes, want 9", got)
	}
}

// scarce fails a number of times before it accepts.
type scarce struct {
	net.Listener
	left int
}

func (s *scarce) Accept() (net.Conn, error) {
	if s.left > 0 {
		s.left--
		return nil, syscall.EMFILE
	}
	return s.Listener.Accept()
}

func TestAnAcceptWithoutDescriptorsIsTriedAgain(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	client, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	conn, err := pipe.Accept(t.Context(), &scarce{listener, 2})
	if err != nil {
		t.Fatalf("Accept() = %v after two EMFILE", err)
	}
	conn.Close()
	listener.Close()
	if _, err := pipe.Accept(t.Context(), listener); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept() of a closed listener = %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := pipe.Accept(ended, &scarce{listener, 1 << 30}); !errors.Is(err, context.Canceled) {
		t.Errorf("Accept() with an ended context = %v", err)
	}
}
