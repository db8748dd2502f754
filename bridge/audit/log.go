package audit

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/state"
	"brainbox/internal/strictjson"
)

// Name is the file's in the state folder.
const Name = "audit.jsonl"

// The errors of a log.
var (
	ErrClosed = errors.New("audit: closed")
	ErrBusy   = errors.New("audit: another process holds the file")
	ErrBroken = errors.New("audit: the file does not end in a chain; look at it with brainbox events --verify, and move it away")
)

// mostBatch is how many lines are written at once.
const mostBatch = 256

// Options configures a [Log].
type Options struct {
	Dir     *state.Dir // held until Close; the caller's
	Name    string     // empty: Name
	Session string
	Redact  func(string) string // masks secrets in every text and key; nil masks nothing

	// SyncEvery is how long a line may be in the kernel and not on the disk. 0: it is on the
	// disk when it was written.
	SyncEvery time.Duration

	// Continue says that the run goes on where nothing can be written.
	Continue bool
	Diagnose func(error)      // is told what went wrong, without a lock held; nil: nobody
	LockWait time.Duration    // how long another writer is waited for; 0: 2 s
	Now      func() time.Time // the wall clock; nil: time.Now
}

// Log appends to the file. Its methods may be called by several goroutines.
type Log struct {
	o       Options
	clean   cleaner
	session []byte

	mu     sync.Mutex // guards the queue
	queue  []*waiter
	busy   bool // somebody writes what is queued
	closed bool

	w writer // of who is busy, and of Open and Close
}

// waiter is a line that somebody waits for.
type waiter struct {
	entry
	done chan error // one place
}

// Open opens the file, makes it if there is none, heals what is torn at its end, and writes
// a line of type opened. An error is one whatever Continue says: there is no log then.
func Open(o Options) (*Log, error) {
	if o.Dir == nil {
		return nil, errors.New("audit: no state folder")
	}
	if o.Name == "" {
		o.Name = Name
	}
	if o.LockWait <= 0 {
		o.LockWait = 2 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	l := &Log{o: o, clean: cleaner{o.Redact}}
	name := strictjson.Text(l.clean.text(o.Session, 256))
	l.session = strictjson.Append(nil, &name)
	l.w = writer{o: &l.o, session: l.session}
	data := strictjson.Object(strictjson.Pair("pid", strictjson.Int(int64(os.Getpid()))), strictjson.Pair("version", strictjson.Int(1)))
	if err := l.w.open(); err != nil {
		return nil, err
	}
	if err := l.w.commit([]*waiter{{entry: l.entry(Opened, &data)}}); err != nil {
		l.w.close()
		return nil, err
	}
	return l, nil
}

func (l *Log) entry(k Kind, data *strictjson.Value) entry {
	return entry{kind: k, at: l.o.Now(), data: l.clean.data(data)}
}

// Put writes one line and returns when it is written. data is an object.
func (l *Log) Put(k Kind, data strictjson.Value) error {
	if data.Kind != strictjson.KindObject {
		return errors.New("audit: data is no object")
	}
	return l.wait(l.add(l.entry(k, &data)))
}

// add queues a line; its result comes to done.
func (l *Log) add(e entry) *waiter {
	w := &waiter{entry: e, done: make(chan error, 1)}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		w.done <- ErrClosed
		return w
	}
	l.queue = append(l.queue, w)
	if !l.busy {
		l.busy = true
		go l.write()
	}
	return w
}

// wait waits for a line. Where the run goes on without, what went wrong is told and forgotten.
func (l *Log) wait(w *waiter) error {
	err := <-w.done
	if err == nil || !l.o.Continue || errors.Is(err, ErrClosed) {
		return err
	}
	if l.o.Diagnose != nil {
		l.o.Diagnose(err)
	}
	return nil
}

// write writes what is queued, many lines with one call, until nothing is left.
func (l *Log) write() {
	for {
		l.mu.Lock()
		batch := l.queue
		if len(batch) > mostBatch {
			batch = batch[:mostBatch]
		}
		l.queue = l.queue[len(batch):]
		if len(batch) == 0 {
			l.queue, l.busy = nil, false
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
		err := l.w.commit(batch)
		for _, w := range batch {
			w.done <- err
		}
	}
}

// Head returns the number and the hash of the last line that this log has written. Who
// keeps it elsewhere can tell later whether the file was cut.
func (l *Log) Head() (seq uint64, hash Hash) {
	l.w.headMu.Lock()
	defer l.w.headMu.Unlock()
	return l.w.headSeq, l.w.head
}

// Close writes a line of type closed, and what is queued before it, to the disk. A second call has no effect.
func (l *Log) Close() error {
	data := strictjson.Object(strictjson.Pair("pid", strictjson.Int(int64(os.Getpid()))))
	w := l.add(l.entry(Closed, &data))
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	err := <-w.done
	if errors.Is(err, ErrClosed) {
		return nil
	}
	for { // the writer leaves when nothing is queued, which is now or soon
		l.mu.Lock()
		busy := l.busy
		l.mu.Unlock()
		if !busy {
			break
		}
		time.Sleep(50 * time.Microsecond)
	}
	if err = errors.Join(err, l.w.sync()); err != nil {
		err = fmt.Errorf("audit: close: %w", err)
	}
	l.w.close()
	return err
}

// lock takes the lock of the file for a while.
func lock(fd int, patience time.Duration) error {
	end := time.Now().Add(patience)
	for pause := 20 * time.Microsecond; ; pause = min(2*pause, 5*time.Millisecond) {
		err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
		case !errors.Is(err, unix.EWOULDBLOCK):
			return os.NewSyscallError("flock", err)
		case !time.Now().Before(end):
			return ErrBusy
		default:
			time.Sleep(pause)
		}
	}
}
