package proxy

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"brainbox/proxy/allow"
)

const (
	headLimit  = 64 << 10 // bytes of the head of a request
	readBuffer = 1 << 10  // bytes for each client; bodies are read past it
)

// input is what a client sends, behind what was looked at and put back.
type input struct {
	net.Conn
	front []byte
}

func (in *input) Read(b []byte) (int, error) {
	if len(in.front) > 0 {
		n := copy(b, in.front)
		if in.front = in.front[n:]; len(in.front) == 0 {
			in.front = nil // and not the memory of a whole head, while the next one is waited for
		}
		return n, nil
	}
	return in.Conn.Read(b)
}

// client is one connection that speaks HTTP.
type client struct {
	server *Server
	conn   net.Conn
	in     *input
	r      *bufio.Reader // of in
	large  bool          // its request has one of the places of large heads
}

// grow takes a place of a large head, until shrink.
func (c *client) grow() error {
	if !c.large && !place(c.server.large) {
		return &badHead{http.StatusServiceUnavailable, "too many large heads at once"}
	}
	c.large = true
	return nil
}

func (c *client) shrink() {
	if c.large {
		<-c.server.large
	}
	c.large = false
}

// serveHTTP serves one client after the other request, each judged by itself, until one is
// refused: then what follows it is not read.
func (s *Server) serveHTTP(ctx context.Context, conn net.Conn, first byte) {
	in := &input{conn, []byte{first}}
	c := &client{server: s, conn: conn, in: in, r: bufio.NewReaderSize(in, readBuffer)}
	defer linger(conn)
	defer c.shrink()
	for {
		h, req, err := c.next()
		if err != nil {
			c.answerBad(err)
			return
		}
		if h.connect() {
			c.tunnel(ctx, h)
			return
		}
		again := c.forward(ctx, h, req)
		c.shrink()
		if !again || !c.more() {
			return
		}
	}
}

// next reads one request up to its body, twice: the strict look decides, and net/http reads
// the very same bytes.
func (c *client) next() (*head, *http.Request, error) {
	raw, err := readHeadLines(c.r, headLimit, c.grow)
	if err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) && len(raw) > 0 {
			err = &badHead{http.StatusRequestTimeout, "the head of the request did not come in time"}
		}
		return nil, nil, err
	}
	_ = c.conn.SetReadDeadline(time.Time{})
	h, err := parseHead(raw)
	if err != nil {
		return nil, nil, err
	}
	if h.connect() {
		return h, nil, nil
	}
	ahead, _ := c.r.Peek(c.r.Buffered())
	c.in.front = append(append(raw, ahead...), c.in.front...)
	c.r.Reset(c.in)
	req, err := http.ReadRequest(c.r)
	if err != nil {
		return nil, nil, bad("the head of the request is malformed")
	}
	return h, req, nil
}

// more waits for the first byte of another request.
func (c *client) more() bool {
	_ = c.conn.SetReadDeadline(time.Now().Add(c.server.config.Limits.Idle))
	if _, err := c.r.Peek(1); err != nil {
		return false
	}
	_ = c.conn.SetReadDeadline(time.Now().Add(c.server.config.Limits.Head))
	return true
}

// open asks for the target. The client is watched meanwhile, unless it has sent more than
// its request already: then its end does not mean that it has gone.
func (c *client) open(ctx context.Context, h *head, path allow.Path) (*passage, *refusal) {
	if c.r.Buffered() == 0 {
		var stop func()
		ctx, stop = watch(ctx, c.conn)
		defer stop()
	}
	host := strings.Clone(h.host) // the passage keeps it, and not the memory of a whole head
	return c.server.open(ctx, allow.Query{Host: host, Port: h.port, Path: path})
}

// tunnel serves CONNECT. The answer is sent when the origin is connected, and what came in
// one packet with the request is the beginning of the tunnel.
func (c *client) tunnel(ctx context.Context, h *head) {
	p, no := c.open(ctx, h, allow.Connect)
	if no != nil {
		c.refuse(no)
		return
	}
	ahead, _ := c.r.Peek(c.r.Buffered())
	first := append(append([]byte(nil), ahead...), c.in.front...) // c.r may go while the tunnel lasts
	c.shrink()                                                    // of the head nothing is left
	// A client that is gone is found out by the tunnel, which records the end.
	_, _ = c.conn.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n"))
	p.carry(c.conn, first)
}
