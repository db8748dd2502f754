package allow

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Rules are compiled and never change: they are safe for concurrent use. None, nil and the
// zero value allow nothing.
type Rules struct {
	names map[string][]entry // by name, and by address as netip writes it: no string is both
	below map[string][]entry // what stands after "*."
	addrs []netip.AddrPort
}

// entry is what one rule says of the host under which it is kept.
type entry struct {
	port uint16 // 0: 443 and 80
	rule int
}

// opens reports whether the entry has this port. Nothing has port 0.
func (e entry) opens(port uint16) bool {
	return port != 0 && (e.port == port || e.port == 0 && slices.Contains(defaultPorts(), port))
}

func (e entry) ports() []uint16 {
	if e.port == 0 {
		return defaultPorts()
	}
	return []uint16{e.port}
}

func defaultPorts() []uint16 { return []uint16{80, 443} }

// New compiles the entries of a policy. An error names the first one that can match nothing,
// or more than its author can have meant: what decides drops no entry silently.
func New(rules []Rule) (*Rules, error) {
	r := &Rules{names: map[string][]entry{}, below: map[string][]entry{}}
	for i, rule := range rules {
		if err := r.add(i, rule); err != nil {
			return nil, fmt.Errorf("allow: entry %d, %q: %w", i+1, rule.Name, err)
		}
	}
	return r, nil
}

func (r *Rules) add(i int, rule Rule) error {
	name, wildcard := strings.CutPrefix(rule.Name, "*.")
	addr, err := canonical(name)
	if err != nil {
		return err
	}
	e := entry{rule.Port, i}
	switch {
	case wildcard && addr.IsValid():
		return errors.New("an address has nothing below it; list each address")
	case wildcard:
		r.below[name] = append(r.below[name], e)
	case addr.IsValid():
		r.names[addr.String()] = append(r.names[addr.String()], e)
		for _, port := range e.ports() {
			if ap := netip.AddrPortFrom(addr, port); !slices.Contains(r.addrs, ap) {
				r.addrs = append(r.addrs, ap)
			}
		}
	default:
		r.names[name] = append(r.names[name], e)
	}
	return nil
}

// canonical refuses what a reader of the policy could take for something else than what is
// compared: a spelling that is not the normal one, an address of no single host.
func canonical(name string) (netip.Addr, error) {
	normal, addr, err := Normalise(name)
	switch {
	case err != nil:
		return netip.Addr{}, errors.Unwrap(err)
	case !addr.IsValid() && name != normal:
		return netip.Addr{}, fmt.Errorf("not as it is compared; write %q", normal)
	case !addr.IsValid():
		return addr, nil
	}
	if plain, err := netip.ParseAddr(name); err != nil || plain.Unmap() != addr {
		return netip.Addr{}, fmt.Errorf("an address in a spelling of its own; write %q", addr)
	}
	if addr.IsUnspecified() || addr.IsMulticast() || addr == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
		return netip.Addr{}, errors.New("an address of no single host; list the host's own")
	}
	return addr, nil
}

// visit calls do with every entry that names this normalised name or address.
func (r *Rules) visit(name string, do func(entry)) {
	if r == nil {
		return
	}
	for _, e := range r.names[name] {
		do(e)
	}
	for rest := name; len(r.below) > 0; {
		_, parent, dot := strings.Cut(rest, ".")
		if !dot {
			return
		}
		for _, e := range r.below[parent] {
			do(e)
		}
		rest = parent
	}
}

// Ports returns the ports with which a name or address is listed, over all entries, sorted:
// none for one that is not listed, or no host at all.
func (r *Rules) Ports(name string) []uint16 {
	name, _, err := Normalise(name)
	if err != nil {
		return nil
	}
	var ports []uint16
	r.visit(name, func(e entry) { ports = append(ports, e.ports()...) })
	slices.Sort(ports)
	return slices.Compact(ports)
}

// Literals returns the listed addresses, each with each of its ports, in the order of the
// entries. The slice is the caller's.
func (r *Rules) Literals() []netip.AddrPort {
	if r == nil {
		return nil
	}
	return slices.Clone(r.addrs)
}
