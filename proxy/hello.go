package proxy

import (
	"errors"
	"io"
	"net"
	"syscall"
	"time"

	"brainbox/proxy/allow"
	"brainbox/proxy/hello"
)

const (
	httpsPort = 443 // where nothing but TLS is let through
	firstRead = 512 // bytes for who speaks first; there may be thousands of whom nobody does
)

// readFirst waits for the program's first bytes, and judges them if the origin has not spoken
// before. It returns all the bytes it read.
func (p *passage) readFirst(client net.Conn, first []byte) ([]byte, allow.Reason) {
	if len(first) == 0 {
		first = make([]byte, firstRead)
		n, err := client.Read(first)
		first = first[:n]
		ours, left := p.claim(), err != nil && !errors.Is(err, io.EOF)
		switch {
		case left && ours:
			return nil, allow.Gone
		case left: // the next read would not tell again (SO_ERROR, socket(7))
			_ = p.Close()
			return nil, ""
		case !ours || n == 0:
			return first, ""
		}
	}
	return p.readHello(client, first)
}

// readHello reads the client's first bytes until they are a whole ClientHello, and judges
// it. It returns all the bytes it read: at most what a ClientHello may have.
func (p *passage) readHello(client net.Conn, first []byte) ([]byte, allow.Reason) {
	_ = client.SetReadDeadline(time.Now().Add(p.server.config.Limits.Hello))
	buf := append(make([]byte, 0, 2048), first...) // real ones are below
	large := false
	defer func() {
		if large {
			<-p.server.large
		}
	}()
	for {
		name, state := hello.ServerName(buf)
		if state != hello.More {
			_ = client.SetReadDeadline(time.Time{})
			return buf, p.judge(name, state)
		}
		if len(buf) >= small && !large {
			if large = place(p.server.large); !large {
				return nil, allow.Busy
			}
		}
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := client.Read(buf[len(buf):min(cap(buf), hello.Limit)])
		buf = buf[:len(buf)+n]
		if err != nil {
			return nil, noHello(len(buf), err)
		}
	}
}

// judge compares the server name with the name that was let through. On port 443 it is
// refused in any doubt. On other ports there need be no TLS, and there are clients of TLS that
// send no name: of databases, for one.
func (p *passage) judge(name string, state hello.State) allow.Reason {
	accepted := false
	switch state {
	case hello.Found:
		accepted = p.rules.Accepts(name)
	case hello.Absent:
		accepted = !p.needsHello() || p.rules.Accepts("")
	case hello.NotTLS:
		accepted = !p.needsHello()
	case hello.More, hello.Malformed:
	}
	if accepted {
		return ""
	}
	return allow.ServerName
}

// noHello tells a program that went away without a word, which asked for nothing, from one
// that sent something else, or nothing in time.
func noHello(got int, err error) allow.Reason {
	if got == 0 && (errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNRESET)) {
		return allow.Gone
	}
	return allow.ServerName
}
