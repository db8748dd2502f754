package auditlog

import "slices"

// keptEvents bounds what is kept: a program can be refused as often as it likes.
const keptEvents = 2000

// Event is what one system call was refused, by one domain. A rename can have two records.
type Event struct {
	Accesses []Access
	PID      int    // of the process that asked; 0: it is not known
	Program  string // what it called itself
	Count    int64
}

// collector puts records together. It does no system call.
type collector struct {
	serial  uint64 // of the event that is read
	current Event
	id      uint64 // its domain

	events  map[uint64][]Event // by domain
	kept    int
	unkept  int64
	domains map[uint64]domain
	gone    map[uint64]uint64 // what a domain that is gone had refused
	broken  int64             // records that could not be read
}

// add takes one record. Those of one event have one serial number, and come in one piece as
// long as one process writes them; others may come between.
func (c *collector) add(kind uint16, text []byte) {
	switch kind {
	case typeAccess, typeDomain, typeCall, typeEnd:
	default:
		return
	}
	serial, fields, err := parse(text)
	if err != nil {
		c.broken++
		return
	}
	if serial != c.serial {
		c.flush()
		c.serial = serial
	}
	switch kind {
	case typeAccess:
		var a *Access
		if a, err = parseAccess(fields); err == nil {
			c.current.Accesses, c.id = append(c.current.Accesses, *a), a.Domain
		}
	case typeDomain:
		var d *domain
		if d, err = parseDomain(fields); err == nil {
			c.domain(d)
		}
	case typeCall:
		var from *call
		if len(c.current.Accesses) == 0 {
			return // of another event, that has nothing to do with Landlock
		}
		if from, err = parseCall(fields); err == nil {
			c.current.PID, c.current.Program = from.pid, from.comm
		}
	case typeEnd:
		c.flush()
	}
	if err != nil {
		c.broken++
	}
}

func (c *collector) domain(d *domain) {
	if c.domains == nil {
		c.domains, c.gone = map[uint64]domain{}, map[uint64]uint64{}
	}
	switch {
	case len(c.domains)+len(c.gone) >= keptEvents:
	case d.made:
		c.domains[d.id] = *d
	default:
		c.gone[d.id] = d.denials
	}
}

// flush keeps the event that was read last.
func (c *collector) flush() {
	e, id := c.current, c.id
	c.current, c.id = Event{}, 0
	if len(e.Accesses) == 0 {
		return
	}
	if c.events == nil {
		c.events = map[uint64][]Event{}
	}
	for i := range c.events[id] {
		if same(&c.events[id][i], &e) {
			c.events[id][i].Count++
			return
		}
	}
	if c.kept >= keptEvents {
		c.unkept++
		return
	}
	e.Count = 1
	c.kept++
	c.events[id] = append(c.events[id], e)
}

func same(a, b *Event) bool {
	return slices.EqualFunc(a.Accesses, b.Accesses, func(x, y Access) bool {
		return x.Path == y.Path && x.Port == y.Port && x.Inode == y.Inode && slices.Equal(x.Blockers, y.Blockers)
	})
}

// of gives what the domains refused that a process made while it ran a program: a sandbox that
// the program makes for itself is none of ours, and bears the program's own name.
func (c *collector) of(pid int, exe string) (list []Event, open bool) {
	c.flush()
	for id := range c.domains {
		if d := c.domains[id]; d.pid == pid && d.exe == exe {
			list = append(list, c.events[id]...)
			if _, gone := c.gone[id]; !gone {
				open = true
			}
		}
	}
	return list, open
}
