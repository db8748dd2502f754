package dispatch

import (
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"brainbox/bridge/envelope"
	"brainbox/internal/needs"
)

// endpoint asks a server that answers as handler does.
func endpoint(t *testing.T, handler http.HandlerFunc) *Endpoint {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return to(server.URL)
}

func to(url string) *Endpoint {
	return NewEndpoint(EndpointConfig{URLEnv: "U", TokenEnv: "T", Timeout: 10 * time.Second}, variables("U", url, "T", token))
}

const token = "tok-5f2a9c"

func ask(e *Endpoint) *envelope.Result { return e.Dispatch(context.Background(), request()) }

func answer(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, text)
}

// The request, byte for byte but for the order of the headers.
func TestEndpointSends(t *testing.T) {
	settled(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	got := make(chan string, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		body := string(request().Encode())
		var text []byte
		buf := make([]byte, 4096)
		for !bytes.HasSuffix(text, []byte(body)) {
			n, err := conn.Read(buf)
			if err != nil {
				break
			}
			text = append(text, buf[:n]...)
		}
		got <- string(text)
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nSet-Cookie: a=b\r\nContent-Length: %d\r\n\r\n%s", len(good()), good())
	}()
	check(t, ask(to("http://"+listener.Addr().String()+"/a?b=c")), "succeeded")
	head, body, _ := strings.Cut(<-got, "\r\n\r\n")
	lines := strings.Split(head, "\r\n")
	want := map[string]bool{
		"POST /a?b=c HTTP/1.1": true, "Host: " + listener.Addr().String(): true, "User-Agent: brainbox": true,
		fmt.Sprintf("Content-Length: %d", len(body)): true, "Accept: application/json": true,
		"Authorization: Bearer " + token: true, "Content-Type: application/json": true, "Connection: close": true,
	}
	for _, line := range lines {
		if !want[line] {
			t.Errorf("sent %q", line)
		}
		delete(want, line)
	}
	if len(want) > 0 || body != string(request().Encode()) {
		t.Errorf("not sent: %v; body %q", want, body)
	}
}

func TestEndpointNotUsable(t *testing.T) {
	for _, c := range []struct {
		id, url, token, want string
	}{
		{"bg/A31", "", token, "unavailable/dispatcher_env_missing"},
		{"no token", "https://h/", "", "unavailable/dispatcher_env_missing"},
		{"token with LF", "https://h/", "a\nX-Evil: 1", "unavailable/dispatcher_env_missing"},
		{"token with CR", "https://h/", "a\r", "unavailable/dispatcher_env_missing"},
		{"token with NUL", "https://h/", "a\x00", "unavailable/dispatcher_env_missing"},
		{"token too long", "https://h/", strings.Repeat("a", 8<<10+1), "unavailable/dispatcher_env_missing"},
		{"bg/A32", "http://example.com/x", token, "unavailable/endpoint_insecure"},
		{"name like localhost", "http://localhost.example.com/", token, "unavailable/endpoint_insecure"},
		{"all addresses", "http://0.0.0.0/", token, "unavailable/endpoint_insecure"},
		{"decimal address", "http://2130706433/", token, "unavailable/endpoint_insecure"},
		{"short address", "http://127.1/", token, "unavailable/endpoint_insecure"},
		{"private address", "http://10.0.0.1/", token, "unavailable/endpoint_insecure"},
		{"bg/A34", "https://u:p@h/", token, "unavailable/endpoint_url_invalid"},
		{"user alone", "http://u@127.0.0.1/", token, "unavailable/endpoint_url_invalid"},
		{"loopback as user", "http://127.0.0.1@example.com/", token, "unavailable/endpoint_url_invalid"},
		{"fragment", "https://h/#f", token, "unavailable/endpoint_url_invalid"},
		{"empty fragment", "https://h/#", token, "unavailable/endpoint_url_invalid"},
		{"relative", "/x", token, "unavailable/endpoint_url_invalid"},
		{"no host", "https:///x", token, "unavailable/endpoint_url_invalid"},
		{"opaque", "https:h", token, "unavailable/endpoint_url_invalid"},
		{"another scheme", "ftp://h/", token, "unavailable/endpoint_url_invalid"},
		{"unix", "unix:///run/x", token, "unavailable/endpoint_url_invalid"},
		{"port 0", "https://h:0/", token, "unavailable/endpoint_url_invalid"},
		{"port 65536", "https://h:65536/", token, "unavailable/endpoint_url_invalid"},
		{"no port", "https://h:/", token, "unavailable/endpoint_url_invalid"},
		{"space", " https://h/", token, "unavailable/endpoint_url_invalid"},
		{"line end", "https://h/\n", token, "unavailable/endpoint_url_invalid"},
		{"backslash", `https://h\@127.0.0.1/`, token, "unavailable/endpoint_url_invalid"},
		{"name beyond ASCII", "https://ex\u0430mple.com/", token, "unavailable/endpoint_url_invalid"},
		{"escaped name", "http://%6cocalhost%2eexample.com/", token, "unavailable/endpoint_url_invalid"},
		{"zone", "http://[::1%25lo]/", token, "unavailable/endpoint_url_invalid"},
	} {
		t.Run(c.id, func(t *testing.T) {
			e := NewEndpoint(EndpointConfig{URLEnv: "U", TokenEnv: "T"}, variables("U", c.url, "T", c.token))
			res := ask(e)
			check(t, res, c.want)
			if e.carrier != nil { // so no name is looked up
				t.Error("there is something to connect with")
			}
			for _, text := range []string{string(res.Encode()), e.Problem().Error()} {
				if strings.Contains(text, "u:p") || strings.Contains(text, token) || c.url != "" && strings.Contains(text, c.url) {
					t.Errorf("holds a value: %s", text)
				}
			}
		})
	}
	for _, url := range []string{"https://example.com/x?y=z", "https://example.com:8443", "http://localhost:1/", "http://LocalHost/", "http://[::1]:80/", "http://127.9.9.9/", "http://[::ffff:127.0.0.1]/"} {
		if p := to(url).Problem(); p != nil {
			t.Errorf("%s: %v", url, p)
		}
	}
	t.Run("bg/A33", func(t *testing.T) {
		settled(t)
		res := ask(to("http://127.0.0.1:9/x"))
		check(t, res, "unavailable/endpoint_unreachable")
		if !res.Err.Retryable {
			t.Error("not retryable")
		}
	})
	t.Run("without a token", func(t *testing.T) {
		var header atomic.Value
		server := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
			header.Store(r.Header.Clone())
			answer(w, good())
		})
		check(t, ask(NewEndpoint(EndpointConfig{URLEnv: "U"}, variables("U", server.at.url.String()))), "succeeded")
		if h, _ := header.Load().(http.Header); h == nil || h.Get("Authorization") != "" {
			t.Errorf("%v", h)
		}
	})
}

