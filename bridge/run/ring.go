package run

import "sync"

// Stream is where a piece of output came from.
type Stream uint8

// The streams. The zero value is none.
const (
	Stdout Stream = iota + 1
	Stderr
)

// String returns the name.
func (s Stream) String() string {
	switch s {
	case Stdout:
		return "stdout"
	case Stderr:
		return "stderr"
	}
	return "none"
}

// Chunk is a piece of output. The bytes are the command's: anything may be in them.
type Chunk struct {
	Stream Stream
	Data   []byte
}

// Ring keeps the last bytes of several streams in the order in which they came. It may be
// used by several goroutines. Make it with [NewRing].
type Ring struct {
	mu    sync.Mutex
	buf   []byte
	at    int   // where the next byte goes
	total int64 // bytes that ever came
	first int64 // where the first span begins
	spans []span
}

// span is a run of bytes of one stream; ends count from the very first byte.
type span struct {
	stream Stream
	end    int64
}

// mostSpans bounds how often the stream may change in what is kept: each change costs more
// than the byte it is for.
const mostSpans = 4096

// NewRing makes a ring that keeps so many bytes.
func NewRing(keep int) *Ring { return &Ring{buf: make([]byte, max(1, keep))} }

// Add takes a piece, and tells how many bytes came so far.
func (r *Ring) Add(s Stream, data []byte) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total += int64(len(data))
	if n := len(r.spans); n > 0 && r.spans[n-1].stream == s {
		r.spans[n-1].end = r.total
	} else if len(data) > 0 {
		r.spans = append(r.spans, span{s, r.total})
	}
	if over := len(data) - len(r.buf); over > 0 {
		data = data[over:]
	}
	for len(data) > 0 {
		n := copy(r.buf[r.at:], data)
		data, r.at = data[n:], (r.at+n)%len(r.buf)
	}
	from := max(r.total-int64(len(r.buf)), 0)
	gone := 0
	for gone < len(r.spans) && (r.spans[gone].end <= from || len(r.spans)-gone > mostSpans) {
		gone++
	}
	if gone > 0 {
		r.first = r.spans[gone-1].end
		r.spans = append(r.spans[:0], r.spans[gone:]...)
	}
	return r.total
}

// Chunks gives what is kept, and how many bytes before it are not.
func (r *Ring) Chunks() (chunks []Chunk, dropped int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := min(r.total, int64(len(r.buf)))
	all := make([]byte, 0, kept)
	if r.total >= int64(len(r.buf)) { // it is full, and the oldest byte is where the next one goes
		all = append(all, r.buf[r.at:]...)
	}
	all = append(all, r.buf[:r.at]...)
	from := r.total - int64(len(all))
	if r.first > from { // spans were given up before their bytes were
		all, from = all[r.first-from:], r.first
	}
	dropped = from
	for _, s := range r.spans {
		n := s.end - from
		chunks = append(chunks, Chunk{s.stream, all[:n:n]})
		all, from = all[n:], s.end
	}
	return chunks, dropped
}
