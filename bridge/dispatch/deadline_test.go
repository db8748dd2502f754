package dispatch

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"brainbox/bridge/envelope"
)

// hang returns when the client is gone, which a server sees once it has read the body.
func hang(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	select {
	case <-r.Context().Done():
	case <-time.After(time.Minute):
	}
}

func TestEndpointDeadline(t *testing.T) {
	const timeout = 300 * time.Millisecond
	drip := func(w http.ResponseWriter, r *http.Request, text string) {
		flush := http.NewResponseController(w)
		for i := range len(text) {
			if _, err := io.WriteString(w, text[i:i+1]); err != nil || flush.Flush() != nil || r.Context().Err() != nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	for id, handler := range map[string]http.HandlerFunc{
		"bg/A40": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			drip(w, r, good())
		},
		"bg/A41": func(_ http.ResponseWriter, r *http.Request) { hang(r) },
		"dripping headers": func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				panic(err)
			}
			defer conn.Close()
			for _, c := range "HTTP/1.1 200 OK\r\nX-A: " + strings.Repeat("x", 200) {
				if _, err := conn.Write([]byte(string(c))); err != nil {
					return
				}
				time.Sleep(50 * time.Millisecond)
			}
		},
		"body never ends": func(w http.ResponseWriter, r *http.Request) {
			answer(w, good()[:40])
			_ = http.NewResponseController(w).Flush()
			hang(r)
		},
	} {
		t.Run(id, func(t *testing.T) {
			settled(t)
			e := endpoint(t, handler)
			e.timeout = timeout
			within(t, timeout+100*time.Millisecond, func() time.Duration {
				begun := time.Now()
				check(t, ask(e), "timeout/dispatch_timeout")
				took := time.Since(begun)
				if took < timeout {
					t.Errorf("took only %v", took)
				}
				return took
			})
		})
	}
	for _, scheme := range []string{"http", "https"} {
		t.Run("nobody accepts "+scheme, func(t *testing.T) {
			settled(t)
			listener, err := net.Listen("tcp", "127.0.0.1:0") // the kernel completes the connection
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			e := to(scheme + "://" + listener.Addr().String() + "/")
			e.timeout = timeout
			check(t, ask(e), "timeout/dispatch_timeout")
		})
	}
}

func TestEndpointCallerGone(t *testing.T) {
	t.Run("bg/A82", func(t *testing.T) {
		settled(t)
		began, ended := make(chan struct{}), make(chan struct{})
		e := endpoint(t, func(_ http.ResponseWriter, r *http.Request) {
			close(began)
			hang(r)
			close(ended)
		})
		ctx, cancel := context.WithCancel(context.Background())
		result := make(chan *envelope.Result)
		go func() { result <- e.Dispatch(ctx, request()) }()
		<-began
		cancel()
		check(t, <-result, "failed/caller_gone")
		select {
		case <-ended:
		case <-time.After(patience):
			t.Error("the connection stays")
		}
	})
}
