package broker

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/notify"
)

// Config is what one broker does.
type Config struct {
	Sockets []Socket
	Rules   Rules
	// Identity is whom the program runs as; nil: the user of this process.
	Identity *Identity
	// KeepGroups says that the program has this process's supplementary groups. Without it
	// it has those of Identity, or none if this process may drop them.
	KeepGroups bool
	Arch       uint32 // AUDIT_ARCH_ of the program
	Threads    int    // connects that may block at a time; 0 means 8

	// Around, if set, gets the broker's own handlers and returns those of all calls that are
	// served instead: there is one listener, and whatever else its calls are to be answered by
	// runs on the broker's threads.
	Around func(own map[int]notify.Handler) map[int]notify.Handler

	Surplus int           // as in notify.Config
	Late    time.Duration // as in notify.Config: of handlers that Around adds
}

// Stats is what a broker has done.
type Stats struct {
	Connected  int64 // connects that were made or begun, with whatever result
	Refused    int64 // connects that the policy does not allow
	Unreadable int64 // connects of programs that may not be read
}

// Broker answers the connects of one program and its descendants.
type Broker struct {
	cfg    Config
	server *notify.Server

	once sync.Once
	id   identity // of every thread, once it is prepared

	connected, refused, unreadable atomic.Int64
}

// New makes a broker before its program runs: a thread has taken the program's identity, and
// come back. The descriptors of the sockets stay the caller's, and have to be open until
// Close.
func New(cfg Config) (*Broker, error) {
	for i := range cfg.Sockets {
		if s := &cfg.Sockets[i]; s.Folder <= 0 || s.Name == "" || s.Name == "." || s.Name == ".." || strings.ContainsAny(s.Name, "/\x00") {
			return nil, fmt.Errorf("broker: socket %q is not a name in a folder", s.Name)
		}
	}
	b := &Broker{cfg: cfg}
	var err error
	handlers := map[int]notify.Handler{unix.SYS_CONNECT: b.answer}
	if cfg.Around != nil {
		handlers = cfg.Around(handlers)
	}
	b.server, err = notify.New(notify.Config{
		Handlers: handlers, Arch: cfg.Arch, Threads: cfg.Threads, Surplus: cfg.Surplus, Late: cfg.Late, Enter: b.enter,
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}

// enter prepares a thread. What it finds is the same on all: they are made by one process.
func (b *Broker) enter() error {
	id := identity{want: b.cfg.Identity, keepGroups: b.cfg.KeepGroups}
	if err := id.prepare(); err != nil {
		return err
	}
	b.once.Do(func() { b.id = id })
	return nil
}

// Serve takes over the listener of the program's filter.
func (b *Broker) Serve(listener int) { b.server.Serve(listener) }

// Close ends it: calls that wait or come later fail with ENOSYS. A nil Broker has nothing
// to end.
func (b *Broker) Close() {
	if b != nil {
		b.server.Close()
	}
}

// Stats may be called at any time; those of a nil Broker are zero.
func (b *Broker) Stats() Stats {
	if b == nil {
		return Stats{}
	}
	return Stats{Connected: b.connected.Load(), Refused: b.refused.Load(), Unreadable: b.unreadable.Load()}
}

// answer is the handler of connect(2).
func (b *Broker) answer(c *notify.Call) notify.Answer {
	return notify.Answer{Errno: b.handle(c, int32(c.Args[0]), c.Args[1], int32(c.Args[2]))}
}
