package proxy

import (
	"bytes"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"brainbox/proxy/allow"
	"brainbox/proxy/pipe"
)

const otherPort = 8443

func other(t *testing.T, o *origin, c Config) (*world, *Server) {
	t.Helper()
	return greeting(t, o, otherPort, c)
}

// esc/PX-13: on every other port a TLS client that speaks first names what was let through, or
// nothing; what is no TLS passes.
func TestServerNameOnOtherPorts(t *testing.T) {
	ok, without := clientHello(t, "ok.test"), clientHello(t, "192.0.2.1")
	endless := []byte{22, 3, 1, 0, 4, 1, 0xff, 0xff, 0xff} // a message that says it has 16 MiB
	for _, tc := range []struct {
		name, host string
		sent       []byte
		want       allow.Reason
	}{
		{"another name", "ok.test", clientHello(t, "denied.test"), allow.ServerName},
		{"a longer name", "ok.test", clientHello(t, "ok.test.evil"), allow.ServerName},
		{"another name, and more", "ok.test", append(clientHello(t, "denied.test"), "more"...), allow.ServerName},
		{"half a hello", "ok.test", ok[:len(ok)/2], allow.ServerName},
		{"endless", "ok.test", endless, allow.ServerName},
		{"SSL 2 in a record of TLS", "ok.test", []byte{22, 3, 9, 0, 1, 0}, allow.ServerName},
		{"the name", "ok.test", ok, ""},
		{"the name, asked for in capitals", "OK.TEST.", ok, ""},
		{"no name", "ok.test", without, ""},
		{"no TLS", "ok.test", []byte("GET / HTTP/1.1\r\nHost: denied.test\r\n\r\n"), ""},
		{"one byte", "ok.test", []byte{0}, ""},
		{"nothing", "ok.test", nil, ""},
		{"a listed address, any name", "10.9.8.7", ok, ""},
		{"a listed address, no name", "10.9.8.7", without, ""},
	} {
		for way, first := range map[string]int{"as it comes": 0, "with the request": len(tc.sent), "the first byte before": min(1, len(tc.sent))} {
			t.Run(tc.name+"/"+way, func(t *testing.T) {
				greet(t, otherPort, tc.host, tc.sent, first, tc.want)
			})
		}
	}
}

// esc/PX-13: a hello that begins and does not go on is given up, on any port; the origin may
// have spoken meanwhile, and nothing of that comes through.
func TestSlowHelloOnOtherPorts(t *testing.T) {
	speak := make(chan struct{})
	o := newOrigin(t, func(c *net.TCPConn) {
		<-speak
		_, _ = io.WriteString(c, "220 hello\r\n")
		_, _ = io.Copy(io.Discard, c)
	})
	w, s := other(t, o, Config{Limits: Limits{Hello: 100 * time.Millisecond}})
	p, no := s.open(t.Context(), query("ok.test", otherPort))
	if no != nil {
		t.Fatalf("%+v", no)
	}
	program, client := pair(t)
	done := make(chan struct{})
	go func() { defer close(done); p.carry(client, clientHello(t, "ok.test")[:20]) }()
	close(speak)
	if n, err := program.Read(make([]byte, 1)); n > 0 || !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%d bytes came back, %v, want a reset", n, err)
	}
	finished(t, done)
	if events := w.wait(t, 1); len(events) != 1 || events[0].Reason != allow.ServerName {
		t.Errorf("%+v", events)
	}
}

// What an origin says in the middle of a hello waits until that was judged, and is not lost.
func TestOriginSpeaksIntoAHello(t *testing.T) {
	said := make(chan struct{})
	o := newOrigin(t, func(c *net.TCPConn) {
		_, _ = io.WriteString(c, "220 hello\r\n")
		close(said)
		_, _ = io.Copy(c, c)
	})
	w, s := other(t, o, Config{})
	p, no := s.open(t.Context(), query("ok.test", otherPort))
	if no != nil {
		t.Fatalf("%+v", no)
	}
	finished(t, said)
	hello := string(clientHello(t, "ok.test"))
	program, client := pair(t)
	go p.carry(client, []byte(hello[:20]))
	if back, err := ask(program, hello[20:]); back != "220 hello\r\n"+hello || err != nil {
		t.Errorf("%q came back, %v", back, err)
	}
	one(t, w.wait(t, 2))
}

