package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"time"

	"brainbox/proxy/allow"
)

// upstream is the operator's proxy. Names are its to resolve, so no answer is checked here.
type upstream struct {
	name string     // to be resolved; "": addr
	addr netip.Addr // may be private: the operator named it
	port uint16
}

// parseUpstream reads http://HOST:PORT. No credentials: what reaches the program's host in
// an environment or a policy is not where they belong.
func parseUpstream(text string) (*upstream, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // no upstream is no error
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" || u.Opaque != "" || u.Path != "" && u.Path != "/" ||
		u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.Hostname() == "" {
		return nil, fmt.Errorf("proxy: upstream %q: want http://HOST:PORT", text)
	}
	if u.User != nil {
		return nil, errors.New("proxy: upstream: credentials are not supported; want http://HOST:PORT")
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil || port == 0 {
		return nil, fmt.Errorf("proxy: upstream %q: want http://HOST:PORT", text)
	}
	up := &upstream{port: uint16(port)}
	if up.addr, err = netip.ParseAddr(u.Hostname()); err != nil {
		up.name = u.Hostname()
	}
	return up, nil
}

// dialUpstream connects to the operator's proxy. Its name is the one that is looked up as the
// host does: `http://proxy:3128` is found with the search list.
func (s *Server) dialUpstream(ctx context.Context, p *passage) (net.Conn, allow.Reason) {
	addrs := []netip.Addr{s.upstream.addr}
	if s.upstream.name != "" {
		var reason allow.Reason
		if addrs, reason = s.resolve(ctx, s.config.ResolveUpstream, s.upstream.name); reason != "" {
			return nil, reason
		}
	}
	return s.dial(ctx, p, addrs, s.upstream.port)
}

// connectUpstream has the operator's proxy connect to the name (CONNECT, RFC 9110, 9.3.6).
func (s *Server) connectUpstream(ctx context.Context, p *passage, name string, port uint16) (net.Conn, allow.Reason) {
	conn, reason := s.dialUpstream(ctx, p)
	if reason != "" {
		return nil, reason
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	_ = conn.SetDeadline(time.Now().Add(s.config.Limits.Dial))
	early, err := connectThrough(conn, net.JoinHostPort(name, strconv.Itoa(int(port))))
	if !stop() {
		reason = allow.Gone
	} else if err != nil {
		reason = allow.Unreachable
	}
	if reason != "" {
		_ = conn.Close()
		return nil, reason
	}
	_ = conn.SetDeadline(time.Time{})
	p.early = early
	return conn, ""
}

// connectThrough asks for target, and returns what came behind the answer: the first bytes of
// an origin that speaks first.
func connectThrough(conn net.Conn, target string) ([]byte, error) {
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target); err != nil {
		return nil, err
	}
	head, early, err := readHead(conn)
	if err != nil {
		return nil, err
	}
	if !granted(head) {
		return nil, errors.New("the upstream refuses")
	}
	return early, nil
}

// maxHead is what an upstream may answer with, in bytes.
const maxHead = 64 << 10

// readHead reads up to the empty line, and returns what it read behind it as well.
func readHead(conn net.Conn) (head, rest []byte, err error) {
	buf := make([]byte, 0, 1024)
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := conn.Read(buf[len(buf):cap(buf)])
		from := max(0, len(buf)-len(headEnd))
		buf = buf[:len(buf)+n]
		if i := bytes.Index(buf[from:], headEnd); i >= 0 && from+i <= maxHead {
			end := from + i + len(headEnd)
			return buf[:end], bytes.Clone(buf[end:]), nil
		}
		if len(buf) > maxHead {
			return nil, nil, errors.New("the head of the answer is too long")
		}
		if err != nil {
			return nil, nil, err
		}
	}
}

var headEnd = []byte("\r\n\r\n")

// granted reports whether the status line says 200. A body's length in the head means
// nothing: the tunnel begins behind the empty line (RFC 9110, 9.3.6).
func granted(head []byte) bool {
	line, _, _ := bytes.Cut(head, []byte("\r\n"))
	version, status, _ := bytes.Cut(line, []byte(" "))
	if string(version) != "HTTP/1.1" && string(version) != "HTTP/1.0" {
		return false
	}
	code, _, _ := bytes.Cut(status, []byte(" "))
	return string(code) == "200"
}
