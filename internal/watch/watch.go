package watch

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"syscall"

	"brainbox/internal/notify"
	"brainbox/seccomp"
)

// Observer is launcher.Observer.
type Observer interface {
	See(c *notify.Call)
	Refuse(c *notify.Call, e syscall.Errno)
}

// Watch is one observed program.
type Watch struct {
	filter   seccomp.Program
	observer Observer
	arch     uint32

	seen, refused atomic.Int64
	panicked      atomic.Pointer[string]
}

// Stats is what a watch has done.
type Stats struct {
	Seen    int64  // calls that the filter allows
	Refused int64  // calls that it refuses
	Panic   string // what the observer panicked with; it has seen nothing since
}

// New makes a watch. The filter is the one without the observation; empty: it allows
// everything.
func New(filter seccomp.Program, o Observer) (*Watch, error) {
	arch, err := seccomp.AuditArch(runtime.GOARCH)
	if err != nil {
		return nil, err
	}
	return &Watch{filter: filter, observer: o, arch: arch}, nil
}

// Handlers are those of every call that the observed filter notifies. Own are those of the
// calls that the filter itself notifies.
func (w *Watch) Handlers(own map[int]notify.Handler) map[int]notify.Handler {
	all := map[int]notify.Handler{}
	for nr, h := range own {
		all[nr] = w.handler(h)
	}
	for _, list := range [...][]string{seccomp.Observed(), seccomp.Explained()} {
		for _, name := range list {
			if nr, ok := seccomp.Number(runtime.GOARCH, name); ok && all[int(nr)] == nil {
				all[int(nr)] = w.handler(nil)
			}
		}
	}
	return all
}

// Stats may be called at any time; those of a nil Watch are zero.
func (w *Watch) Stats() Stats {
	if w == nil {
		return Stats{}
	}
	s := Stats{Seen: w.seen.Load(), Refused: w.refused.Load()}
	if p := w.panicked.Load(); p != nil {
		s.Panic = *p
	}
	return s
}

// maxErrno is the highest error that the kernel takes from a filter (seccomp(2)).
const maxErrno = 4095

// handler answers one kind of call. The answer is decided before the observer is asked, who
// gets a copy of the call.
func (w *Watch) handler(own notify.Handler) notify.Handler {
	return func(c *notify.Call) notify.Answer {
		act := w.judge(c)
		e, refused := act.Errno()
		seen := *c
		switch {
		case refused:
			e := syscall.Errno(min(e, maxErrno))
			w.refused.Add(1)
			w.tell(func() { w.observer.Refuse(&seen, e) })
			return notify.Answer{Errno: e}
		case act.Kind() == seccomp.Notify:
			w.seen.Add(1)
			w.tell(func() { w.observer.See(&seen) })
			if own == nil {
				return notify.Answer{Errno: syscall.ENOSYS}
			}
			return own(c)
		case act.Kind() == seccomp.Allow:
			w.seen.Add(1)
			w.tell(func() { w.observer.See(&seen) })
			return notify.Answer{Continue: true}
		}
		return notify.Answer{Errno: syscall.ENOSYS} // it is never notified
	}
}

// judge is what the program's filter says.
func (w *Watch) judge(c *notify.Call) seccomp.Action {
	if len(w.filter) == 0 {
		return seccomp.Allow
	}
	return w.filter.Eval(seccomp.Data{Nr: uint32(c.Nr), Arch: w.arch, IP: c.IP, Args: c.Args})
}

// tell has the observer look. One that panicked may hold a lock of its own.
func (w *Watch) tell(look func()) {
	if w.panicked.Load() != nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			text := fmt.Sprint(v)
			w.panicked.CompareAndSwap(nil, &text)
		}
	}()
	look()
}
