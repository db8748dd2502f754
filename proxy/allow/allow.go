package allow

import "net/netip"

// Rule is one entry of [network] allow_hosts.
type Rule struct {
	Name   string // as package policy has it: lower-case A-labels, "*.name" for every name below it, or an address
	Port   uint16 // 0: 443 and 80
	Source int    // where it was written, for whoever asks; not looked at here
}

// Path is the way by which a program asks.
type Path uint8

// The paths.
const (
	Connect Path = iota + 1 // HTTP CONNECT
	Request                 // HTTP with an absolute-form target
	Socks                   // SOCKS5 CONNECT
	Direct                  // a connection to an address that the resolver handed out
	Lookup                  // a question to the resolver; its port is 0: any that is listed
)

// Query is one question.
type Query struct {
	Host string // as the program wrote it
	Port uint16
	Path Path
}

// Reason says why something is refused, in one word of the records.
type Reason string

// The reasons. The zero value is none: it is allowed.
const (
	Malformed   Reason = "malformed"   // no host name, or no request that one could be read from: the answer is 400, not 403
	NotListed   Reason = "not_listed"  // no entry names it
	PortClosed  Reason = "port"        // an entry names the host, none with this port
	Literal     Reason = "literal"     // an address that is not listed, in whatever spelling
	Private     Reason = "private"     // the name leads to an address that is not public, and not listed
	Unresolved  Reason = "unresolved"  // the host's resolver has no answer
	Unreachable Reason = "unreachable" // nothing answers there
	ServerName  Reason = "server_name" // the ClientHello names another server, none, or there is none
	Busy        Reason = "busy"        // a limit of the proxy
	Itself      Reason = "itself"      // a listener of this very run
	PortTaken   Reason = "port_taken"  // the program itself listens on the port at every address, so that the resolver can't
	Gone        Reason = "gone"        // the program left, or the run ended, before anything was let through
)

// Reasons are all of them, in the order above. The slice is the caller's.
func Reasons() []Reason {
	return []Reason{
		Malformed, NotListed, PortClosed, Literal, Private, Unresolved, Unreachable, ServerName, Busy, Itself, PortTaken, Gone,
	}
}

// Verdict is the answer. The zero value allows nothing.
type Verdict struct {
	Reason Reason     // empty: allowed
	Name   string     // normalised: lower-case A-labels without a dot at the end; an address as netip writes it
	Addr   netip.Addr // valid: the query named this address
	Rule   int        // index of the entry that allows it, or that names the host with another port; -1: none
}

// Allowed reports whether the program may connect.
func (v Verdict) Allowed() bool { return v.Reason == "" && v.Name != "" }

// Accepts reports whether a TLS client may greet what the verdict lets it reach by this
// server name, "" for none: a name by itself alone, in any spelling; a listed address by any.
func (v Verdict) Accepts(serverName string) bool {
	if !v.Allowed() || v.Addr.IsValid() {
		return v.Allowed()
	}
	name, _, err := Normalise(serverName)
	return err == nil && name == v.Name
}

// Decide answers one question. Where several entries allow it, the first is told; where
// entries name the host with other ports alone, the first of those.
func (r *Rules) Decide(q Query) Verdict {
	name, addr, err := Normalise(q.Host)
	if err != nil {
		return Verdict{Reason: Malformed, Rule: -1}
	}
	allowed, named := -1, -1
	r.visit(name, func(e entry) {
		named = first(named, e.rule)
		if q.Path == Lookup || e.opens(q.Port) {
			allowed = first(allowed, e.rule)
		}
	})
	v := Verdict{Name: name, Addr: addr, Rule: allowed}
	switch {
	case allowed >= 0:
	case named >= 0:
		v.Reason, v.Rule = PortClosed, named
	case addr.IsValid():
		v.Reason = Literal
	default:
		v.Reason = NotListed
	}
	return v
}

// first is the smaller index; -1 is none.
func first(a, b int) int {
	if a < 0 {
		return b
	}
	return min(a, b)
}

// Address says whether an address that a name led to may be dialled: "" for a public one
// and for one that is itself listed with the port, [Private] for every other. A v4-mapped
// IPv6 address is its IPv4 one, which is what the kernel would connect to.
func (r *Rules) Address(a netip.Addr, port uint16) Reason {
	if a.IsValid() && a.Zone() == "" && (Special(a) == "" || r.listed(a.Unmap(), port)) {
		return ""
	}
	return Private
}

func (r *Rules) listed(a netip.Addr, port uint16) bool {
	found := false
	r.visit(a.String(), func(e entry) { found = found || e.opens(port) })
	return found
}
