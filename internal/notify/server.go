package notify

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Config says who answers what.
type Config struct {
	// Handlers by system call number. A call without one fails with ENOSYS.
	Handlers map[int]Handler
	// Arch is the AUDIT_ARCH_ value that the numbers are of; a call by another fails with
	// ENOSYS.
	Arch uint32
	// Threads is how many handlers run at a time; 0 means 8.
	Threads int
	// Surplus is how many threads may wait for a call at a time; 0 means 3. Each call wakes all
	// of them, which is much of what a call costs that needs no time to be answered.
	Surplus int
	// Late is after how long another thread receives although the handler has not said that it
	// may take long (Call.Spare), up to twice as much; 0: never.
	Late time.Duration
	// Enter is called once on each thread, before its first call; nil: nothing to do. If it
	// fails, New does.
	Enter func() error
}

const (
	defaultThreads = 8
	defaultSurplus = 3
)

// Server answers the calls of one listener.
type Server struct {
	cfg    Config
	fd     int // the listener; -1 before Serve
	size   int // of a request, in bytes
	closed atomic.Bool
	idle   atomic.Int32  // threads that wait for a call
	calls  atomic.Uint64 // that were received

	serve chan struct{} // closed by Serve
	turn  chan struct{} // one for each thread that is to leave park
	over  chan struct{} // closed by Close

	mu      sync.Mutex
	workers map[*worker]int // the number of its thread, unless it waits for its turn
	parked  int             // threads that wait for their turn
	none    *sync.Cond      // no worker is left
}

// worker is one thread.
type worker struct {
	s        *Server
	tid      int
	req      *request
	timer    int32
	hasTimer bool
}

// New makes a server and all its threads, so that nothing can fail any more once a program
// runs whose calls it is to answer: one that fills the table of its user's processes would
// end this process, whose runtime has no answer to a thread that cannot be made. Linux 5.0;
// see spawn.Request.Listener for the listener.
func New(cfg Config) (*Server, error) {
	if cfg.Threads <= 0 {
		cfg.Threads = defaultThreads
	}
	if cfg.Surplus <= 0 {
		cfg.Surplus = defaultSurplus
	}
	s := &Server{
		cfg: cfg, fd: -1, workers: map[*worker]int{}, parked: cfg.Threads - 1,
		serve: make(chan struct{}), turn: make(chan struct{}, cfg.Threads), over: make(chan struct{}),
	}
	s.none = sync.NewCond(&s.mu)
	var err error
	if s.size, err = bufferSize(); err != nil {
		return nil, err
	}
	if err = mayWake(); err != nil {
		return nil, err
	}
	ready := make(chan error, cfg.Threads)
	s.idle.Store(1)
	for i := range cfg.Threads {
		s.start(i == 0, ready)
	}
	var failed error
	for range cfg.Threads {
		if err := <-ready; err != nil {
			failed = err
		}
	}
	if failed != nil {
		s.Close()
		return nil, failed
	}
	spareThreads()
	return s, nil
}

// Serve takes the listener over and begins to answer. It is called once, before Close.
func (s *Server) Serve(fd int) {
	wakeHere(fd)
	s.fd = fd
	close(s.serve)
	if s.cfg.Late > 0 {
		go s.relieve()
	}
}

// Close ends the server: every handler that blocks is interrupted, every call that waits
// or comes later fails with ENOSYS. It returns when no thread is left that
// uses the listener, and must not be called by a handler. A second call does nothing.
//
// A handler that hangs in a file system, where nothing interrupts it, is left behind after
// some seconds, and with it the listener.
func (s *Server) Close() {
	if s.closed.Swap(true) {
		return
	}
	close(s.over)
	s.mu.Lock()
	select {
	case <-s.serve:
	default:
		close(s.serve) // the first thread waits for it
	}
	for end := time.Now().Add(patience); len(s.workers) > 0; {
		if time.Now().After(end) {
			s.mu.Unlock()
			return // the descriptors stay: a number that is used again would be another file
		}
		// One that is about to block misses its signal, and gets another.
		for _, tid := range s.workers {
			_ = unix.Tgkill(os.Getpid(), tid, wake)
		}
		timer := time.AfterFunc(time.Millisecond, func() { s.mu.Lock(); s.none.Broadcast(); s.mu.Unlock() })
		s.none.Wait()
		timer.Stop()
	}
	s.mu.Unlock()
	if s.fd >= 0 {
		unix.Close(s.fd)
	}
}

