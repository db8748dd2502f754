package proxy

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"brainbox/proxy/allow"
	"brainbox/proxy/pipe"
)

// through is a server whose ok.test:7000 is the origin.
func through(t testing.TB, o *origin, c Config) (*world, *Server) {
	t.Helper()
	w := newWorld()
	w.at(publicA, 7000, o)
	w.answers["ok.test"] = [][]netip.Addr{{publicA}}
	return w, w.server(t, c, allow.Rule{Name: "ok.test", Port: 7000})
}

// Each side's end is passed on while the other still speaks, and every byte is counted.
func TestHalfClose(t *testing.T) {
	const size = 3<<20 + 17
	o := newOrigin(t, func(c *net.TCPConn) {
		n, err := io.Copy(io.Discard, c) // until the program has said all
		if n != size || err != nil {
			return
		}
		_, _ = c.Write(bytes.Repeat([]byte("x"), 5))
	})
	w, s := through(t, o, Config{})
	program, _ := carried(t, s, query("ok.test", 7000))
	if back, err := ask(program, string(make([]byte, size))); back != "xxxxx" || err != nil {
		t.Fatalf("back came %q, %v", back, err)
	}
	events := w.wait(t, 2)
	one(t, events)
	if e := events[1]; e.Sent != size || e.Received != 5 || !e.Closed || e.ID != events[0].ID || e.Duration <= 0 {
		t.Errorf("the end: %+v", e)
	}
}

// An origin that ends first can still be spoken to.
func TestOriginEndsFirst(t *testing.T) {
	got := make(chan []byte, 1)
	o := newOrigin(t, func(c *net.TCPConn) {
		_, _ = io.WriteString(c, "220 hello\r\n")
		_ = c.CloseWrite()
		all, _ := io.ReadAll(c)
		got <- all
	})
	_, s := through(t, o, Config{})
	program, _ := carried(t, s, query("ok.test", 7000))
	if all, err := io.ReadAll(program); string(all) != "220 hello\r\n" || err != nil {
		t.Fatalf("the origin said %q, %v", all, err)
	}
	_, _ = io.WriteString(program, "late")
	_ = program.CloseWrite()
	select {
	case all := <-got:
		if string(all) != "late" {
			t.Errorf("the origin got %q", all)
		}
	case <-time.After(deadline):
		t.Fatal("the origin saw no end")
	}
}

// What was read already goes first, and is counted.
func TestFirstBytes(t *testing.T) {
	o := newOrigin(t, nil)
	w, s := through(t, o, Config{})
	p, no := s.open(t.Context(), query("ok.test", 7000))
	if no != nil {
		t.Fatal(no)
	}
	program, client := pair(t)
	go p.carry(client, []byte("first "))
	if back, err := ask(program, "second"); back != "first second" || err != nil {
		t.Fatalf("back came %q, %v", back, err)
	}
	if e := w.wait(t, 2)[1]; e.Sent != 12 || e.Received != 12 {
		t.Errorf("counted %d and %d, want 12", e.Sent, e.Received)
	}
}

// A stream that is cut off does not look as if it had ended: the reset is passed on, both ways.
func TestResetIsPassedOn(t *testing.T) {
	t.Run("by the origin", func(t *testing.T) {
		o := newOrigin(t, func(c *net.TCPConn) {
			_, _ = io.ReadFull(c, make([]byte, 1))
			pipe.Reset(c)
		})
		w, s := through(t, o, Config{})
		program, _ := carried(t, s, query("ok.test", 7000))
		_, _ = io.WriteString(program, "x")
		if _, err := program.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the program sees %v, want a reset", err)
		}
		one(t, w.wait(t, 2))
	})
	t.Run("by the program", func(t *testing.T) {
		saw := make(chan error, 1)
		o := newOrigin(t, func(c *net.TCPConn) {
			_, _ = io.WriteString(c, "x")
			_, err := c.Read(make([]byte, 1))
			saw <- err
		})
		w, s := through(t, o, Config{})
		program, _ := carried(t, s, query("ok.test", 7000))
		_, _ = io.ReadFull(program, make([]byte, 1))
		pipe.Reset(program)
		select {
		case err := <-saw:
			if !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("the origin sees %v, want a reset", err)
			}
		case <-time.After(deadline):
			t.Fatal("the origin saw nothing")
		}
		one(t, w.wait(t, 2))
	})
}

// A refusal is no orderly end: to a program that reads it, that could look like an answer.
func TestRefusalIsAReset(t *testing.T) {
	w, s := secure(t, newOrigin(t, nil), Config{})
	for _, tc := range []struct {
		query allow.Query
		sent  string
	}{
		{query("denied.test", 7000), ""},
		{query("ok.test", httpsPort), "GET / HTTP/1.1\r\n"},
	} {
		program, _ := carried(t, s, tc.query)
		if tc.sent != "" { // a write would take the reset away from the read
			if _, err := io.WriteString(program, tc.sent); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := program.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s:%d: %v, want a reset", tc.query.Host, tc.query.Port, err)
		}
	}
	one(t, w.wait(t, 2))
}

// Many bytes both ways at once arrive as they were.
func TestBothWaysAtOnce(t *testing.T) {
	data := make([]byte, 8<<20)
	_, _ = rand.Read(data)
	o := newOrigin(t, func(c *net.TCPConn) { _, _ = io.Copy(c, c) })
	w, s := through(t, o, Config{})
	program, _ := carried(t, s, query("ok.test", 7000))
	go func() {
		_, _ = program.Write(data)
		_ = program.CloseWrite()
	}()
	if back, err := io.ReadAll(program); !bytes.Equal(back, data) || err != nil {
		t.Fatalf("%d bytes came back, %v", len(back), err)
	}
	if e := w.wait(t, 2)[1]; e.Sent != int64(len(data)) || e.Received != int64(len(data)) {
		t.Errorf("counted %d and %d, want %d", e.Sent, e.Received, len(data))
	}
}

// Bytes between two TCP connections go through pipes, by splice(2), and not through a buffer
// of this process: that a thousand connections fit into 40 MiB rests on it.
func TestTunnelsAreSpliced(t *testing.T) {
	const n = 50 // more than other tests leave in Go's pool of pipes
	_, s := through(t, newOrigin(t, nil), Config{})
	for range n {
		program, _ := carried(t, s, query("ok.test", 7000))
		_, _ = io.WriteString(program, "x")
		if _, err := io.ReadFull(program, make([]byte, 1)); err != nil { // both ways are up
			t.Fatal(err)
		}
	}
	late := time.Now().Add(deadline)
	for pipes(t) < 4*n { // they are made behind the first byte
		if time.Now().After(late) {
			t.Fatalf("%d ends of pipes are open, want %d", pipes(t), 4*n)
		}
		runtime.Gosched()
	}
}

// pipes counts the ends of pipes that this process has.
func pipes(t *testing.T) (count int) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		to, _ := os.Readlink("/proc/self/fd/" + fd.Name()) // one may be closed by now
		if strings.HasPrefix(to, "pipe:") {
			count++
		}
	}
	return count
}
