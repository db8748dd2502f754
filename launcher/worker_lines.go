package launcher

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"brainbox/internal/mutation"
)

// MaxWorkerLine bounds one line of a worker, in bytes, without its newline.
const MaxWorkerLine = 16 << 20

// LineError says that a worker broke the form of its output: one text a line, each ended by
// a newline. The worker has been ended.
type LineError struct{ Reason string }

// Error describes it.
func (e *LineError) Error() string { return "launcher: worker's output: " + e.Reason }

// LineReader reads a worker's standard output line by line, with a bound. It is not safe for
// concurrent use.
type LineReader struct {
	in   *bufio.Reader
	max  int
	kill func() error
	err  error
}

// Lines reads the worker's standard output; there is one reader.
func (r *WorkerRun) Lines() *LineReader {
	r.lines.Do(func() { r.reader = newLineReader(r.Stdout, longest(), r.Kill) })
	return r.reader
}

func longest() int {
	if mutation.On("long-lines") {
		return 1 << 30
	}
	return MaxWorkerLine
}

func newLineReader(in io.Reader, most int, kill func() error) *LineReader {
	return &LineReader{in: bufio.NewReaderSize(in, 64<<10), max: most, kill: kill}
}

// Next returns the next line without its newline; it is valid until the next call. The end
// is io.EOF. A line that is too long, or has no end, ends the worker and is a *LineError;
// nothing more is read then.
func (l *LineReader) Next() ([]byte, error) {
	if l.err != nil {
		return nil, l.err
	}
	line, err := l.next()
	if err != nil {
		l.err = err
		var bad *LineError
		if errors.As(err, &bad) {
			_ = l.kill()
		}
	}
	return line, err
}

func (l *LineReader) next() ([]byte, error) {
	var long []byte
	for {
		part, err := l.in.ReadSlice('\n')
		if len(long)+len(bytes.TrimSuffix(part, []byte("\n"))) > l.max {
			return nil, &LineError{fmt.Sprintf("a line of more than %d bytes", l.max)}
		}
		switch {
		case err == nil && long == nil:
			return part[:len(part)-1], nil
		case err == nil:
			long = append(long, part...)
			return long[:len(long)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
			long = append(long, part...)
		case len(long)+len(part) > 0:
			return nil, &LineError{"it ends within a line"}
		default:
			return nil, err
		}
	}
}
