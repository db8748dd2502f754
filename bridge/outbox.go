package bridge

import (
	"context"
	"sync"
)

// eventRoom is how many frames may wait before events do: answers go first.
const eventRoom = 32

// outbox is the frames that wait to be written to one connection.
type outbox struct {
	most, mostBytes int

	wake chan struct{} // one place: there is something, or the end

	mu     sync.Mutex
	room   chan struct{} // closed when something is taken; nil: nobody waits for it
	frames [][]byte
	bytes  int
	closed bool
}

func newOutbox(l *Limits) *outbox {
	return &outbox{most: l.QueueFrames, mostBytes: l.QueueBytes, wake: make(chan struct{}, 1)}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// put queues a frame. It never waits: false means that the peer does not read, or that
// the connection is over.
func (o *outbox) put(frame []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || len(o.frames) >= o.most || o.bytes+len(frame) > o.mostBytes {
		return false
	}
	o.frames, o.bytes = append(o.frames, frame), o.bytes+len(frame)
	signal(o.wake)
	return true
}

// putEvent waits until there is room for an event; the hub drops what comes meanwhile.
func (o *outbox) putEvent(ctx context.Context, frame []byte) bool {
	for o.wait(ctx, eventRoom) {
		if o.put(frame) {
			return true
		}
	}
	return false
}

// wait waits until fewer frames than most wait to be written, and less than half of what
// may. false: the connection is over.
func (o *outbox) wait(ctx context.Context, most int) bool {
	most = min(most, max(o.most/2, 1))
	for {
		o.mu.Lock()
		if o.closed || len(o.frames) < most && o.bytes <= o.mostBytes/2 {
			closed := o.closed
			o.mu.Unlock()
			return !closed
		}
		if o.room == nil {
			o.room = make(chan struct{})
		}
		room := o.room
		o.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return false
		}
	}
}

// freed lets go of who waits for room. The lock is held.
func (o *outbox) freed() {
	if o.room != nil {
		close(o.room)
		o.room = nil
	}
}

// take waits for the next frame. false is the end: the outbox is closed and empty.
func (o *outbox) take() ([]byte, bool) {
	for {
		o.mu.Lock()
		if len(o.frames) > 0 {
			frame := o.frames[0]
			o.frames[0] = nil
			o.frames, o.bytes = o.frames[1:], o.bytes-len(frame)
			o.freed()
			o.mu.Unlock()
			return frame, true
		}
		closed := o.closed
		o.mu.Unlock()
		if closed {
			return nil, false
		}
		<-o.wake
	}
}

// close lets take return what is there, and then the end.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.freed()
	signal(o.wake)
}

// drop forgets what is there: nobody will read it.
func (o *outbox) drop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.frames, o.bytes, o.closed = nil, 0, true
	o.freed()
	signal(o.wake)
}
