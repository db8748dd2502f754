package proxy

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"brainbox/proxy/allow"
)

// clientHello is what crypto/tls sends first; without a name for an address.
func clientHello(t testing.TB, name string, protocols ...string) []byte {
	t.Helper()
	client, server := net.Pipe()
	defer server.Close()
	go func() {
		defer client.Close()
		_ = tls.Client(client, &tls.Config{ServerName: name, NextProtos: protocols}).HandshakeContext(t.Context()) // ends with server
	}()
	_ = server.SetDeadline(time.Now().Add(deadline))
	head := make([]byte, 5)
	if _, err := io.ReadFull(server, head); err != nil {
		t.Fatal(err)
	}
	body := make([]byte, binary.BigEndian.Uint16(head[3:]))
	if _, err := io.ReadFull(server, body); err != nil {
		t.Fatal(err)
	}
	return append(head, body...)
}

// greeting is a server whose ok.test, and a listed address, are the origin with that port.
func greeting(t *testing.T, o *origin, port uint16, c Config) (*world, *Server) {
	t.Helper()
	w := newWorld()
	listed := netip.MustParseAddr("10.9.8.7")
	w.at(publicA, port, o)
	w.at(listed, port, o)
	w.answers["ok.test"] = [][]netip.Addr{{publicA}}
	return w, w.server(t, c, allow.Rule{Name: "ok.test", Port: port}, allow.Rule{Name: listed.String(), Port: port})
}

func secure(t *testing.T, o *origin, c Config) (*world, *Server) {
	t.Helper()
	return greeting(t, o, httpsPort, c)
}

// greet has a program send that, so much of which is read before the tunnel begins, and fails
// the test unless the reason is recorded, and the origin got everything or nothing.
func greet(t *testing.T, port uint16, host string, sent []byte, first int, want allow.Reason) {
	t.Helper()
	o := newOrigin(t, nil)
	w, s := greeting(t, o, port, Config{})
	p, no := s.open(t.Context(), query(host, port))
	if no != nil {
		t.Fatalf("%+v", no)
	}
	program, client := pair(t)
	done := make(chan struct{})
	go func() { defer close(done); p.carry(client, sent[:first]) }()
	back, err := ask(program, string(sent[first:]))
	finished(t, done)
	events := w.wait(t, 1)
	one(t, events)
	if events[0].Reason != want {
		t.Errorf("recorded %s, want %q", describe(events[0]), want)
	}
	_ = o.Close()
	o.work.Wait() // so that the log is whole
	_, got := o.log()
	if want != "" && (got != "" || back != "") {
		t.Errorf("the origin got %q, back came %q", got, back)
	}
	if want == "" && (got != string(sent) || back != got || err != nil) {
		t.Errorf("the origin got %d bytes of %d, %d came back, %v", len(got), len(sent), len(back), err)
	}
}

// esc/PX-13: on port 443 nothing reaches the origin but a ClientHello for the name that was
// let through, and what follows it.
func TestServerNameIsCompared(t *testing.T) {
	ok, without := clientHello(t, "ok.test"), clientHello(t, "192.0.2.1")
	for _, tc := range []struct {
		name, host string
		sent       []byte
		want       allow.Reason
	}{
		{"another name", "ok.test", clientHello(t, "denied.test"), allow.ServerName},
		{"a longer name", "ok.test", clientHello(t, "ok.test.evil"), allow.ServerName},
		{"no name", "ok.test", without, allow.ServerName},
		{"plain HTTP", "ok.test", []byte("GET / HTTP/1.1\r\nHost: ok.test\r\n\r\n"), allow.ServerName},
		{"SSH", "ok.test", []byte("SSH-2.0-OpenSSH_9.9\r\n"), allow.ServerName},
		{"half a hello", "ok.test", ok[:len(ok)/2], allow.ServerName},
		{"one byte", "ok.test", ok[:1], allow.ServerName},
		{"a listed address without TLS", "10.9.8.7", []byte("GET / HTTP/1.1\r\n\r\n"), allow.ServerName},
		{"nothing", "ok.test", nil, allow.Gone},
		{"the name", "ok.test", ok, ""},
		{"the name, in capitals", "ok.test", bytes.Replace(ok, []byte("ok.test"), []byte("OK.Test"), 1), ""},
		{"the name, asked for in capitals", "OK.TEST.", ok, ""},
		{"the name, and more", "ok.test", append(bytes.Clone(ok), "more"...), ""},
		{"a listed address, any name", "10.9.8.7", ok, ""},
		{"a listed address, no name", "10.9.8.7", without, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			greet(t, httpsPort, tc.host, tc.sent, 0, tc.want)
		})
	}
}

