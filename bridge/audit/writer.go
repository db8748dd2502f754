package audit

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/strictjson"
)

// How much torn text is healed. More of it is no half-written batch.
const (
	mostTorn      = 1 << 20 // bytes
	mostTornLines = 64
)

// writer is the file and where its chain stands. One goroutine uses it at a time.
type writer struct {
	o       *Options
	session []byte
	f       *os.File
	end     int64 // of the file as this writer left it; -1: not known
	seq     uint64
	last    Hash
	lost    uint64 // lines that could not be written
	moved   bool   // the file was moved away, which no line says yet
	left    record // the last line of it that is known

	syncMu sync.Mutex // guards what follows and f for the timer
	timer  *time.Timer
	fresh  bool  // nothing was in the file: its name is to be put on the disk too
	broken error // a failed fdatasync: what it was for may be gone, and a second one says nothing

	headMu  sync.Mutex
	headSeq uint64
	head    Hash
}

// open opens the file by its name.
func (w *writer) open() error {
	f, err := w.o.Dir.OpenFile(w.o.Name, unix.O_RDWR|unix.O_APPEND|unix.O_CREAT)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	w.syncMu.Lock()
	defer w.syncMu.Unlock()
	if w.f != nil {
		_ = w.f.Close()
	}
	w.f, w.end = f, -1
	return nil
}

func (w *writer) close() {
	w.syncMu.Lock()
	defer w.syncMu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
	_ = w.f.Close()
}

// commit writes a batch and makes it as durable as is asked for.
func (w *writer) commit(batch []*waiter) error {
	err := w.append(batch)
	if err == nil {
		err = w.settle()
	}
	if err != nil {
		w.lost += uint64(len(batch))
		return err
	}
	w.headMu.Lock()
	w.headSeq, w.head = w.seq, w.last
	w.headMu.Unlock()
	return nil
}

// append writes a batch under the file's lock.
func (w *writer) append(batch []*waiter) error {
	if err := w.failed(); err != nil {
		return err
	}
	rotated, err := w.lock()
	if rotated && !w.moved {
		w.moved, w.left = true, record{seq: w.seq, hash: w.last}
	}
	if err != nil {
		return err
	}
	defer func() { _ = unix.Flock(int(w.f.Fd()), unix.LOCK_UN) }()
	torn, err := w.find()
	if err != nil {
		return err
	}
	var list []*waiter
	if torn.bytes > 0 {
		list = append(list, w.own(Healed, strictjson.Pair("bytes", strictjson.Int(torn.bytes)), strictjson.Pair("sha256", strictjson.Text(torn.hash.String()))))
	}
	if w.moved {
		list = append(list, w.own(Rotated, strictjson.Pair("seq", strictjson.Uint(w.left.seq)), strictjson.Pair("sha256", strictjson.Text(w.left.hash.String()))))
	}
	if w.lost > 0 {
		list = append(list, w.own(Lost, strictjson.Pair("lines", strictjson.Uint(w.lost))))
	}
	return w.put(append(list, batch...), torn.bytes > 0)
}

func (w *writer) own(k Kind, members ...strictjson.Member) *waiter {
	data := strictjson.Object(members...)
	return &waiter{entry: entry{kind: k, at: w.o.Now(), data: strictjson.Append(nil, &data)}}
}

// lock takes the lock of the file that has the name now, and reports whether that is
// another one than before.
func (w *writer) lock() (rotated bool, err error) {
	for range 16 {
		if err := lock(int(w.f.Fd()), w.o.LockWait); err != nil {
			return rotated, err
		}
		var held, named unix.Stat_t
		if err := unix.Fstat(int(w.f.Fd()), &held); err != nil {
			return rotated, os.NewSyscallError("fstat", err)
		}
		err := w.o.Dir.Stat(w.o.Name, &named)
		if err == nil && held.Dev == named.Dev && held.Ino == named.Ino {
			return rotated, nil
		}
		_ = unix.Flock(int(w.f.Fd()), unix.LOCK_UN)
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return rotated, err
		}
		if err := w.rotate(); err != nil {
			return rotated, err
		}
		rotated = true
	}
	return rotated, ErrBusy
}

