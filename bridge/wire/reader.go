package wire

import (
	"bytes"
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds of frames.
const (
	MaxFrame     = 1 << 20          // bytes, line feed included
	MaxEmpty     = 16               // empty lines in a row
	DefaultIdle  = 10 * time.Second // from the first byte of a frame to its last
	firstBuffer  = 4 << 10
	mostIdleKept = 64 << 10 // a larger buffer is let go of between frames
)

// What a reader refuses. After ErrCarriageReturn the next frame can be read; after the
// others the connection is of no more use.
var (
	ErrTooLarge       = errors.New("wire: frame_too_large")
	ErrCarriageReturn = errors.New("wire: a carriage return in a frame")
	ErrEmpty          = errors.New("wire: too many empty lines")
	ErrIdle           = errors.New("wire: a frame did not end in time")
	ErrAncillary      = errors.New("wire: the peer passed descriptors")
)

// Recoverable reports whether the frames after the one that was refused can be read.
func Recoverable(err error) bool { return errors.Is(err, ErrCarriageReturn) }

// ReaderOptions of a reader. A zero field means its default.
type ReaderOptions struct {
	Frame int           // longest frame in bytes, line feed included; MaxFrame, which is also the most
	Idle  time.Duration // DefaultIdle
}

// Conn is what a reader needs of a connection: a net.Conn has it, and so has an os.File
// that holds a socket, so that a small program need not link package net.
type Conn interface {
	io.Reader
	SetReadDeadline(t time.Time) error
}

// Reader reads frames. It is for one goroutine.
type Reader struct {
	o     ReaderOptions
	conn  Conn
	raw   syscall.RawConn // of a socket; nil: another kind
	buf   []byte          // never longer than a frame
	start int             // of what was read and not yet given out
	end   int
	seen  int // how much of it has no line feed

	until time.Time // of the caller's
	begun time.Time // when the first byte of an unfinished frame was read; zero: there is none
	set   time.Time // the deadline that the connection has
}

// NewReader makes a reader, which from now on alone reads conn and sets its read deadline.
func NewReader(conn Conn, o ReaderOptions) *Reader {
	if o.Frame <= 0 || o.Frame > MaxFrame {
		o.Frame = MaxFrame
	}
	if o.Idle <= 0 {
		o.Idle = DefaultIdle
	}
	r := &Reader{o: o, conn: conn}
	r.raw = socketOf(conn)
	return r
}

// Until sets a time until which all frames must have come: that of a hello. The zero time
// is none.
func (r *Reader) Until(t time.Time) { r.until = t }

// Next returns the next frame without its line feed. It is valid until the next call. At
// the end of the stream the error is io.EOF, or io.ErrUnexpectedEOF within a frame.
func (r *Reader) Next() ([]byte, error) {
	for empty := 0; ; {
		line, err := r.line()
		switch {
		case err != nil:
			return nil, err
		case len(line) == 0:
			if empty++; empty > MaxEmpty {
				return nil, ErrEmpty
			}
		case bytes.IndexByte(line, '\r') >= 0:
			return nil, ErrCarriageReturn
		default:
			return line, nil
		}
	}
}

// line reads up to the next line feed.
func (r *Reader) line() ([]byte, error) {
	for {
		if i := bytes.IndexByte(r.buf[r.start+r.seen:r.end], '\n'); i >= 0 {
			n := r.seen + i
			line := r.buf[r.start : r.start+n : r.start+n]
			r.start, r.seen, r.begun = r.start+n+1, 0, time.Time{}
			return line, nil
		}
		r.seen = r.end - r.start
		if r.seen >= r.o.Frame {
			return nil, ErrTooLarge
		}
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
}

// fill reads more, within the deadlines.
func (r *Reader) fill() error {
	r.room()
	if r.seen > 0 && r.begun.IsZero() {
		r.begun = time.Now()
	}
	if err := r.deadline(); err != nil {
		return err
	}
	n, err := r.read(r.buf[r.end:])
	r.end += n
	switch {
	case errors.Is(err, ErrAncillary):
		return err
	case n > 0:
		return nil // the error comes again
	case errors.Is(err, os.ErrDeadlineExceeded):
		return ErrIdle
	case errors.Is(err, io.EOF) && r.seen > 0:
		return io.ErrUnexpectedEOF
	case err == nil:
		return io.ErrNoProgress
	}
	return err
}

// deadline sets the read deadline if it has to change.
func (r *Reader) deadline() error {
	t := r.until
	if !r.begun.IsZero() {
		if idle := r.begun.Add(r.o.Idle); t.IsZero() || idle.Before(t) {
			t = idle
		}
	}
	if t.Equal(r.set) {
		return nil
	}
	r.set = t
	return r.conn.SetReadDeadline(t)
}

// room makes place in the one buffer: by moving what is left to its start, by doubling it
// up to the size of a frame, or by a small one in place of a large one.
func (r *Reader) room() {
	if r.start == r.end {
		r.start, r.end = 0, 0
		if len(r.buf) == 0 || len(r.buf) > mostIdleKept {
			r.buf = make([]byte, min(firstBuffer, r.o.Frame))
		}
		return
	}
	if r.end < len(r.buf) {
		return
	}
	into := r.buf
	if r.start == 0 {
		into = make([]byte, min(2*len(r.buf), r.o.Frame))
	}
	r.end = copy(into, r.buf[r.start:r.end])
	r.buf, r.start = into, 0
}

// socketOf is the descriptor of a Unix socket.
func socketOf(conn Conn) syscall.RawConn {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	family := 0
	if err := raw.Control(func(fd uintptr) {
		family, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_DOMAIN)
	}); err != nil || family != unix.AF_UNIX {
		return nil
	}
	return raw
}

// read reads without a place for control data, so that the kernel drops what is passed,
// and says so.
func (r *Reader) read(p []byte) (int, error) {
	if r.raw == nil {
		return r.conn.Read(p)
	}
	var n, flags int
	var err error
	waited := r.raw.Read(func(fd uintptr) bool {
		n, _, flags, _, err = unix.Recvmsg(int(fd), p, nil, 0)
		for errors.Is(err, unix.EINTR) {
			n, _, flags, _, err = unix.Recvmsg(int(fd), p, nil, 0)
		}
		return !errors.Is(err, unix.EAGAIN)
	})
	switch {
	case waited != nil:
		return 0, waited
	case err != nil:
		return 0, os.NewSyscallError("recvmsg", err)
	case flags&unix.MSG_CTRUNC != 0:
		return n, ErrAncillary
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}
