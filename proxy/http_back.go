package proxy

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"brainbox/proxy/pipe"
)

// proper refuses what net/http takes and another reader may take otherwise: a name with a
// blank before the colon, a status of 099, and 101, which answers an Upgrade that was not
// passed on.
func proper(resp *http.Response) bool {
	for name := range resp.Header {
		if !isToken(name) {
			return false
		}
	}
	return resp.StatusCode >= http.StatusOK
}

// answerHead writes a head. The words behind the status are this proxy's: nobody reads them,
// and an origin could write anything there.
func answerHead(status int, h http.Header) []byte {
	var b bytes.Buffer
	b.WriteString("HTTP/1.1 " + strconv.Itoa(status) + " " + http.StatusText(status) + "\r\n")
	_ = h.Write(&b)
	b.WriteString("\r\n")
	return b.Bytes()
}

// answer passes the answer back, redirects like any other: what the client makes of one is
// a new request. It reports whether the connection may have another request.
func (x *exchange) answer(resp *http.Response) (again bool) {
	conn := x.client.conn
	x.mu.Lock()
	x.final = true
	again = x.whole && x.head.minor > 0 && !x.req.Close
	x.mu.Unlock()
	bodyless := x.req.Method == http.MethodHead || resp.StatusCode == http.StatusNoContent || resp.StatusCode == http.StatusNotModified
	unknown := resp.ContentLength < 0 && !bodyless
	chunked := unknown && x.head.minor > 0
	again = again && (!unknown || chunked)
	if _, err := conn.Write(answerHead(resp.StatusCode, x.back(resp, bodyless, chunked, again))); err != nil {
		return false
	}
	if !bodyless {
		if err := passBody(conn, resp, chunked); err != nil {
			pipe.Reset(conn) // what is cut off must not look whole
			return false
		}
	}
	return again
}

// back is the answer's fields with the framing of this side.
func (x *exchange) back(resp *http.Response, bodyless, chunked, again bool) http.Header {
	h := resp.Header
	strip(h)
	switch {
	case bodyless && resp.StatusCode != http.StatusNoContent: // the length that a GET would get, if any
	case bodyless || resp.ContentLength < 0:
		h.Del("Content-Length")
	default:
		h.Set("Content-Length", strconv.FormatInt(resp.ContentLength, 10))
	}
	if chunked {
		h.Set("Transfer-Encoding", "chunked")
		if len(resp.Trailer) > 0 {
			h.Set("Trailer", strings.Join(slices.Sorted(maps.Keys(resp.Trailer)), ", "))
		}
	}
	if !again {
		h.Set("Connection", "close")
	}
	return h
}

// chunkSize is how much is read at once; chunkFront is room for the length of a chunk and
// two more bytes behind it for its end, so that one write has it all.
const (
	chunkFront = len("8000\r\n")
	chunkSize  = 32 << 10
)

type chunk [chunkFront + chunkSize + 2]byte

var chunks = sync.Pool{New: func() any { return new(chunk) }}

// passBody copies a body as it comes: what the origin has sent so far is not held back.
func passBody(to io.Writer, resp *http.Response, chunked bool) error {
	buf, _ := chunks.Get().(*chunk)
	defer chunks.Put(buf)
	for {
		n, err := resp.Body.Read(buf[chunkFront : chunkFront+chunkSize])
		if n > 0 {
			part := buf[chunkFront : chunkFront+n]
			if chunked {
				part = buf.frame(n)
			}
			if _, err := to.Write(part); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF) && chunked:
			return endChunks(to, resp.Trailer)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// frame puts the length and the end around n bytes (RFC 9112, section 7.1).
func (c *chunk) frame(n int) []byte {
	size := strconv.FormatInt(int64(n), 16) + "\r\n"
	start := chunkFront - len(size)
	copy(c[start:], size)
	return append(c[start:chunkFront+n], "\r\n"...)
}

// endChunks writes the last chunk and the trailers that were announced.
func endChunks(to io.Writer, trailer http.Header) error {
	var b bytes.Buffer
	b.WriteString("0\r\n")
	_ = trailer.Write(&b)
	b.WriteString("\r\n")
	_, err := to.Write(b.Bytes())
	return err
}
