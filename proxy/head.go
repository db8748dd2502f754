package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"net/http"
	"strings"
)

// maxFields is how many header fields a request may have.
const maxFields = 200

// badHead is why the head of a request is not accepted. It never quotes the request.
type badHead struct {
	status int
	text   string
}

func (e *badHead) Error() string { return e.text }

func bad(text string) error { return &badHead{status: http.StatusBadRequest, text: text} }

// head is what decides about a request. Only bytes on which every reader of HTTP agrees
// become one: what RFC 9112 lets a recipient repair (a bare LF, folded lines, blanks before
// a colon, two lengths) is refused, because two readers that repair differently are how one
// request is passed off as another (RFC 9112, section 11.2).
type head struct {
	method string
	target string // as written
	minor  int    // of HTTP/1.0 and HTTP/1.1

	host string // of the target, as written
	port uint16

	chunked bool
	length  int64 // -1: no Content-Length
}

func (h *head) connect() bool { return h.method == http.MethodConnect }

// readHeadLines reads up to and including the empty line. The request line is looked at as soon
// as it is there, because HTTP/0.9 has no empty line to wait for. It returns a *badHead, or
// the error of the reader with what had been read. grow is asked, again and again, when it is
// no longer small.
func readHeadLines(r *bufio.Reader, limit int, grow func() error) ([]byte, error) {
	var raw []byte
	for first := true; ; {
		part, err := r.ReadSlice('\n')
		raw = append(raw, part...)
		if len(raw) > small {
			if err := grow(); err != nil {
				return raw, err
			}
		}
		switch {
		case len(raw) > limit:
			return raw, &badHead{http.StatusRequestHeaderFieldsTooLarge, "the head of the request is too long"}
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return raw, err
		case !bytes.HasSuffix(raw, []byte("\r\n")):
			return raw, bad("a line of the head ends without a carriage return")
		}
		if first {
			if _, _, _, err := parseLine(string(raw[:len(raw)-2])); err != nil {
				return raw, err
			}
			first = false
		} else if bytes.HasSuffix(raw, []byte("\r\n\r\n")) {
			return raw, nil
		}
	}
}

// parseHead takes a whole head with its empty line. Every error is a *badHead.
func parseHead(raw []byte) (*head, error) {
	text, ok := strings.CutSuffix(string(raw), "\r\n\r\n")
	if !ok {
		return nil, bad("the head of the request does not end")
	}
	line, rest, more := strings.Cut(text, "\r\n")
	h := &head{length: -1}
	var err error
	if h.method, h.target, h.minor, err = parseLine(line); err != nil {
		return nil, err
	}
	var f fields
	if more {
		if f, err = parseFields(strings.Split(rest, "\r\n")); err != nil {
			return nil, err
		}
	}
	if err := h.setTarget(); err != nil {
		return nil, err
	}
	if err := h.checkHost(f["host"]); err != nil {
		return nil, err
	}
	if err := h.setFraming(f); err != nil {
		return nil, err
	}
	return h, f.check()
}

// parseLine takes the request line apart: one blank between the parts, nothing more
// (RFC 9112, section 3).
func parseLine(line string) (method, target string, minor int, err error) {
	parts := strings.Split(line, " ")
	switch {
	case len(parts) != 3 || !isToken(parts[0]):
		return "", "", 0, bad("the request line is not a method, a target and a version")
	case !isTarget(parts[1]):
		return "", "", 0, bad("the target has a control character")
	}
	switch version := parts[2]; {
	case version == "HTTP/1.1":
		minor = 1
	case version == "HTTP/1.0":
	case strings.HasPrefix(version, "HTTP/"):
		return "", "", 0, &badHead{http.StatusHTTPVersionNotSupported, "this proxy speaks HTTP/1.1 and HTTP/1.0 alone"}
	default:
		return "", "", 0, bad("the request line names no version of HTTP")
	}
	return parts[0], parts[1], minor, nil
}

// isToken has the characters of methods and field names (RFC 9110, section 5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

// isTarget keeps blanks and controls out. Bytes over 0x7f are no URI, yet clients write
// paths so; in a name they are judged as one.
func isTarget(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] == 0x7f {
			return false
		}
	}
	return s != ""
}

// isValue has what may stand in a field value (RFC 9110, section 5.5).
func isValue(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' && s[i] != '\t' || s[i] == 0x7f {
			return false
		}
	}
	return true
}
