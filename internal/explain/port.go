package explain

import (
	"bytes"
	"net/netip"
	"strconv"

	"golang.org/x/sys/unix"

	"brainbox/internal/sys"
	"brainbox/launcher"
)

// port asks for a port of TCP. Where the program has a network of its own the address decides,
// too: its loopback is its own.
func (l *look) port(what launcher.Op, a *address) {
	op := launcher.Operation{Op: what, Port: a.port}
	if !l.e.cfg.OwnNetwork || what != launcher.OpConnect || !a.host.IsValid() {
		l.ask(op)
		return
	}
	asked := op
	asked.Path = a.host.String()
	judged := l.e.judge(asked)
	s := &Seen{Operation: op, Judgement: judged, Certainty: Proven, Call: l.call, TID: l.c.TID}
	if judged.Verdict == launcher.Allowed && !listensTCP(itoa(l.c.TID), a.port) && listensTCP("self", a.port) {
		// What listens on the host's loopback is what was meant, as far as anyone can know.
		s.Judgement = l.e.judge(op)
		s.Judgement.Errno, s.Certainty = unix.ECONNREFUSED, Likely
	}
	if (s.Judgement.Verdict != launcher.Allowed || l.e.cfg.Uses) && l.waits() {
		l.e.cfg.Sink.Saw(s)
	}
}

// listensTCP reports whether somebody listens on a port in a process's network namespace.
func listensTCP(process string, port uint16) bool {
	for _, name := range [...]string{"tcp", "tcp6"} {
		b, err := sys.ReadFile("/proc/"+process+"/net/"+name, maxSockets)
		if err == nil && hasListener(b, port) {
			return true
		}
	}
	return false
}

// hasListener finds a listener in such a text (proc_pid_net(5)): TCP_LISTEN is 0A.
func hasListener(b []byte, port uint16) bool {
	for line := range bytes.Lines(b) {
		f := bytes.Fields(line)
		if len(f) < 4 || string(f[3]) != "0A" {
			continue
		}
		_, hex, _ := bytes.Cut(f[1], []byte(":"))
		if n, err := strconv.ParseUint(string(hex), 16, 16); err == nil && uint16(n) == port {
			return true
		}
	}
	return false
}

// host is the address in a struct sockaddr_in or sockaddr_in6.
func host(b []byte, family uint16) netip.Addr {
	switch {
	case family == unix.AF_INET && len(b) >= 8:
		return netip.AddrFrom4([4]byte(b[4:8]))
	case family == unix.AF_INET6 && len(b) >= 24:
		return netip.AddrFrom16([16]byte(b[8:24])).Unmap()
	}
	return netip.Addr{}
}
