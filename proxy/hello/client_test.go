package hello

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"brainbox/internal/needs"
)

const patience = 20 * time.Second

// golang lets crypto/tls write one hello to a pipe, and returns its bytes.
func golang(t testing.TB, config *tls.Config) []byte {
	t.Helper()
	client, server := net.Pipe()
	defer server.Close()
	go func() {
		defer client.Close()
		// It ends with an error, when the other side has what it wants.
		_ = tls.Client(client, config).HandshakeContext(t.Context())
	}()
	b, name, s := read(server)
	if s != Found && s != Absent {
		t.Fatalf("crypto/tls: %q, %d after %d bytes", name, s, len(b))
	}
	return b
}

// read is what a proxy does: all that came so far, until there is an answer.
func read(c net.Conn) ([]byte, string, State) {
	b := make([]byte, 0, Limit)
	_ = c.SetReadDeadline(time.Now().Add(patience)) // one that fails shows as no answer
	for {
		n, err := c.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if name, s := ServerName(b); s != More || err != nil {
			return b, name, s
		}
	}
}

func TestGo(t *testing.T) {
	for name, c := range map[string]*tls.Config{
		"default":      {ServerName: "ok.test"},
		"TLS 1.2":      {ServerName: "ok.test", MaxVersion: tls.VersionTLS12},
		"with ALPN":    {ServerName: "ok.test", NextProtos: []string{"h2", "http/1.1"}},
		"an old curve": {ServerName: "ok.test", CurvePreferences: []tls.CurveID{tls.CurveP256}},
	} {
		t.Run(name, func(t *testing.T) {
			b := golang(t, c)
			if got, s := ServerName(b); s != Found || got != "ok.test" {
				t.Errorf("ServerName = %q, %d", got, s)
			}
			first(t, b)
		})
	}
	t.Run("without a name", func(t *testing.T) {
		b := golang(t, &tls.Config{ServerName: "192.0.2.1"})
		if got, s := ServerName(b); s != Absent || got != "" {
			t.Errorf("ServerName = %q, %d, want none for an address", got, s)
		}
		first(t, b)
	})
}

// TestPrograms: what others write. Each is told to ask a listener here for ok.test, and is
// hung up on when it has said whom it wants.
func TestPrograms(t *testing.T) {
	for name, args := range map[string]func(port string) []string{
		"curl": func(port string) []string {
			return []string{"--disable", "--silent", "--noproxy", "*", "--connect-to", "::127.0.0.1:" + port, "https://ok.test/"}
		},
		"openssl": func(port string) []string {
			return []string{"s_client", "-connect", "127.0.0.1:" + port, "-servername", "ok.test"}
		},
		"node": func(port string) []string {
			return []string{"-e", `require("tls").connect({host: "127.0.0.1", port: ` + port + `, servername: "ok.test"}).on("error", () => {})`}
		},
		"python3": func(port string) []string {
			return []string{"-c", `
import socket, ssl
try: ssl.create_default_context().wrap_socket(socket.create_connection(("127.0.0.1", ` + port + `)), server_hostname="ok.test")
except OSError: pass`}
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(name); err != nil && name == "openssl" {
				t.Skip(err) // gating: no other test asks for it, and many machines have the library alone
			}
			program := needs.Program(t, name)
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			_, port, _ := net.SplitHostPort(l.Addr().String())
			cmd := exec.CommandContext(t.Context(), program, args(port)...)
			var said strings.Builder
			cmd.Stdout, cmd.Stderr = &said, &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_ = cmd.Wait() // it fails: nobody answers its hello
				_ = l.Close()  // and if it never came, nobody is to wait for it
			}()
			c, err := l.Accept()
			if err != nil {
				t.Fatalf("%s did not connect: %s", name, said.String())
			}
			b, got, s := read(c)
			_ = c.Close()
			<-ended
			if s != Found || got != "ok.test" {
				t.Fatalf("ServerName = %q, %d of %d bytes", got, s, len(b))
			}
			first(t, b)
		})
	}
}

// once gives a server the bytes of one client, and nothing behind them.
type once struct {
	net.Conn
	io.Reader
}

func (c once) Read(b []byte) (int, error) { return c.Reader.Read(b) }
func (once) Write(b []byte) (int, error)  { return len(b), nil }

// library is the same by crypto/tls, to compare with.
func library(b []byte) (name string, err error) {
	enough := errors.New("enough")
	config := &tls.Config{GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		name = h.ServerName
		return nil, enough
	}}
	if err := tls.Server(once{nil, strings.NewReader(string(b))}, config).Handshake(); !errors.Is(err, enough) {
		return "", err
	}
	return name, nil
}

// TestAsTheLibrary: what is found here is what crypto/tls finds; it may refuse more, and so
// may this.
func TestAsTheLibrary(t *testing.T) {
	b := golang(t, &tls.Config{ServerName: "ok.test"})
	changed := 0
	for i := range b {
		for _, x := range []byte{0x01, 0x80, 0xff} {
			c := append([]byte(nil), b...)
			c[i] ^= x
			name, s := ServerName(c)
			theirs, err := library(c)
			if s != Found || err != nil {
				continue
			}
			changed++
			if theirs != name {
				t.Errorf("byte %d ^ %#x: %q, crypto/tls %q", i, x, name, theirs)
			}
		}
	}
	if changed < len(b) {
		t.Errorf("only %d of the changed hellos were read by both", changed)
	}
}

func BenchmarkServerName(b *testing.B) {
	hello := golang(b, &tls.Config{ServerName: "ok.test"})
	b.Run("own", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			ServerName(hello)
		}
	})
	b.Run("crypto/tls", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := library(hello); err != nil {
				b.Fatal(err)
			}
		}
	})
}
