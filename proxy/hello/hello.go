package hello

import "encoding/binary"

const (
	maxMessage = 16 << 10 // bytes of the ClientHello, header included; crypto/tls takes 64 KiB, real ones are below 4
	maxRecords = 256      // bounds what one more byte costs: every call walks the records again
	recordHead = 5
	recordMax  = 1 << 14 // RFC 8446, 5.1

	// Limit is a number of bytes that is always enough: for as many the answer is never [More].
	Limit = maxMessage + maxRecords*recordHead
)

// State is what the bytes so far are.
type State uint8

// The states. All but More are final: more bytes do not change them.
const (
	More      State = iota // the beginning of a ClientHello
	Found                  // a ClientHello with a server name
	Absent                 // a ClientHello without one
	NotTLS                 // something else
	Malformed              // TLS, but no ClientHello that every server reads alike; or one over the limits
)

// ServerName reads the server name of the ClientHello with which b begins (RFC 6066, 3).
// It is as the client wrote it: 1 to 255 bytes of printable ASCII, of any case. b is all that
// came so far, which need not be more than [Limit]; it is neither kept nor changed.
func ServerName(b []byte) (string, State) {
	l, s := scan(b)
	if s != Found {
		return "", s
	}
	return parse(l.body(b))
}

// layout says where a whole handshake message lies.
type layout struct {
	size    int // of the message, header included
	records int
}

// scan walks the records until they hold one handshake message, without a copy. It answers
// Found for a whole one.
func scan(b []byte) (layout, State) {
	var l layout
	var head [4]byte // the message's, which may be spread over four records
	declared, have := 0, 0
	for {
		if l.records == maxRecords {
			return l, Malformed
		}
		if s := record(b); s != Found {
			return l, s
		}
		l.records++
		n := int(binary.BigEndian.Uint16(b[3:]))
		part := b[recordHead:min(len(b), recordHead+n)]
		if have < len(head) {
			copy(head[have:], part)
		}
		declared, have = declared+n, have+len(part)
		if have > 0 && head[0] != 1 { // client_hello
			return l, Malformed
		}
		if have >= len(head) {
			l.size = len(head) + (int(head[1])<<16 | int(head[2])<<8 | int(head[3]))
			// What is behind it in its record is sent before any answer: no client does that,
			// and a server could take it for a second hello.
			if l.size > maxMessage || declared > l.size {
				return l, Malformed
			}
		}
		switch {
		case len(part) < n:
			return l, More
		case have >= len(head) && have == l.size:
			return l, Found
		}
		b = b[recordHead+n:]
	}
}

// record judges the head of one record as soon as each of its bytes is there.
func record(b []byte) State {
	switch {
	case len(b) > 0 && b[0] != 22: // handshake
		return NotTLS
	case len(b) > 1 && b[1] != 3:
		return NotTLS
	case len(b) > 2 && b[2] > 4: // SSL 3.0 to TLS 1.3
		return Malformed
	case len(b) < recordHead:
		return More
	}
	if n := binary.BigEndian.Uint16(b[3:]); n == 0 || n > recordMax {
		return Malformed // an empty fragment is forbidden (RFC 8446, 5.1)
	}
	return Found
}

// body returns the message without its header. One that lies in a single record, as nearly
// all do, is not copied.
func (l layout) body(b []byte) []byte {
	if l.records == 1 {
		return b[recordHead+4 : recordHead+l.size]
	}
	whole := make([]byte, 0, l.size)
	for len(whole) < l.size {
		n := int(binary.BigEndian.Uint16(b[3:]))
		whole = append(whole, b[recordHead:recordHead+n]...)
		b = b[recordHead+n:]
	}
	return whole[4:]
}
