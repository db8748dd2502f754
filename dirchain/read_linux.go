package dirchain

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// ReadRequest is one read.
type ReadRequest struct {
	Offset int64 // bytes from the start; beyond the end gives no data
	// Limit is the most bytes that are returned; 0 means [DefaultReadLimit]. It also
	// bounds the memory: the rest of the file is hashed in small pieces.
	Limit int64
	// AllowLinked reads a file that has several names, of which one may lie outside.
	AllowLinked bool
}

// DefaultReadLimit is how many bytes a read returns when it names no limit.
const DefaultReadLimit = 1 << 20

// ReadResult is what was read.
type ReadResult struct {
	Data      []byte
	SHA256    Hash // of the whole file
	Size      int64
	Truncated bool // there is more after Data
	Stat      Stat
}

// Read reads a regular file beneath the root. The file is opened without waiting
// and read once; one that changes meanwhile is [ErrChanged], one larger than the
// root's MaxFile [ErrTooLarge] before anything is read.
func (r *Root) Read(ctx context.Context, unsafePath string, req ReadRequest) (ReadResult, error) {
	res, err := r.readFile(ctx, unsafePath, req)
	return res, named("read", unsafePath, err)
}

func (r *Root) readFile(ctx context.Context, unsafePath string, req ReadRequest) (ReadResult, error) {
	parts, err := SplitPath(unsafePath)
	if err != nil {
		return ReadResult{}, err
	}
	if req.Offset < 0 || req.Limit < 0 {
		return ReadResult{}, because(ErrPath, "offset and limit are not negative")
	}
	if err = r.acquire(); err != nil {
		return ReadResult{}, err
	}
	defer r.release()
	fd, st, err := r.openRegular(parts, req.AllowLinked)
	if err != nil {
		return ReadResult{}, err
	}
	defer r.close(fd)
	if err = r.visible(); err != nil {
		return ReadResult{}, err
	}
	if st.Size > r.opts.MaxFile {
		return ReadResult{}, because(ErrTooLarge, fmt.Sprintf("%d bytes, at most %d", st.Size, r.opts.MaxFile))
	}
	return r.readOpen(ctx, fd, st, req)
}

// readOpen reads an open file to its end.
func (r *Root) readOpen(ctx context.Context, fd int, st Stat, req ReadRequest) (ReadResult, error) {
	w := window{from: req.Offset, left: req.Limit}
	if w.left == 0 {
		w.left = DefaultReadLimit
	}
	w.data = make([]byte, 0, max(0, min(w.left, st.Size-w.from)))
	sum, size, err := r.sumTo(ctx, fd, st.Size, r.opts.MaxFile, w.take)
	if err != nil {
		return ReadResult{}, err
	}
	after, err := r.statAt(fd, "")
	if err != nil {
		return ReadResult{}, err
	}
	if size != st.Size || after.Size != st.Size || !after.Modified.Equal(st.Modified) {
		return ReadResult{}, because(ErrChanged, "it was written to while it was read")
	}
	return ReadResult{
		Data: w.data, SHA256: sum, Size: size, Stat: st,
		Truncated: req.Offset+int64(len(w.data)) < size,
	}, nil
}

// window keeps the part of a stream that was asked for.
type window struct {
	from int64 // bytes still to skip
	left int64 // bytes still to keep
	data []byte
}

func (w *window) take(b []byte) {
	skip := min(w.from, int64(len(b)))
	w.from -= skip
	b = b[skip:]
	b = b[:min(w.left, int64(len(b)))]
	w.left -= int64(len(b))
	w.data = append(w.data, b...)
}

// openRegular opens a regular file for reading, beneath the root and without
// waiting. It is looked at first: opening a device can have effects, and what has
// another name outside may be watched there.
func (r *Root) openRegular(parts []string, linked bool) (int, Stat, error) {
	const flags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOFOLLOW | unix.O_NOCTTY
	dir, last := r.fd, strings.Join(parts, "/")
	if r.old || len(last) >= unix.PathMax { // which has room for the ending NUL
		ch, err := r.walk(parts[:len(parts)-1], 0)
		if err != nil {
			return -1, Stat{}, err
		}
		defer ch.close()
		dir, last = ch.parent(), parts[len(parts)-1]
	}
	entry, st, err := r.openEntry(dir, last)
	if err != nil {
		return -1, Stat{}, translated(err)
	}
	defer r.close(entry)
	if err = st.readable(linked); err != nil {
		return -1, Stat{}, err
	}
	fd, now, err := r.openStat(dir, last, flags)
	if err != nil {
		return -1, Stat{}, translated(err)
	}
	if err = now.readable(linked); err != nil { // another one since; most likely a writer's
		r.close(fd)
		return -1, Stat{}, err
	}
	return fd, now, nil
}

// readable judges an entry. Pure.
func (s Stat) readable(linked bool) error {
	switch {
	case s.Mode&unix.S_IFMT == unix.S_IFLNK:
		return ErrLink
	case s.Mode&unix.S_IFMT != unix.S_IFREG:
		return because(ErrNotRegular, s.Type().String())
	case s.Links > 1 && !linked:
		return ErrLinked
	}
	return nil
}
