package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"brainbox/proxy/allow"
	"brainbox/proxy/pipe"
)

// answerHeadLimit bounds the head of an origin's answer, in bytes.
const answerHeadLimit = 64 << 10

// counted is the connection to an origin. It serves a single request: no second one,
// perhaps judged otherwise, ever goes over it.
type counted struct {
	net.Conn
	sent, received atomic.Int64
	deaf           bool // it reads no more; of Write, which net/http calls from one goroutine
}

func (o *counted) Read(b []byte) (int, error) {
	n, err := o.Conn.Read(b)
	o.received.Add(int64(n))
	return n, err
}

// Write reports no failure but that of a closed connection. An origin may answer before it
// has read a body, and end the connection (RFC 9112, section 9.6): net/http would give up at
// the first write that fails, and the answer, which is there, would never be read.
func (o *counted) Write(b []byte) (int, error) {
	if o.deaf {
		return len(b), nil
	}
	n, err := o.Conn.Write(b)
	o.sent.Add(int64(n))
	if err != nil && !errors.Is(err, net.ErrClosed) {
		o.deaf = true
		return len(b), nil
	}
	return n, err
}

// forward passes one request on, and its answer back. It reports whether the connection may
// have another request.
func (c *client) forward(ctx context.Context, h *head, req *http.Request) (again bool) {
	p, no := c.open(ctx, h, allow.Request)
	if no != nil {
		c.refuse(no)
		return false
	}
	conn, no := p.admit()
	if no != nil {
		c.refuse(no)
		return false
	}
	to := &counted{Conn: conn}
	defer func() { p.end(to.sent.Load(), to.received.Load()) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	x := &exchange{client: c, head: h, req: req, watch: func() func() {
		watched, stop := watch(ctx, c.conn)
		context.AfterFunc(watched, cancel)
		return stop
	}}
	defer x.unwatch()
	resp, err := x.roundTrip(ctx, to, p.event.Host)
	if err != nil {
		x.fail(ctx, p)
		return false
	}
	defer resp.Body.Close()
	if !proper(resp) || resp.StatusCode == http.StatusProxyAuthRequired { // an upstream's, to this proxy
		x.fail(ctx, p)
		return false
	}
	return x.answer(resp)
}

// exchange is one request and its answer. The body of the request may be read by net/http
// while the answer is written already.
type exchange struct {
	client *client
	head   *head
	req    *http.Request
	watch  func() (stop func()) // over the client, who ends the exchange by going

	mu     sync.Mutex
	final  bool   // the final answer has begun
	asked  bool   // the client was told to send its body
	whole  bool   // the body of the request was read to its end
	broken bool   // or cannot be
	stop   func() // of the watch; nil: there is none
}

// roundTrip has net/http do its part. The transport lives as long as the request, and dials
// nothing but what was decided about.
func (x *exchange) roundTrip(ctx context.Context, to net.Conn, name string) (*http.Response, error) {
	dialled := false
	t := &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			if dialled {
				return nil, net.ErrClosed
			}
			dialled = true
			return to, nil
		},
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: answerHeadLimit,
		ExpectContinueTimeout:  time.Second,
	}
	up := x.client.server.upstream
	if up != nil { // net/http then sends the whole URL, and dials what it would have dialled
		t.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: "upstream"})
	}
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{Got1xxResponse: x.interim})
	out := outgoing(ctx, x.req, name, x.head.port, up != nil)
	if x.head.chunked || x.head.length > 0 {
		out.Body = &requestBody{x}
	} else {
		out.Body = http.NoBody
		x.ended()
	}
	return t.RoundTrip(out)
}

// requestBody is the body that is passed on. Close leaves what was not read: the connection
// is not used again then.
type requestBody struct{ x *exchange }

func (b *requestBody) Close() error { return nil }

func (b *requestBody) Read(p []byte) (int, error) {
	b.x.goOn()
	n, err := b.x.req.Body.Read(p)
	switch {
	case errors.Is(err, io.EOF):
		b.x.ended()
	case err != nil:
		b.x.mu.Lock()
		b.x.broken = true
		b.x.mu.Unlock()
	}
	return n, err
}

// goOn tells the client to send its body, once, when the origin wants it.
func (x *exchange) goOn() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.asked && !x.final && x.req.ProtoMinor > 0 && x.req.Header.Get("Expect") != "" {
		_, _ = x.client.conn.Write([]byte("HTTP/1.1 100 Continue\r\n\r\n"))
	}
	x.asked = true
}

// ended is the end of the request. From here on the client is watched: when it goes, nobody
// waits for the origin any more.
func (x *exchange) ended() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.whole {
		return
	}
	x.whole = true
	if x.client.r.Buffered() == 0 {
		x.stop = x.watch()
	}
}

func (x *exchange) unwatch() {
	x.mu.Lock()
	stop := x.stop
	x.stop, x.whole = nil, true
	x.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// interim passes on what an origin says before its answer; 100 is between two ends of one
// connection, and a client of HTTP/1.0 knows none (RFC 9110, section 15.2).
func (x *exchange) interim(status int, fields textproto.MIMEHeader) error {
	h := http.Header(fields).Clone()
	strip(h)
	if status == http.StatusContinue || x.req.ProtoMinor == 0 {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	_, err := x.client.conn.Write(answerHead(status, h))
	return err
}

// fail answers for an origin that did not, unless the client is the reason.
func (x *exchange) fail(ctx context.Context, p *passage) {
	x.mu.Lock()
	broken := x.broken
	x.final = true
	x.mu.Unlock()
	switch {
	case broken:
		x.client.answer(http.StatusBadRequest, "the body of the request is malformed")
	case ctx.Err() != nil:
		pipe.Reset(x.client.conn)
	default:
		x.client.answer(http.StatusBadGateway, where(p.event.Host, p.event.Port)+" did not answer in proper HTTP")
	}
}
