package supervise

import (
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/hold"
	"brainbox/internal/procfs"
)

const (
	holdWait  = 5 * time.Second        // for everything to stand still
	holdPause = 100 * time.Microsecond // between two looks at the tree
	holdWatch = 200 * time.Millisecond // between two looks at what is held
	holdGrace = 200 * time.Millisecond // for a program to act on ^C, before it is held anew
	holdClean = 2                      // looks in a row that must find nothing that runs
)

// Why a program cannot be held.
var (
	errRunning   = errors.New("its processes do not stand still")
	errOutput    = errors.New("its output cannot be held back")
	errNotFrozen = errors.New("its cgroup is not frozen")
	errLeft      = errors.New("a process of it has left its cgroup")
)

// holding is the program while somebody asks on its terminal. With a cgroup of its own the
// program is frozen in it; else every process of its tree is stopped, parents before their
// children and continued in the other order, so that no shell in there sees a child that is stopped.
type holding struct {
	r      *run
	init   int           // not stopped: it does nothing but wait, and has to tell of the end; 0: there is none
	over   chan struct{} // closed when the tree has ended
	frozen *freezer      // nil: by signals
	output gateway       // what the relays write through

	mu      sync.Mutex
	active  bool
	used    bool // at least once
	leader  bool // the program itself was stopped by us
	stopped []stopped
	lost    func()
	quiet   time.Time // not held before
	watch   chan struct{}
}

// stopped is a process that we have stopped.
type stopped struct {
	process
	begun uint64 // when it did: the number alone may be another's by now
}

// serveHolds lets whoever asks on the program's terminal hold it, until stop is called.
func (r *run) serveHolds() (stop func()) {
	if r.job.Hold == nil {
		return func() {}
	}
	if r.job.Spawn.Cgroup > 0 {
		r.hold.frozen = openFreezer(r.job.Spawn.Cgroup)
	}
	if r.child.Init != nil {
		r.hold.init = r.child.Init.PID
	}
	r.hold.over = make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		hold.Serve(r.job.Hold, &r.hold)
	}()
	return func() {
		close(r.hold.over)
		_ = r.job.Hold.Close()
		<-done
		r.hold.frozen.close()
	}
}

// Hold is that of hold.Holder.
func (h *holding) Hold(lost func()) error {
	h.mu.Lock()
	wait := time.Until(h.quiet)
	h.mu.Unlock()
	select {
	case <-time.After(wait):
	case <-h.over:
		return hold.ErrGone
	}
	end := time.Now().Add(holdWait)
	h.mu.Lock()
	h.active, h.used, h.lost = true, true, lost
	h.mu.Unlock()
	err := h.stop(end)
	if err == nil && !h.output.shut(end) {
		err = errOutput
	}
	if err != nil {
		h.Release()
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watch = make(chan struct{})
	go h.look(h.watch)
	return nil
}

// Release is that of hold.Holder.
func (h *holding) Release() {
	h.output.open()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.active {
		return
	}
	if h.watch != nil {
		close(h.watch)
		h.watch = nil
	}
	h.frozen.thaw()
	for i := len(h.stopped) - 1; i >= 0; i-- {
		h.stopped[i].goOn()
	}
	h.redraw()
	h.active, h.leader, h.stopped, h.lost = false, false, nil, nil
}

// stop has everything stand still.
func (h *holding) stop(end time.Time) error {
	if h.frozen != nil {
		return h.frozen.freeze(h.r, end)
	}
	for clean := 0; clean < holdClean; {
		if h.pass() {
			clean++
			continue
		}
		clean = 0
		if time.Now().After(end) {
			return errRunning
		}
		time.Sleep(holdPause)
	}
	return nil
}

// pass looks at the whole tree once, and stops what runs. It reports whether nothing did.
func (h *holding) pass() (clean bool) {
	clean = true
	known := map[int]uint64{}
	h.mu.Lock()
	for _, s := range h.stopped {
		known[s.pid] = s.begun
	}
	h.mu.Unlock()
	for _, p := range h.tree() {
		still, begun := p.still()
		if still {
			continue
		}
		clean = false
		if known[p.pid] != begun {
			h.note(stopped{p, begun})
		}
		p.signal(unix.SIGSTOP)
		for range 20 { // before its children: see holding
			if still, _ := p.still(); still {
				break
			}
			time.Sleep(holdPause)
		}
	}
	return clean
}

// tree lists the program's processes.
func (h *holding) tree() []process {
	return slices.DeleteFunc(h.r.descendants(), func(p process) bool { return p.pid == h.init })
}

// note remembers a process before it is stopped: whoever waits for it must know whose stop that is.
func (h *holding) note(s stopped) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = append(h.stopped, s)
	h.leader = h.leader || s.pid == h.r.child.PID
}

// look tells when something stands still no more, until it is released.
func (h *holding) look(released <-chan struct{}) {
	for {
		select {
		case <-released:
			return
		case <-time.After(holdWatch):
		}
		if !h.holds() {
			h.lose(0)
			return
		}
	}
}

// holds reports whether all that is held still is.
func (h *holding) holds() bool {
	if h.frozen != nil {
		return h.frozen.isFrozen()
	}
	for _, p := range h.tree() {
		if still, _ := p.still(); !still {
			return false
		}
	}
	return true
}

// lose says that the prompt has to be shown anew, after a time for the program to act.
func (h *holding) lose(grace time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.active && h.lost != nil {
		h.quiet = time.Now().Add(grace)
		go h.lost()
		h.lost = nil
	}
}

// isActive reports whether the program is held, or about to be.
func (h *holding) isActive() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.active
}

// ours reports whether a stop of the program that was told is the one of a hold. consume takes
// the news of it; a release must not come between.
func (h *holding) ours(consume func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	consume()
	if h.leader || !h.used {
		return h.leader
	}
	// News of a hold that is over: the program goes on.
	_, state := (process{pid: h.r.child.PID}).stat()
	return state != 'T' && state != 't'
}

// Owns is that of hold.Holder: some process of the program's is in the group.
func (h *holding) Owns(group int) bool {
	for _, p := range h.tree() {
		if p.group() == group {
			return true
		}
	}
	return false
}

// redraw has what is in the terminal's foreground draw again.
func (h *holding) redraw() {
	if h.r.term.fd == 0 {
		return
	}
	group, err := unix.IoctlGetInt(h.r.term.fd, unix.TIOCGPGRP)
	if err != nil {
		return
	}
	for _, p := range h.tree() {
		if p.group() == group {
			p.signal(unix.SIGWINCH)
		}
	}
}

// goOn continues a process, if it is the one that was stopped.
func (s stopped) goOn() {
	fd, err := unix.PidfdOpen(s.pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if now, ok := procfs.ReadStat(s.pid); ok && now.Begun == s.begun {
		_ = unix.PidfdSendSignal(fd, unix.SIGCONT, nil, 0)
	}
}
