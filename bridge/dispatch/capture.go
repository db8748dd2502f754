package dispatch

import (
	"os"
	"strings"
	"time"
)

const maxStderr = 64 << 10 // bytes that are kept

// capture reads one output of a command, and keeps its beginning.
type capture struct {
	file *os.File
	keep int
	over chan struct{} // closed when there is more than keep
	done chan struct{} // closed at the end
	text []byte        // after done
	more bool          // after done: there was more
}

// newCapture reads until every writer has closed the pipe.
func newCapture(f *os.File, keep int) *capture {
	c := &capture{file: f, keep: keep, over: make(chan struct{}), done: make(chan struct{})}
	go c.read()
	return c
}

func (c *capture) read() {
	defer close(c.done)
	buf := make([]byte, 32<<10)
	for {
		n, err := c.file.Read(buf)
		room := c.keep - len(c.text)
		c.text = append(c.text, buf[:min(n, room)]...)
		if n > room && !c.more {
			c.more = true
			close(c.over)
		}
		if err != nil {
			return // the end, or finish
		}
	}
}

// finish is called when all that could write is gone: a descriptor may still have been handed to
// somebody else.
func (c *capture) finish() {
	_ = c.file.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	<-c.done
	c.file.Close()
}

// visible is the text as diagnostics show it.
func (c *capture) visible() string {
	text := string(c.text)
	if c.more {
		text = cut(text)
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "\ufffd")
}

// cut ends a text that goes on at its last space, however far back that is: what follows may
// be a part of a secret, which nobody would find.
func cut(text string) string { return text[:1+strings.LastIndexAny(text, " \t\r\n")] }

// feed writes the request and closes the pipe. A command need not read it.
func feed(f *os.File, text []byte) (stop func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = f.Write(text)
		f.Close()
	}()
	return func() {
		_ = f.SetWriteDeadline(time.Unix(1, 0))
		<-done
	}
}
