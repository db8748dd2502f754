package wire

import (
	"fmt"
	"io"
	"sync"
)

// Writer writes frames, each with one call of Write. It may be used by several goroutines.
type Writer struct {
	mu  sync.Mutex
	w   io.Writer
	buf []byte
}

// NewWriter makes a writer.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write writes a message. One that makes too long a frame is ErrTooLarge, and nothing of
// it is written.
func (w *Writer) Write(m *Message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := m.Append(w.buf[:0])
	if cap(b) <= mostIdleKept {
		w.buf = b
	}
	if len(b) > MaxFrame {
		return ErrTooLarge
	}
	if _, err := w.w.Write(b); err != nil {
		return fmt.Errorf("wire: write: %w", err)
	}
	return nil
}
