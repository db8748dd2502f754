package dispatch

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"brainbox/bridge/envelope"
)

func TestEndpointStatus(t *testing.T) {
	for _, c := range []struct {
		id     string
		status int
		want   string
	}{
		{"200", 200, "succeeded"},
		{"201", 201, "succeeded"},
		{"202", 202, "succeeded"},
		{"203", 203, "failed/endpoint_http_error"},
		{"204", 204, "failed/endpoint_http_error"},
		{"206", 206, "failed/endpoint_http_error"},
		{"400", 400, "failed/endpoint_http_error"},
		{"bg/A37 401", 401, "unavailable/endpoint_auth_failed"},
		{"bg/A37 403", 403, "denied/endpoint_forbidden"},
		{"bg/A37 404", 404, "unavailable/endpoint_not_found"},
		{"405", 405, "unavailable/endpoint_not_found"},
		{"407", 407, "failed/endpoint_http_error"},
		{"408", 408, "timeout/dispatch_timeout"},
		{"410", 410, "unavailable/endpoint_not_found"},
		{"bg/A37 429", 429, "unavailable/endpoint_busy"},
		{"bg/A37 500", 500, "failed/endpoint_http_error"},
		{"502", 502, "failed/endpoint_http_error"},
		{"503", 503, "unavailable/endpoint_busy"},
		{"bg/A37 504", 504, "timeout/dispatch_timeout"},
		{"599", 599, "failed/endpoint_http_error"},
		{"999", 999, "failed/endpoint_http_error"},
	} {
		t.Run(c.id, func(t *testing.T) {
			settled(t)
			var asked atomic.Int32
			e := endpoint(t, func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Retry-After", "0")
				w.Header().Set("Www-Authenticate", "Basic")
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, good())
			})
			res := ask(e)
			check(t, res, c.want)
			if res.Status != envelope.Succeeded && bytes.Contains(res.Encode(), []byte(`"text"`)) {
				t.Errorf("the body is shown: %s", res.Encode())
			}
			if asked.Load() != 1 {
				t.Errorf("asked %d times", asked.Load())
			}
		})
	}
}

func TestEndpointBodies(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, _ = io.WriteString(z, good())
	_, _ = io.CopyN(z, zeros{}, 100<<20)
	z.Close()
	raw := func(head, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				panic(err)
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, head+"\r\n\r\n"+body)
		}
	}
	const ok = "HTTP/1.1 200 OK\r\nContent-Type: application/json"
	typed := func(types ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = types
			_, _ = io.WriteString(w, good())
		}
	}
	for _, c := range []struct {
		id, want string
		handler  http.HandlerFunc
	}{
		{"bg/A38", "failed/result_not_json", typed("text/html")},
		{"no type", "failed/result_not_json", raw("HTTP/1.1 200 OK", good())},
		{"two types", "failed/result_not_json", typed("application/json", "text/html")},
		{"a list of types", "failed/result_not_json", typed("application/json, text/html")},
		{"a longer type", "failed/result_not_json", typed("application/json-seq")},
		{"parameters", "succeeded", typed("Application/JSON ; charset=x; y")},
		{"bg/A39", "failed/result_not_json", func(w http.ResponseWriter, _ *http.Request) { answer(w, good()[:40]) }},
		{"two values", "failed/result_not_json", func(w http.ResponseWriter, _ *http.Request) { answer(w, good()+good()) }},
		{"invalid UTF-8", "failed/result_not_json", func(w http.ResponseWriter, _ *http.Request) { answer(w, "\"\xff\"") }},
		{"longer than it says", "failed/result_not_json", raw(ok+"\r\nContent-Length: 20", good())},
		{"shorter than it says", "failed/result_not_json", raw(ok+"\r\nContent-Length: 9999", good())},
		{"says that it is enormous", "failed/result_not_json", raw(ok+"\r\nContent-Length: 9223372036854775807", good())},
		{"two lengths", "failed/endpoint_http_error", raw(ok+"\r\nContent-Length: 20\r\nContent-Length: 30", good())},
		{"broken chunks", "failed/result_not_json", raw(ok+"\r\nTransfer-Encoding: chunked", "zz\r\n")},
		{"until it closes", "succeeded", raw(ok, good())},
		{"no HTTP", "failed/endpoint_http_error", raw("SSH-2.0-x", "")},
		{"closes early", "failed/endpoint_http_error", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		{"headers without end", "failed/endpoint_http_error", raw(ok+"\r\nX: "+strings.Repeat("x", 100<<10), good())},
		{"another protocol", "failed/endpoint_http_error", raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade", good())},
		{"a hint before", "succeeded", raw("HTTP/1.1 103 Early Hints\r\n\r\n"+ok, good())},
		{"bg/A43", "failed/result_not_json", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			answer(w, bomb.String())
		}},
		{"not compressed after all", "succeeded", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			answer(w, good())
		}},
		{"bg/A42", "failed/result_too_large", func(w http.ResponseWriter, _ *http.Request) { answer(w, strings.Repeat(" ", 5<<20)+good()) }},
		{"one byte too many", "failed/result_too_large", func(w http.ResponseWriter, _ *http.Request) {
			answer(w, good()+strings.Repeat(" ", maxResult+1-len(good())))
		}},
		{"as much as there may be", "succeeded", func(w http.ResponseWriter, _ *http.Request) {
			answer(w, good()+strings.Repeat(" ", maxResult-len(good())))
		}},
		{"another request", "failed/request_id_mismatch", func(w http.ResponseWriter, _ *http.Request) {
			answer(w, strings.Replace(good(), "ptr_1", "ptr_2", 1))
		}},
	} {
		t.Run(c.id, func(t *testing.T) {
			settled(t)
			e := endpoint(t, c.handler)
			dial := e.carrier.DialContext
			var read atomic.Int64
			e.carrier.DialContext = func(ctx context.Context, network, at string) (net.Conn, error) {
				conn, err := dial(ctx, network, at)
				return counted{conn, &read}, err
			}
			check(t, ask(e), c.want)
			if n := read.Load(); n > maxResult+64<<10 || n == 0 && c.id != "closes early" {
				t.Errorf("%d bytes were read", n)
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

type counted struct {
	net.Conn
	n *atomic.Int64
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.n.Add(int64(n))
	return n, err
}