// Localhost is looked at again when it has become an address.
func TestEndpointLocalhostElsewhere(t *testing.T) {
	if err := controlLocal("tcp4", "127.0.0.1:80", nil); err != nil {
		t.Error(err)
	}
	for _, at := range []string{"192.0.2.1:80", "[2001:db8::1]:80", "[::]:80", "0.0.0.0:80", "localhost:80", ""} {
		if err := controlLocal("tcp", at, nil); err == nil {
			t.Errorf("%q passes", at)
		}
	}
	// A name that leads elsewhere, by the same dialer.
	var asked atomic.Bool
	e := endpoint(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Store(true)
		answer(w, good())
	})
	check(t, ask(e), "succeeded")
	asked.Store(false)
	_, port, _ := net.SplitHostPort(e.at.url.Host)
	e.at.url.Host = net.JoinHostPort("0.0.0.0", port) // the kernel would connect it to itself
	check(t, ask(e), "unavailable/endpoint_insecure")
	if asked.Load() {
		t.Error("the server was asked")
	}
}

func TestEndpointRedirects(t *testing.T) {
	var second atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		second.Add(1)
		answer(w, good())
	}))
	defer other.Close()
	for _, c := range []struct {
		id     string
		status int
		target string
	}{
		{"bg/A35", 307, other.URL},
		{"bg/A36", 302, "/again"},
		{"to itself with the body", 308, "/again"},
		{"seen elsewhere", 303, other.URL},
		{"many choices", 300, other.URL},
		{"moved", 301, "//" + strings.TrimPrefix(other.URL, "http://")},
		{"not modified", 304, ""},
		{"no place", 307, ""},
		{"a place that is none", 302, "http://%zz/"},
	} {
		t.Run(c.id, func(t *testing.T) {
			settled(t)
			var first atomic.Int32
			e := endpoint(t, func(w http.ResponseWriter, _ *http.Request) {
				if first.Add(1); c.target != "" {
					w.Header().Set("Location", c.target)
				}
				w.WriteHeader(c.status)
			})
			check(t, ask(e), "unavailable/redirect_refused")
			if first.Load() != 1 || second.Load() != 0 {
				t.Errorf("first was asked %d times, second %d", first.Load(), second.Load())
			}
		})
	}
	if check(t, ask(to(other.URL)), "succeeded"); second.Load() != 1 {
		t.Error("the second does not count")
	}
}

