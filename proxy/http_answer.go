package proxy

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"brainbox/proxy/allow"
	"brainbox/proxy/pipe"
)

// How much a client may still send, and for how long, when its answer is on the way.
const (
	lingerTime  = time.Second
	lingerBytes = 4 << 20
)

// linger ends a connection so that the last answer arrives: to close while there are bytes
// unread sends a RST, which takes the answer from the client's hands (RFC 9112, section 9.6).
func linger(conn net.Conn) {
	if pipe.CloseWrite(conn) == nil {
		_ = conn.SetReadDeadline(time.Now().Add(lingerTime))
		_, _ = io.CopyN(io.Discard, conn, lingerBytes)
	}
	_ = conn.Close()
}

// ownAnswer is a whole answer of this proxy: one line that says why. No cache may keep it.
func ownAnswer(status int, line string) []byte {
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=us-ascii\r\nContent-Length: %d\r\n"+
		"Cache-Control: no-store\r\nConnection: close\r\n\r\nbrainbox: %s\n",
		status, http.StatusText(status), len("brainbox: \n")+len(line), line)
}

var busyAnswer = ownAnswer(http.StatusServiceUnavailable, "too many connections at once")

// answer sends an answer of this proxy's own, the last one of the connection. Whether it
// arrives is the client's business.
func (c *client) answer(status int, line string) { _, _ = c.conn.Write(ownAnswer(status, line)) }

// answerBad answers a head that is none. Who has gone, or never said anything, gets nothing.
func (c *client) answerBad(err error) {
	if b := (*badHead)(nil); errors.As(err, &b) {
		c.server.turnAway(allow.Request, allow.Malformed)
		c.answer(b.status, b.text)
	}
}

// refuse answers a refusal.
func (c *client) refuse(no *refusal) {
	if no.reason != allow.Gone {
		c.answer(refusalStatus(no.reason), refusalLine(no))
	}
}

func refusalStatus(r allow.Reason) int {
	switch r {
	case allow.Malformed:
		return http.StatusBadRequest
	case allow.Unresolved, allow.Unreachable:
		return http.StatusBadGateway
	case allow.Busy:
		return http.StatusServiceUnavailable
	default:
		return http.StatusForbidden
	}
}

// refusalLine says in one line of ASCII what was refused, why, and what would allow it.
func refusalLine(no *refusal) string {
	at := where(no.name, no.port)
	switch no.reason {
	case allow.Malformed:
		return strconv.QuoteToASCII(no.name) + " is no host name"
	case allow.NotListed:
		return at + " is not listed; --allow-host " + at + " would allow it"
	case allow.PortClosed:
		return at + " is not listed, other ports of this host are; --allow-host " + at + " would allow it"
	case allow.Literal:
		return at + " is an address that is not listed; --allow-host " + at + " would allow it"
	case allow.Private:
		return at + " leads to an address that is not public, and not listed by itself"
	case allow.ServerName:
		return at + " takes TLS for this very name and nothing else; CONNECT reaches it"
	case allow.Itself:
		return at + " belongs to this run itself"
	case allow.Unresolved:
		return at + " has no address: the resolver of the host knows none"
	case allow.Unreachable:
		return at + " does not answer"
	case allow.Busy:
		return at + ": too many connections at once"
	default:
		return at + " is refused: " + string(no.reason)
	}
}

// where is host:port as one would write it, quoted if it has any character that a name or
// an address does not have.
func where(host string, port uint16) string {
	digits := strconv.Itoa(int(port))
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-._:", r)
	}
	if strings.ContainsFunc(host, odd) {
		return strconv.QuoteToASCII(host) + ":" + digits
	}
	return net.JoinHostPort(host, digits)
}
