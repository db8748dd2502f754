package watch

import (
	"runtime"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/notify"
	"brainbox/seccomp"
)

// noted is what an observer was told last.
type noted struct {
	what  string
	errno syscall.Errno
	spoil bool
}

func (n *noted) See(c *notify.Call) {
	n.what = "see"
	if n.spoil {
		c.Nr, c.Args = 0, [6]uint64{}
	}
}

func (n *noted) Refuse(_ *notify.Call, e syscall.Errno) { n.what, n.errno = "refuse", e }

func calls(t *testing.T, nr uint32) (list []notify.Call) {
	t.Helper()
	for _, a := range []uint64{0, 1, 2, 16, 40, 0x10000000, 0xffffffff, 1 << 40, unix.CLONE_NEWUSER} {
		for n := range 6 {
			c := notify.Call{Nr: int(nr), Args: [6]uint64{0: a & 2, 1: 1}}
			c.Args[n] = a
			list = append(list, c)
		}
	}
	return list
}

// The kernel never goes on with a call that the filter refuses, and the observer is told what
// the program gets: for every notified number, with several arguments.
func TestAnswersAreTheFilters(t *testing.T) {
	arch, err := seccomp.AuditArch(runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []seccomp.Options{{}, {UnixBroker: true}, {KeepsRoot: true}, {Network: seccomp.NetHost, Namespaces: true}} {
		p, err := seccomp.Default(o)
		if err != nil {
			t.Fatal(err)
		}
		n, brokered := &noted{}, 0
		w, err := New(p, n)
		if err != nil {
			t.Fatal(err)
		}
		handlers := w.Handlers(map[int]notify.Handler{unix.SYS_CONNECT: func(*notify.Call) notify.Answer {
			brokered++
			return notify.Answer{Errno: unix.ECONNREFUSED}
		}})
		count := map[string]int{}
		for nr := range uint32(600) {
			if handlers[int(nr)] == nil {
				continue
			}
			for _, c := range calls(t, nr) {
				*n = noted{spoil: true}
				act := p.Eval(seccomp.Data{Nr: nr, Arch: arch, Args: c.Args})
				got := handlers[int(nr)](&c)
				e, refused := act.Errno()
				want, told := notify.Answer{Errno: syscall.ENOSYS}, ""
				switch {
				case refused:
					want, told = notify.Answer{Errno: syscall.Errno(e)}, "refuse"
				case act == seccomp.Notify:
					want, told = notify.Answer{Errno: unix.ECONNREFUSED}, "see"
				case act == seccomp.Allow:
					want, told = notify.Answer{Continue: true}, "see"
				}
				if got != want || n.what != told || n.errno != want.Errno && refused {
					t.Fatalf("%+v: %s: %+v, told %q; want %+v, %q", o, seccomp.Name(runtime.GOARCH, nr), got, n.what, want, told)
				}
				count[told]++
			}
		}
		if count["see"] == 0 || count["refuse"] == 0 || (brokered > 0) != o.UnixBroker { // positive control
			t.Errorf("%+v: %v, %d brokered", o, count, brokered)
		}
		if s := w.Stats(); s.Seen != int64(count["see"]) || s.Refused != int64(count["refuse"]) || s.Panic != "" {
			t.Errorf("%+v, want %v", s, count)
		}
	}
}

// Without a filter everything is allowed, and a call that nobody asked to notify fails.
func TestNoFilter(t *testing.T) {
	w, err := New(nil, &noted{})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.Handlers(nil)[unix.SYS_SOCKET](&notify.Call{Nr: unix.SYS_SOCKET}); !got.Continue {
		t.Errorf("%+v", got)
	}
	w, err = New(seccomp.Program{{Code: 6, K: uint32(seccomp.Trap)}}, &noted{})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.Handlers(nil)[unix.SYS_SOCKET](&notify.Call{Nr: unix.SYS_SOCKET}); got != (notify.Answer{Errno: unix.ENOSYS}) {
		t.Errorf("%+v", got)
	}
}

// An address of code, or data in an action, changes nothing.
func TestActionsWithData(t *testing.T) {
	for act, want := range map[seccomp.Action]notify.Answer{
		seccomp.Allow | 7: {Continue: true}, seccomp.Notify | 7: {Errno: unix.ENOSYS}, seccomp.Errno(5000): {Errno: 4095},
	} {
		w, err := New(seccomp.Program{{Code: 6, K: uint32(act)}}, &noted{})
		if err != nil {
			t.Fatal(err)
		}
		if got := w.Handlers(nil)[unix.SYS_SOCKET](&notify.Call{Nr: unix.SYS_SOCKET}); got != want {
			t.Errorf("%v: %+v, want %+v", act, got, want)
		}
	}
	byAddress := seccomp.Program{{Code: 0x20, K: 8}, {Code: 0x15, K: 5, Jf: 1}, {Code: 6, K: uint32(seccomp.Errno(1))}, {Code: 6, K: uint32(seccomp.Allow)}}
	w, err := New(byAddress, &noted{})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.Handlers(nil)[unix.SYS_SOCKET](&notify.Call{Nr: unix.SYS_SOCKET, IP: 5}); got.Errno != unix.EPERM {
		t.Errorf("%+v", got)
	}
}

type panics struct{ told int }

func (p *panics) See(*notify.Call)                   { p.told++; panic("a bug") }
func (p *panics) Refuse(*notify.Call, syscall.Errno) { p.told++; panic("a bug") }

// An observer that panics changes no answer, and is not asked again.
func TestAnObserverThatPanics(t *testing.T) {
	f, err := seccomp.Default(seccomp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := &panics{}
	w, err := New(f, p)
	if err != nil {
		t.Fatal(err)
	}
	h := w.Handlers(nil)
	for range 3 {
		if got := h[unix.SYS_OPENAT](&notify.Call{Nr: unix.SYS_OPENAT}); got != (notify.Answer{Continue: true}) {
			t.Errorf("openat: %+v", got)
		}
		if got := h[unix.SYS_PTRACE](&notify.Call{Nr: unix.SYS_PTRACE}); got.Errno == 0 || got.Continue {
			t.Errorf("ptrace: %+v", got)
		}
	}
	if s := w.Stats(); p.told != 1 || s.Panic != "a bug" {
		t.Errorf("told %d times, %+v", p.told, s)
	}
}

func TestHandlersAreThoseOfTheLists(t *testing.T) {
	w, err := New(nil, &noted{})
	if err != nil {
		t.Fatal(err)
	}
	names := append(seccomp.Observed(), seccomp.Explained()...)
	h := w.Handlers(nil)
	if len(h) != len(names) {
		t.Errorf("%d handlers for %d names", len(h), len(names))
	}
	for nr := range h {
		if !slices.Contains(names, seccomp.Name(runtime.GOARCH, uint32(nr))) {
			t.Errorf("a handler for number %d", nr)
		}
	}
}