// A server that speaks first is heard at once, and from then on nothing is looked at: this is
// how STARTTLS gets through with whatever name (doc.go, Limits).
func TestOriginSpeaksFirst(t *testing.T) {
	hello := clientHello(t, "denied.test")
	o := newOrigin(t, func(c *net.TCPConn) {
		_, _ = io.WriteString(c, "220 hello\r\n")
		_, _ = io.Copy(c, c)
	})
	w, s := other(t, o, Config{})
	program, _ := carried(t, s, query("ok.test", otherPort))
	greeting := make([]byte, len("220 hello\r\n"))
	if _, err := io.ReadFull(program, greeting); err != nil || string(greeting) != "220 hello\r\n" {
		t.Fatalf("the origin said %q, %v", greeting, err)
	}
	if e := w.wait(t, 1)[0]; e.Reason != "" || e.Closed {
		t.Errorf("recorded %s, want that it is let through", describe(e))
	}
	if back, err := ask(program, string(hello)); back != string(hello) || err != nil {
		t.Errorf("%d bytes came back, %v", len(back), err)
	}
	events := w.wait(t, 2)
	one(t, events)
	if e := events[1]; e.Sent != int64(len(hello)) || e.Received != int64(len(greeting)+len(hello)) {
		t.Errorf("the end: %+v", e)
	}
}

// Nobody speaks: whichever end comes first is passed on, a reset as a reset, and is one decision.
func TestNobodySpeaks(t *testing.T) {
	for name, tc := range map[string]struct {
		origin  func(*net.TCPConn)
		program func(*net.TCPConn)
		back    error
		want    allow.Reason
	}{
		"the origin ends":      {func(c *net.TCPConn) { _ = c.CloseWrite() }, nil, io.EOF, ""},
		"the origin resets":    {func(c *net.TCPConn) { pipe.Reset(c) }, nil, syscall.ECONNRESET, ""},
		"the program ends":     {nil, func(c *net.TCPConn) { _ = c.CloseWrite() }, io.EOF, ""},
		"the program resets":   {nil, func(c *net.TCPConn) { pipe.Reset(c) }, net.ErrClosed, allow.Gone},
		"the server is closed": {nil, nil, syscall.ECONNRESET, allow.Gone},
	} {
		t.Run(name, func(t *testing.T) {
			opened := make(chan struct{})
			o := newOrigin(t, func(c *net.TCPConn) {
				<-opened
				if tc.origin != nil {
					tc.origin(c)
				}
				_, _ = io.Copy(c, c)
			})
			w, s := other(t, o, Config{})
			p, no := s.open(t.Context(), query("ok.test", otherPort))
			if no != nil {
				t.Fatalf("%+v", no)
			}
			close(opened)
			program, client := pair(t)
			done := make(chan struct{})
			go func() { defer close(done); p.carry(client, nil) }()
			if name == "the server is closed" {
				_ = s.Close()
			}
			if tc.program != nil {
				tc.program(program)
			}
			if n, err := program.Read(make([]byte, 1)); n > 0 || !errors.Is(err, tc.back) {
				t.Errorf("%d bytes came, %v, want %v", n, err, tc.back)
			}
			_ = program.Close()
			finished(t, done)
			events := w.wait(t, 1)
			one(t, events)
			if events[0].Reason != tc.want {
				t.Errorf("recorded %s, want %q", describe(events[0]), tc.want)
			}
		})
	}
}

// Both speak at once: there is one decision, whoever is first, and no byte is lost.
func TestBothSpeakAtOnce(t *testing.T) {
	sent := bytes.Repeat([]byte("x"), 3*firstRead)
	o := newOrigin(t, func(c *net.TCPConn) {
		_, _ = c.Write(sent)
		_, _ = io.Copy(c, c)
	})
	w, s := other(t, o, Config{})
	const n = 100
	for range n {
		program, done := carried(t, s, query("ok.test", otherPort))
		if back, err := ask(program, string(sent)); len(back) != 2*len(sent) || err != nil {
			t.Fatalf("%d bytes came back, %v", len(back), err)
		}
		finished(t, done)
	}
	one(t, w.wait(t, 2*n))
}