// rotate leaves a file that was moved away, with all that is in it on the disk.
func (w *writer) rotate() error {
	if err := w.sync(); err != nil {
		return err
	}
	return w.open()
}

// find finds the end of the chain where others have written since, and what is torn behind it.
func (w *writer) find() (tornText, error) {
	size, err := w.f.Seek(0, io.SeekEnd)
	if err != nil || size == w.end {
		return tornText{}, err
	}
	for _, window := range []int64{8 << 10, mostTorn + mostLine} {
		from := max(0, size-window)
		text := make([]byte, size-from)
		if _, err := w.f.ReadAt(text, from); err != nil {
			return tornText{}, err
		}
		if r, torn, ok := tail(text, from == 0); ok {
			w.seq, w.last, w.end = r.seq, r.hash, size
			w.noteFresh(size == 0)
			return tornText{bytes: int64(len(torn)), hash: sha256.Sum256(torn)}, nil
		}
	}
	return tornText{}, ErrBroken
}

func (w *writer) noteFresh(fresh bool) {
	w.syncMu.Lock()
	w.fresh = w.fresh || fresh
	w.syncMu.Unlock()
}

// tail finds the last line in the end of a file, and what is torn behind it. Without any
// line the zero record stands before the first; all says that text is the whole file.
func tail(text []byte, all bool) (last record, torn []byte, ok bool) {
	end := len(text)
	for range mostTornLines {
		feed := bytes.LastIndexByte(text[:end], '\n')
		if len(text)-feed-1 > mostTorn || feed < 0 && !all {
			return record{}, nil, false
		}
		if feed < 0 {
			return record{}, text, true
		}
		start := bytes.LastIndexByte(text[:feed], '\n') + 1
		if start == 0 && !all {
			return record{}, nil, false
		}
		if r, err := parse(text[start:feed]); err == nil {
			return r, text[feed+1:], true
		}
		end = feed
	}
	return record{}, nil, false
}

// put writes lines with one call. What it wrote of them when it failed is taken away.
func (w *writer) put(list []*waiter, torn bool) error {
	var out []byte
	if torn {
		out = append(out, '\n')
	}
	seq, last := w.seq, w.last
	for _, e := range list {
		start := len(out)
		seq++
		out = e.line(out, seq, last, w.session)
		last = sha256.Sum256(out[start : len(out)-1])
	}
	for rest := out; len(rest) > 0; {
		n, err := unix.Write(int(w.f.Fd()), rest)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			// The lock is held: behind end is nothing but ours.
			if len(rest) < len(out) && unix.Ftruncate(int(w.f.Fd()), w.end) != nil {
				w.end = -1
			}
			return fmt.Errorf("audit: %w", os.NewSyscallError("write", err))
		}
		rest = rest[n:]
	}
	w.seq, w.last, w.end, w.lost, w.moved = seq, last, w.end+int64(len(out)), 0, false
	return nil
}

// settle makes what was written durable now, or sees to it that it will be.
func (w *writer) settle() error {
	if w.o.SyncEvery <= 0 {
		return w.sync()
	}
	w.syncMu.Lock()
	defer w.syncMu.Unlock()
	if w.timer == nil {
		w.timer = time.AfterFunc(w.o.SyncEvery, func() { _ = w.sync() })
	}
	return nil
}

// sync puts the file on the disk. The file's lock is not held: others need not wait.
func (w *writer) sync() error {
	w.syncMu.Lock()
	defer w.syncMu.Unlock()
	w.timer = nil
	if w.broken != nil {
		return w.broken
	}
	err := unix.Fdatasync(int(w.f.Fd()))
	for errors.Is(err, unix.EINTR) {
		err = unix.Fdatasync(int(w.f.Fd()))
	}
	err = os.NewSyscallError("fdatasync", err)
	if err == nil && w.fresh {
		err, w.fresh = w.o.Dir.Sync(), false
	}
	if err != nil {
		w.broken = fmt.Errorf("audit: %w", err)
	}
	return w.broken
}

func (w *writer) failed() error {
	w.syncMu.Lock()
	defer w.syncMu.Unlock()
	return w.broken
}
