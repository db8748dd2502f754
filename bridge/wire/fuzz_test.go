package wire

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// stream is a connection that yields given bytes in pieces, and then its end.
type stream struct {
	net.Conn
	data  []byte
	piece int
}

func (s *stream) Read(p []byte) (int, error) {
	if len(s.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.data[:min(len(s.data), s.piece)])
	s.data = s.data[n:]
	return n, nil
}

func (s *stream) SetReadDeadline(time.Time) error { return nil }

// FuzzRead reads frames in pieces of any size: what is given out are the lines of the
// stream, whatever the pieces, and a request that is accepted is read from its own text
// again as the same.
func FuzzRead(f *testing.F) {
	f.Add([]byte("{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"method\":\"ping\",\"params\":{}}\n\n\n"), uint8(3))
	f.Add([]byte("a\r\n\nb\n"), uint8(1))
	f.Add([]byte("{\"jsonrpc\":\"2.0\",\"method\":\"cancel\",\"params\":{\"id\":\"1\"}}\n"), uint8(200))
	f.Add(bytes.Repeat([]byte("\n"), 40), uint8(9))
	f.Add(bytes.Repeat([]byte("x"), 300), uint8(255))
	f.Fuzz(func(t *testing.T, data []byte, piece uint8) {
		const frame = 256
		r := NewReader(&stream{data: bytes.Clone(data), piece: int(piece) + 1}, ReaderOptions{Frame: frame})
		rest := data
		for {
			line, err := r.Next()
			if len(r.buf) > frame {
				t.Fatalf("the buffer has %d bytes", len(r.buf))
			}
			if err != nil && !Recoverable(err) {
				if !errors.Is(err, ErrTooLarge) && !errors.Is(err, ErrEmpty) && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Fatal(err)
				}
				return
			}
			rest = bytes.TrimLeft(rest, "\n")
			want, after, found := bytes.Cut(rest, []byte("\n"))
			if rest = after; !found || len(want) >= frame {
				t.Fatalf("frame %q of no line", line)
			}
			if err != nil {
				if !bytes.Contains(want, []byte("\r")) {
					t.Fatalf("%q was refused", want)
				}
				continue
			}
			if !bytes.Equal(line, want) {
				t.Fatalf("%q, want %q", line, want)
			}
			again(t, line)
		}
	})
}

// again reads what was accepted once more.
func again(t *testing.T, line []byte) {
	m, err := DecodeRequest(line)
	if err != nil {
		if Refusal(err).Code == CodeInternal {
			t.Fatalf("%q: %v", line, err)
		}
		return
	}
	text := m.Append(nil)
	if i := bytes.IndexByte(text, '\n'); i != len(text)-1 {
		t.Fatalf("%q is not one line", text)
	}
	second, err := DecodeRequest(text[:len(text)-1])
	if err != nil || second.Kind != m.Kind || second.ID != m.ID || second.Method != m.Method || !bytes.Equal(second.Append(nil), text) {
		t.Fatalf("%q became %q: %v", line, text, err)
	}
}