// esc/PX-13: a hello that is not all there in time, and one without an end, are given up.
func TestSlowAndEndlessHellos(t *testing.T) {
	ok := clientHello(t, "ok.test")
	t.Run("slow", func(t *testing.T) {
		o := newOrigin(t, nil)
		w, s := secure(t, o, Config{Limits: Limits{Hello: 50 * time.Millisecond}})
		program, _ := carried(t, s, query("ok.test", httpsPort))
		_, _ = program.Write(ok[:20])
		if _, err := program.Read(make([]byte, 1)); err == nil {
			t.Error("a byte came back")
		}
		if e := w.wait(t, 1)[0]; e.Reason != allow.ServerName {
			t.Error(describe(e))
		}
		if _, got := o.log(); got != "" {
			t.Errorf("the origin got %q", got)
		}
	})
	t.Run("endless", func(t *testing.T) {
		o := newOrigin(t, nil)
		w, s := secure(t, o, Config{Limits: Limits{Hello: time.Hour}})
		program, _ := carried(t, s, query("ok.test", httpsPort))
		// Records of one byte, of a message that says it has 16 MiB.
		_, _ = program.Write([]byte{22, 3, 1, 0, 4, 1, 0xff, 0xff, 0xff})
		for {
			if _, err := program.Write([]byte{22, 3, 1, 0, 1, 0}); err != nil {
				break
			}
		}
		if e := w.wait(t, 1)[0]; e.Reason != allow.ServerName {
			t.Error(describe(e))
		}
		if _, got := o.log(); got != "" {
			t.Errorf("the origin got %q", got)
		}
	})
	t.Run("byte by byte, in time", func(t *testing.T) {
		w, s := secure(t, newOrigin(t, nil), Config{})
		program, _ := carried(t, s, query("ok.test", httpsPort))
		_ = program.SetNoDelay(true)
		for i := range ok {
			_, _ = program.Write(ok[i : i+1])
		}
		_ = program.CloseWrite()
		if back, err := io.ReadAll(program); !bytes.Equal(back, ok) || err != nil {
			t.Errorf("%d bytes came back, %v", len(back), err)
		}
		one(t, w.wait(t, 2))
	})
}

// esc/PX-13: an absolute-form request for port 443 would be sent in the clear, without a hello.
func TestRequestsForPort443AreRefused(t *testing.T) {
	o := newOrigin(t, nil)
	w, s := secure(t, o, Config{})
	p, no := s.open(t.Context(), query("ok.test", httpsPort))
	if no != nil {
		t.Fatalf("%+v", no)
	}
	if conn, no := p.admit(); conn != nil || no == nil || no.reason != allow.ServerName {
		t.Errorf("admit = %v, %+v", conn, no)
	}
	p.end(0, 0)
	if events := w.wait(t, 1); len(events) != 1 || events[0].Reason != allow.ServerName {
		t.Errorf("%+v", events)
	}
	if _, got := o.log(); got != "" {
		t.Errorf("the origin got %q", got)
	}
}

// esc/PX-14: what is not seen. The name inside the encrypted part is the origin's to read: a
// hello for the allowed name is let through, whatever Host follows (doc.go, Limits).
func TestFrontingIsNotSeen(t *testing.T) {
	o := newOrigin(t, nil)
	_, s := secure(t, o, Config{})
	sent := append(clientHello(t, "ok.test"), "GET / HTTP/1.1\r\nHost: denied.test\r\n\r\n"...)
	program, _ := carried(t, s, query("ok.test", httpsPort))
	if back, err := ask(program, string(sent)); !strings.Contains(back, "denied.test") || err != nil {
		t.Errorf("back came %d bytes, %v", len(back), err)
	}
}
