package proxy

import (
	"errors"
	"io"
	"net"
	"sync"

	"brainbox/proxy/allow"
	"brainbox/proxy/pipe"
)

// carry lets the program's connection through until it ends, and closes it. first is what
// was read from client already. Port 443 needs a ClientHello that names the host, before
// anything is sent to the origin, and on other ports one that is sent first has to name no
// other host; a refusal resets the connection.
func (p *passage) carry(client net.Conn, first []byte) {
	defer client.Close()
	if !p.attach(client) {
		p.end(0, 0)
		return
	}
	if p.needsHello() {
		all, reason := p.readHello(client, first)
		if reason != "" {
			pipe.Reset(client)
			p.refuse(reason)
			return
		}
		first = all
		p.let()
	}
	p.tunnel(client, first)
}

// tunnel copies both ways until both are at their end, and records it with what was passed
// on. What fails one way cuts both off, so that a truncated stream has no orderly end.
func (p *passage) tunnel(client net.Conn, first []byte) {
	early := p.early
	p.early = nil
	if len(first) > 0 {
		p.claim() // ahead of whatever the origin says
	}
	looked := make(chan struct{})
	var received int64
	var back sync.WaitGroup
	back.Go(func() { received = p.fromOrigin(client, early, looked) })
	sent, reason := p.fromProgram(client, first, looked)
	if reason != "" {
		_ = p.Close() // ends the other way as well
		back.Wait()
		p.refuse(reason)
		return
	}
	back.Wait()
	p.end(sent, received)
}

// fromProgram passes on what the program says. When the program speaks first, that decides
// whether it is let through. It closes looked when it is decided.
func (p *passage) fromProgram(client net.Conn, first []byte, looked chan<- struct{}) (int64, allow.Reason) {
	if !p.decided() {
		var reason allow.Reason
		if first, reason = p.readFirst(client, first); reason != "" {
			close(looked)
			return 0, reason
		}
		p.let()
	}
	close(looked)
	sent := p.pass(p.conn, client, first)
	p.hear()
	return sent, ""
}

// fromOrigin passes on what the origin says. When the origin speaks first, or ends, the
// program is let through; otherwise nothing is passed on before looked is closed.
func (p *passage) fromOrigin(client net.Conn, early []byte, looked <-chan struct{}) int64 {
	var err error
	if !p.decided() && len(early) == 0 {
		var n int
		early = make([]byte, firstRead)
		n, err = p.conn.Read(early)
		early = early[:n]
	}
	if p.cut() {
		return 0
	}
	if p.claim() {
		p.let()
	} else if <-looked; !p.decided() {
		return 0
	}
	if err != nil && !errors.Is(err, io.EOF) { // the next read would not tell again (SO_ERROR, socket(7))
		_ = p.Close()
		return 0
	}
	return p.pass(client, p.conn, early)
}

// pass copies from one connection to the other and then passes on the end. Between two TCP
// connections this is splice(2): no byte comes into this process.
func (p *passage) pass(to, from net.Conn, first []byte) int64 {
	count, err := pipe.Copy(to, from, first)
	if err != nil {
		_ = p.Close()
	}
	return count
}
