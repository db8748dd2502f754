package dirchain

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// item is one name of a directory.
type item struct {
	name string
	kind byte // DT_…
	mode fs.FileMode
}

// list reads the names of the chain's last directory, no more than are left, and
// sorts them.
func (w *walker) list(ctx context.Context, lv *level) ([]item, error) {
	r, fd := w.ch.r, w.ch.parent()
	if lv.depth == 1 { // opened before this walk: others may read with the same offset
		own, _, err := r.openStat(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY)
		if err != nil {
			return nil, translated(err)
		}
		defer r.close(own)
		fd = own
	}
	var items []item
	for more := true; more; {
		if err := w.alive(ctx); err != nil {
			return nil, err
		}
		n, err := r.getdents(fd, w.buf)
		if errors.Is(err, unix.ENOENT) { // it was removed meanwhile
			break
		}
		if err != nil {
			return nil, err
		}
		items, more = w.take(items, w.buf[:n])
		more = more && n > 0
	}
	slices.SortFunc(items, func(a, b item) int { return strings.Compare(a.name, b.name) })
	return items, nil
}

// take adds the names in a buffer of getdents64(2) to items, and says whether more
// may be read.
func (w *walker) take(items []item, buf []byte) ([]item, bool) {
	more := eachDirent(buf, func(name []byte, kind byte) bool {
		if w.left == 0 {
			if w.full = because(ErrLimit, fmt.Sprintf("more than %d entries", w.limits.Entries)); w.over == nil {
				w.over = w.full
			}
			return false
		}
		w.left--
		items = append(items, item{string(name), kind, typeOfDirent(kind)})
		return true
	})
	return items, more
}

// eachDirent gives the names in a buffer of getdents64(2), "." and ".." left out,
// until do says no.
func eachDirent(buf []byte, do func(name []byte, kind byte) bool) bool {
	const head = 19 // d_ino, d_off, d_reclen, d_type
	for len(buf) > head {
		size := int(binary.NativeEndian.Uint16(buf[16:]))
		if size <= head || size > len(buf) {
			break
		}
		kind, name := buf[18], buf[head:size]
		buf = buf[size:]
		if end := bytes.IndexByte(name, 0); end >= 0 {
			name = name[:end]
		}
		if string(name) != "." && string(name) != ".." && !do(name, kind) {
			return false
		}
	}
	return true
}

// empty reads a directory that was opened for it until it knows.
func (c *calls) empty(fd int) (bool, error) {
	buf := make([]byte, 1<<10)
	for {
		n, err := c.getdents(fd, buf)
		if n <= 0 || err != nil {
			return err == nil, err
		}
		if !eachDirent(buf[:n], func([]byte, byte) bool { return false }) {
			return false, nil
		}
	}
}

// typeOfDirent is the type that a directory tells, in the terms of io/fs.
func typeOfDirent(kind byte) fs.FileMode {
	return Stat{Mode: uint32(kind) << 12}.Type() // DT_ is S_IF of stat(2) shifted (readdir(3))
}

func (c *calls) getdents(fd int, buf []byte) (n int, err error) {
	err = c.do("getdents64", func() (err error) { n, err = unix.Getdents(fd, buf); return err })
	return n, err
}
