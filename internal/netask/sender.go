package netask

import (
	"io"
	"sync"
	"time"
)

// queued is how many events wait for a reader that is slow. What there is no room for is
// counted.
const queued = 4096

// gathering is how long the first of some events waits for others. Each write wakes two
// processes, which on a machine of few processors is time that connections wait.
const gathering = 10 * time.Millisecond

// Sender writes events from any goroutine, and never has one wait for the reader.
type Sender struct {
	to      io.Writer
	gather  func(closing <-chan struct{}) // returns when it is time to write
	closing chan struct{}                 // closed when nothing more is to be gathered
	done    chan struct{}

	mu    sync.Mutex
	some  *sync.Cond
	queue []Event
	lost  int64 // since the end of the queue
	ended bool
}

// NewSender starts one. Its Close has to be called.
func NewSender(to io.Writer) *Sender { return newSender(to, pause) }

// pause waits, but not for one who closes.
func pause(closing <-chan struct{}) {
	late := time.NewTimer(gathering)
	defer late.Stop()
	select {
	case <-late.C:
	case <-closing:
	}
}

func newSender(to io.Writer, gather func(<-chan struct{})) *Sender {
	s := &Sender{to: to, gather: gather, closing: make(chan struct{}), done: make(chan struct{})}
	s.some = sync.NewCond(&s.mu)
	go s.run()
	return s
}

// Send queues an event.
func (s *Sender) Send(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
	case len(s.queue) >= queued:
		s.lost++
	default:
		s.queue = append(s.queue, e)
		s.some.Signal()
	}
}

// Close writes what is queued and returns. Events that come later are dropped. It is called
// once.
func (s *Sender) Close() {
	s.mu.Lock()
	s.ended = true
	s.some.Signal()
	s.mu.Unlock()
	close(s.closing)
	<-s.done
}

// take waits for events, and for those that follow soon; none at the end.
func (s *Sender) take(into []Event) []Event {
	s.mu.Lock()
	for len(s.queue) == 0 && !s.ended {
		s.some.Wait()
	}
	s.mu.Unlock()
	s.gather(s.closing)
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.queue
	if s.lost > 0 { // the queue was full when they came: they are later than all of it
		list = append(list, Event{Lost: s.lost})
		s.lost = 0
	}
	s.queue = into[:0]
	return list
}

// run writes what is there in one write.
func (s *Sender) run() {
	defer close(s.done)
	var spare []Event
	var text []byte
	for {
		list := s.take(spare)
		if len(list) == 0 {
			return
		}
		text = text[:0]
		for i := range list {
			text = list[i].append(text)
		}
		if _, err := s.to.Write(text); err != nil { // nobody reads any more
			s.mu.Lock()
			s.ended, s.queue, s.lost = true, nil, 0
			s.mu.Unlock()
			return
		}
		spare = list
	}
}
