package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"brainbox/proxy/allow"
	"brainbox/proxy/pipe"
)

// Config is what a run's operator decided. The zero Config lets nothing through.
type Config struct {
	Rules    *allow.Rules // nil: nothing
	Resolve  Resolver     // of what the program asks for, never with a search list; nil: HostResolver("")
	Dial     func(ctx context.Context, to netip.AddrPort) (net.Conn, error)
	Upstream string                    // http://HOST:PORT, the operator's proxy; "": none
	Record   func(Event)               // may be called by several at once, and must not block; nil: nobody
	Own      func(netip.AddrPort) bool // what the run itself listens on, on the host; nil: nothing
	Limits   Limits

	ResolveUpstream Resolver // of the upstream's own name; nil: HostSearch("")
}

// Limits bound what a program can make the host hold.
type Limits struct {
	Connections int           // at once; 0: 4096, or what the limit on descriptors leaves room for
	Requests    int           // at once, in HTTP and not by CONNECT; 0: 256
	Large       int           // heads and ClientHellos over 4 KiB at once; 0: 128
	Lookups     int           // at once; 0: 32
	Lookup      time.Duration // for the answers to a name; 0: 10 s
	Dial        time.Duration // until one of the addresses answers, and an upstream; 0: 10 s
	Hello       time.Duration // for a whole ClientHello; 0: 10 s
	Head        time.Duration // for the head of a request to the proxy, and all of SOCKS5; 0: 10 s
	Idle        time.Duration // between two requests of one connection to the proxy; 0: 90 s
}

const (
	// descriptors of one connection: two sockets, the two pipes that splice(2) goes through, and
	// one of a client of ServeProxy that waits, or asks, while others have all the passages.
	descriptors = 7
	// spare are those of lookups, of the clients of the run's own resolver, and of the process.
	spare = 192
)

// mostConnections is 4096, or how many the limit on descriptors has room for beside the
// listeners of package names, which take a quarter of them and no more than 2048.
func mostConnections(files uint64) int {
	files = min(files, 1<<20)
	return max(16, min(4096, (int(files-min(files/4, 2048))-spare)/descriptors))
}

// withDefaults has each zero replaced.
func (l Limits) withDefaults() Limits {
	if l.Connections <= 0 {
		l.Connections = 4096
		var files syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err == nil {
			l.Connections = mostConnections(files.Cur)
		}
	}
	for n, standard := range map[*int]int{&l.Requests: 256, &l.Large: 128, &l.Lookups: 32} {
		if *n <= 0 {
			*n = standard
		}
	}
	if l.Idle <= 0 {
		l.Idle = 90 * time.Second
	}
	for _, d := range []*time.Duration{&l.Lookup, &l.Dial, &l.Hello, &l.Head} {
		if *d <= 0 {
			*d = 10 * time.Second
		}
	}
	return l
}

// small is how many bytes of a head or a ClientHello any number of clients may have here: no
// more than a real one has. What is longer takes one of few places.
const small = 4 << 10

// place takes one of what is limited, if one is free.
func place(limit chan struct{}) bool {
	select {
	case limit <- struct{}{}:
		return true
	default:
		return false
	}
}

// Server is the outside end of a program's connections. All methods may be called by
// several at once.
type Server struct {
	config   Config // no function of it is nil
	upstream *upstream
	ids      atomic.Uint64
	slots    chan struct{} // one for each passage
	requests chan struct{} // one for each passage of a request
	large    chan struct{} // one for each head and ClientHello over small
	lookups  chan struct{} // one for each question to Resolve

	mu     sync.Mutex
	closed bool
	held   map[io.Closer]struct{}
	work   sync.WaitGroup // one for each of held
}

// New makes a server; it has no listeners and starts nothing. The error is one of Upstream.
func New(c Config) (*Server, error) {
	c.Limits = c.Limits.withDefaults()
	if c.Resolve == nil {
		c.Resolve = HostResolver("")
	}
	if c.ResolveUpstream == nil {
		c.ResolveUpstream = HostSearch("")
	}
	if c.Dial == nil {
		c.Dial = dialTCP
	}
	if c.Record == nil {
		c.Record = func(Event) {}
	}
	if c.Own == nil {
		c.Own = func(netip.AddrPort) bool { return false }
	}
	up, err := parseUpstream(c.Upstream)
	if err != nil {
		return nil, err
	}
	return &Server{
		config:   c,
		upstream: up,
		slots:    make(chan struct{}, c.Limits.Connections),
		requests: make(chan struct{}, c.Limits.Requests),
		large:    make(chan struct{}, c.Limits.Large),
		lookups:  make(chan struct{}, c.Limits.Lookups),
		held:     map[io.Closer]struct{}{},
	}, nil
}

// lastWords is how long Close waits for what the program has said, as the kernel would see to
// it for a program without a proxy. One that has ended has said it all.
const lastWords = 400 * time.Millisecond

// hear waits until all that the program has said is passed on.
func hear(held []io.Closer) {
	late := time.NewTimer(lastWords)
	defer late.Stop()
	for _, c := range held {
		p, ok := c.(*passage)
		if !ok {
			continue
		}
		select {
		case <-p.said:
		case <-late.C:
			return
		}
	}
}

// Close ends every connection and waits until each passage has recorded its end. What the
// program has said in a tunnel is passed on before, if that takes no longer than a moment. Nothing is
// recorded afterwards, and nothing is let through any more.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	held := make([]io.Closer, 0, len(s.held))
	for c := range s.held {
		held = append(held, c)
	}
	s.mu.Unlock()
	hear(held)
	var errs []error
	for _, c := range held {
		if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	s.work.Wait()
	return errors.Join(errs...)
}

// hold has Close close c, a pointer, and wait for release(c). It is false when the server is
// closed already: then c is the caller's to close.
func (s *Server) hold(c io.Closer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.held[c] = struct{}{}
	s.work.Add(1)
	return true
}

// release is called once for each hold, when its owner is about to return.
func (s *Server) release(c io.Closer) {
	s.mu.Lock()
	delete(s.held, c)
	s.mu.Unlock()
	s.work.Done()
}

// Carry decides about one connection that a program made by itself, to an address that
// stands for q, and carries it until its end. It closes client: with a reset when the
// connection is refused, so that the program sees no orderly end (SO_LINGER, socket(7)).
func (s *Server) Carry(ctx context.Context, client net.Conn, q allow.Query) {
	watched, stop := watch(ctx, client)
	p, no := s.open(watched, q)
	stop()
	if no != nil {
		pipe.Reset(client)
		return
	}
	defer context.AfterFunc(ctx, func() { _ = p.Close() })()
	p.carry(client, nil)
}
