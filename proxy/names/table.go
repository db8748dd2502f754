package names

import (
	"container/list"
	"net"
	"net/netip"
	"sync"
	"time"
)

// entry is one name that has addresses, or one listed address.
type entry struct {
	host   string
	number int           // of its addresses
	place  *list.Element // in table.recent; of a name only: a listed address is never forgotten

	uses      int // lookups under way and open connections
	listeners map[netip.AddrPort]net.Listener

	binding sync.Mutex              // held while listeners are made: two lookups make them once
	told    map[netip.AddrPort]bool // what is not listened at, and was recorded; under binding
}

// table is who has which address, and what is open for it. Its fields, and the uses and
// listeners of its entries, are under mu.
type table struct {
	limits   Limits
	reserved map[netip.Addr]bool // listed addresses inside the pools: of no name
	now      func() time.Time
	begun    time.Time

	mu      sync.Mutex
	closed  bool
	names   map[string]*entry
	numbers map[int]*entry
	recent  *list.List // of *entry: the one used last in front
	next    int        // the number to try next
	freed   []uint32   // by number: when its name was forgotten, in seconds since begun, from 1 on; 0: never
	sockets int        // open, or being opened
	fixed   []*entry   // listed addresses
}

func newTable(limits Limits, literals []netip.AddrPort) *table {
	t := &table{
		limits: limits, reserved: map[netip.Addr]bool{},
		names: map[string]*entry{}, numbers: map[int]*entry{}, recent: list.New(),
		now: time.Now, freed: make([]uint32, poolSize), // of which the kernel gives what is written
	}
	t.begun = t.now()
	for _, literal := range literals {
		t.reserved[literal.Addr()] = true
	}
	return t
}

// use gives the entry of a name that is listed, with a new number if it has none, and keeps
// it until release. It is nil if every name that has one is in use, or every number may still
// be known as another name's.
func (t *table) use(name string) *entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.names[name]; e != nil {
		t.recent.MoveToFront(e.place)
		e.uses++
		return e
	}
	if t.closed {
		return nil
	}
	n, ok := t.unused()
	if !ok || len(t.names) >= t.limits.Names && !t.forget() { // none is forgotten in vain
		return nil
	}
	e := newEntry(name)
	e.number, e.uses = n, 1
	e.place = t.recent.PushFront(e)
	t.names[name], t.numbers[n] = e, e
	return e
}

func newEntry(host string) *entry {
	return &entry{host: host, listeners: map[netip.AddrPort]net.Listener{}, told: map[netip.AddrPort]bool{}}
}

// unused goes round the numbers, so that the one given is the one that was given longest ago,
// and gives none while an answer with the name that had it holds.
func (t *table) unused() (int, bool) {
	now := t.clock()
	for range poolSize {
		n := t.next
		t.next = (t.next + 1) % poolSize
		if at := t.freed[n]; at != 0 && now-at <= ttl {
			continue
		}
		if t.numbers[n] == nil && !t.reserved[address(v4, n)] && !t.reserved[address(v6, n)] {
			return n, true
		}
	}
	return 0, false
}

// clock is now, as freed has it.
func (t *table) clock() uint32 { return uint32(t.now().Sub(t.begun)/time.Second) + 1 }

// release ends what use or connect began.
func (t *table) release(e *entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.uses--
}

// forget closes the listeners of the name that was used longest ago and is not in use. It is
// false if there is none. Under mu.
func (t *table) forget() bool {
	for at := t.recent.Back(); at != nil; at = at.Prev() {
		e := at.Value.(*entry)
		if e.uses > 0 {
			continue
		}
		t.recent.Remove(at)
		delete(t.names, e.host)
		delete(t.numbers, e.number)
		t.freed[e.number] = t.clock()
		t.shut(e)
		return true
	}
	return false
}

// shut closes the listeners of an entry. Under mu.
func (t *table) shut(e *entry) {
	for _, listener := range e.listeners {
		_ = listener.Close() // accepting from it ends, whatever close(2) says
	}
	t.sockets -= len(e.listeners)
	e.listeners = nil
}

// reserve takes a place for one more listening socket, of a name that is forgotten if need be.
func (t *table) reserve() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for !t.closed && t.sockets >= t.limits.Sockets {
		if !t.forget() {
			return false
		}
	}
	if t.closed {
		return false
	}
	t.sockets++
	return true
}

// keep gives a reserved place to a listener, and calls start before the table can be closed.
// If it is closed, so is the listener.
func (t *table) keep(e *entry, at netip.AddrPort, listener net.Listener, start func()) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		_ = listener.Close() // nobody knows of it yet
		return net.ErrClosed
	}
	e.listeners[at] = listener
	start()
	return nil
}

// giveBack ends what reserve began.
func (t *table) giveBack() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sockets--
}

func (t *table) listens(e *entry, at netip.AddrPort) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return e.listeners[at] != nil
}

// connect keeps e, which a connection was accepted for, until release.
func (t *table) connect(e *entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.uses++
	if t.names[e.host] == e { // not a listed address, nor forgotten while it was accepted
		t.recent.MoveToFront(e.place)
	}
}

// pin adds a listed address.
func (t *table) pin(e *entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fixed = append(t.fixed, e)
}

// holder is the name that has an address.
func (t *table) holder(addr netip.Addr) (string, bool) {
	n, ok := number(addr)
	if !ok {
		return "", false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.numbers[n]
	if e == nil {
		return "", false
	}
	return e.host, true
}

// close closes every listener, and lets none be opened any more.
func (t *table) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	for _, e := range t.names {
		t.shut(e)
	}
	for _, e := range t.fixed {
		t.shut(e)
	}
}