// spare sees to it that somebody receives while the caller blocks, if there is one more.
func (s *Server) spare() {
	if s.idle.Load() > 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.parked > 0 && s.idle.Load() == 0 {
		s.parked--
		s.idle.Add(1)
		s.turn <- struct{}{}
	}
}

// again has a thread that has answered receive once more, unless enough others do: then it
// waits for its turn. It reports false when the server is closed.
func (w *worker) again() bool {
	s := w.s
	s.mu.Lock()
	if s.idle.Load() < int32(s.cfg.Surplus) {
		s.idle.Add(1)
		s.mu.Unlock()
		return true
	}
	s.parked++ // in one with the look, so that the last one who receives sees it
	delete(s.workers, w)
	s.none.Broadcast()
	s.mu.Unlock()
	return w.wait()
}

// wait parks the thread: it uses nothing of the server's, and Close does not wait for it.
func (w *worker) wait() bool {
	s := w.s
	select {
	case <-s.turn:
	case <-s.over:
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Load() { // under the lock that Close counts under
		return false
	}
	s.workers[w] = w.tid
	return true
}

// start makes a thread, which says on ready how Enter went. The first one receives.
func (s *Server) start(first bool, ready chan<- error) {
	w := &worker{s: s, req: (*request)(unsafe.Pointer(&make([]uint64, (s.size+7)/8)[0]))}
	offMain(func() {
		w.tid = unix.Gettid()
		defer s.gone(w)
		var err error
		if s.cfg.Enter != nil {
			err = s.cfg.Enter()
		}
		if first && err == nil {
			s.mu.Lock()
			s.workers[w] = w.tid
			s.mu.Unlock()
		}
		ready <- err
		if err != nil {
			return
		}
		if first {
			<-s.serve
		}
		if first || w.wait() {
			w.run()
		}
	})
}

func (s *Server) gone(w *worker) {
	w.forgetTimer()
	s.mu.Lock()
	delete(s.workers, w)
	s.none.Broadcast()
	s.mu.Unlock()
}

// patience is how long Close waits for a handler.
const patience = 5 * time.Second

// run answers calls until there is nobody left who could make one. The thread counts as
// idle when it begins.
func (w *worker) run() {
	s := w.s
	for {
		err := w.next()
		s.idle.Add(-1)
		s.calls.Add(1)
		if err != nil {
			if !errors.Is(err, errOver) {
				go s.Close() // fail closed: else the calls would wait for ever
			}
			return
		}
		answer := w.answer()
		send(s.fd, answer.response(w.req.id))
		if !w.again() {
			return
		}
	}
}

var errOver = errors.New("no program is left, or the server is closed")

// next waits for a call. ENOENT on receipt means that the one that was there has gone, for
// which the wait must not end, or that the last program has (Linux 6.11). Before, the wait on
// nobody ends with Close, whose signal ends every other, too.
func (w *worker) next() error {
	s := w.s
	for !s.closed.Load() {
		clear(unsafe.Slice((*uint64)(unsafe.Pointer(w.req)), (s.size+7)/8))
		switch e := receive(s.fd, w.req); e {
		case 0:
			return nil
		case unix.EINTR:
		case unix.ENOENT:
			if deserted(s.fd) {
				return errOver
			}
		default:
			return e
		}
	}
	return errOver
}

func (w *worker) answer() Answer {
	r := w.req
	h := w.s.cfg.Handlers[int(r.nr)]
	if h == nil || r.arch != w.s.cfg.Arch {
		return Answer{Errno: syscall.ENOSYS}
	}
	if r.pid == 0 { // not of this pid namespace: nothing can be taken from it
		return Answer{Errno: syscall.EACCES}
	}
	return h(&Call{TID: int(r.pid), Nr: int(r.nr), Args: r.args, IP: r.ip, id: r.id, w: w})
}