// The variables of a proxy are read once in a process, so the calls are made in a child.
func TestEndpointAsksNoProxy(t *testing.T) {
	t.Run("bg/A44", func(t *testing.T) {
		if needs.IsChild(t) {
			// Positive control: package http would ask it. Loopback is never proxied by it, so a
			// name is used; no such name exists.
			resp, err := http.Get("http://bridge.invalid/control")
			if err != nil || resp.StatusCode != http.StatusTeapot {
				t.Fatalf("the proxy is not asked by an ordinary client: %v, %v", resp, err)
			}
			resp.Body.Close()
			check(t, ask(to("https://bridge.invalid/evil")), "unavailable/endpoint_unreachable")
			check(t, ask(to(os.Getenv("BRAINBOX_TEST_ENDPOINT"))), "succeeded")
			return
		}
		var asked atomic.Value
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			before, _ := asked.Load().(string)
			asked.Store(before + r.Method + " " + r.RequestURI + "\n")
			w.WriteHeader(http.StatusTeapot)
		}))
		defer proxy.Close()
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w, good()) }))
		defer server.Close()
		needs.RunChild(t, "HTTP_PROXY="+proxy.URL, "http_proxy="+proxy.URL, "HTTPS_PROXY="+proxy.URL,
			"https_proxy="+proxy.URL, "ALL_PROXY="+proxy.URL, "NO_PROXY=", "no_proxy=", "BRAINBOX_TEST_ENDPOINT="+server.URL)
		if got := asked.Load(); got != "GET http://bridge.invalid/control\n" {
			t.Errorf("the proxy was asked: %v", got)
		}
	})
}

func TestEndpointTLS(t *testing.T) {
	settled(t)
	var asked atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1); r.ProtoMajor != 1 {
			w.WriteHeader(http.StatusInternalServerError)
		}
		answer(w, good())
	}))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	check(t, ask(to(server.URL)), "unavailable/endpoint_insecure")
	if asked.Load() != 0 {
		t.Error("a server that nobody vouches for was asked")
	}
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	cfg := EndpointConfig{URLEnv: "U", TokenEnv: "T", Roots: roots}
	check(t, ask(NewEndpoint(cfg, variables("U", server.URL, "T", token))), "succeeded")
	if asked.Load() != 1 {
		t.Error("not asked")
	}
	// The certificate is for another name.
	check(t, ask(NewEndpoint(cfg, variables("U", strings.Replace(server.URL, "127.0.0.1", "localhost", 1), "T", token))), "unavailable/endpoint_insecure")
	if asked.Load() != 1 {
		t.Error("asked under another name")
	}
	// No TLS at all: nothing was sent.
	plain := endpoint(t, func(w http.ResponseWriter, _ *http.Request) { answer(w, good()) })
	check(t, ask(to("https://"+plain.at.url.Host)), "unavailable/endpoint_unreachable")
}

func TestEndpointSecrets(t *testing.T) {
	if got := to("https://h/").Secrets(); len(got) != 1 || got[0] != token {
		t.Errorf("%q", got)
	}
	if got := NewEndpoint(EndpointConfig{}, variables()).Secrets(); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

func FuzzParseURL(f *testing.F) {
	for _, s := range []string{"http://localhost/", "https://h:8/x?y", "http://127.0.0.1@h/", "http://[::1]/", "https://u:p@h/", "http://%31/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at, code := parseURL(text)
		if (code == "") != (at.url != nil) {
			t.Fatalf("%q: %v, %q", text, at, code)
		}
		if code != "" {
			return
		}
		if at.url.User != nil || at.url.Hostname() == "" || at.local != (at.url.Scheme == "http") || at.local && !loopbackName(at.url.Hostname()) {
			t.Errorf("%q: %+v", text, at)
		}
		if again, code := parseURL(at.url.String()); code != "" || again.url.Host != at.url.Host {
			t.Errorf("%q became %q: %s", text, at.url, code)
		}
	})
}
