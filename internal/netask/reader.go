package netask

import (
	"bufio"
	"errors"
	"io"
)

// Reader reads what a [Sender] wrote.
type Reader struct{ lines *bufio.Reader }

// NewReader returns one.
func NewReader(r io.Reader) *Reader { return &Reader{bufio.NewReaderSize(r, maxEvent)} }

// Reply returns the line that the host says to the descriptors, before any event. It is
// that of package hostask, and valid until the next call.
func (r *Reader) Reply() ([]byte, error) { return r.line() }

// Next returns the next event; a line that is none is one that is lost. The error is io.EOF at
// the end, io.ErrUnexpectedEOF within a line, or that of the reader, or that a line is too
// long: then nothing later can be told apart.
func (r *Reader) Next() (Event, error) {
	line, err := r.line()
	if err != nil {
		return Event{}, err
	}
	e, err := DecodeEvent(line)
	if err != nil {
		return Event{Lost: 1}, nil
	}
	return e, nil
}

func (r *Reader) line() ([]byte, error) {
	line, err := r.lines.ReadSlice('\n')
	if errors.Is(err, io.EOF) && len(line) > 0 {
		err = io.ErrUnexpectedEOF
	}
	return line, err
}
