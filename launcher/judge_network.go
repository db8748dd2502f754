package launcher

import (
	"errors"
	"io/fs"
	"net/netip"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"brainbox/landlock"
	"brainbox/seccomp"
)

// port judges TCP. Operation.Path may hold the address, without its port: a network of the
// program's own is reached by its loopback alone.
func (j *Judge) port(op *Operation) Judgement {
	p := j.plan
	g := Judgement{Verdict: Refused, Right: "connect_tcp", Place: strconv.Itoa(int(op.Port)), Errno: syscall.EACCES, Clause: "network"}
	list := p.Landlock.ConnectTCP
	if op.Op == OpBind {
		g.Right, list = "bind_tcp", p.Landlock.BindTCP
	}
	switch e := j.calls.socket(unix.AF_INET, unix.SOCK_STREAM); {
	case p.OwnNetwork:
		return j.ownPort(op, g)
	case e != 0:
		g.Errno, g.Reason = e, "the network mode is none: seccomp refuses socket(AF_INET)"
		return g
	case p.Landlock.OpenTCP:
		return Judgement{Verdict: Allowed, Clause: "network", Reason: "the network is the host's"}
	case j.facts.LandlockErr == nil && j.facts.Landlock.Used() < landlock.TCP.ABI():
		return Judgement{Verdict: Allowed, Clause: "network", Reason: "the clause network is open: it needs Landlock ABI 4 (Linux 6.7)"}
	case slices.Contains(list, op.Port):
		return Judgement{
			Verdict: Allowed, Clause: "network", Entry: p.portEntry(g.Right, op.Port),
			Reason: g.Right + " lists the port, on every address",
		}
	}
	g.Reason = g.Right + " does not list port " + g.Place
	return g
}

func (p *Plan) portEntry(verb string, port uint16) *Entry {
	return p.entryIn("network", func(e *Entry) bool { return e.Value == verb+" "+strconv.Itoa(int(port)) })
}

// privileged is the end of the ports that need a capability (ip(7), ip_unprivileged_port_start).
const privileged = 1024

// ownPort judges where the program has a network of its own.
func (j *Judge) ownPort(op *Operation, g Judgement) Judgement {
	addr, err := netip.ParseAddr(op.Path)
	switch {
	case op.Op == OpBind && op.Port != 0 && op.Port < privileged:
		g.Reason = "the program has a network of its own, and no privilege to bind a port below 1024"
		return g
	case op.Op == OpBind:
		return Judgement{Verdict: Allowed, Clause: "network", Reason: "the program has a network of its own"}
	case err == nil && (addr.IsLoopback() || addr.IsUnspecified()):
		return Judgement{Verdict: Allowed, Clause: "network", Reason: "the program has a loopback of its own"}
	}
	g.Errno, g.Reason = 0, "the program has a network of its own, in which nobody listens but itself"
	if err == nil {
		g.Errno = syscall.ENETUNREACH
	}
	if j.plan.Network != nil && j.plan.Network.Proxy {
		g.Reason = "the program has a network of its own: a port leads out only with the name of a host that is listed"
	}
	return g
}

// socket judges connect(2) to a Unix socket by path.
func (j *Judge) socket(path string) Judgement {
	p := j.plan
	listed := p.entryIn("unix", func(e *Entry) bool {
		return e.State == StateEnforced && e.Right == "connect" && e.Note != "masked" && e.Value != "served" && (e.Path == path || e.Target == path)
	})
	g := Judgement{Verdict: Refused, Right: "resolve_unix", Place: path, Errno: syscall.EACCES, Clause: "unix"}
	c := p.clause("unix")
	byLandlock := j.facts.LandlockErr == nil && j.facts.Landlock.Used() >= landlock.ResolveUnix.ABI()
	switch {
	case listed != nil:
		return Judgement{Verdict: Allowed, Clause: "unix", Entry: listed, Reason: "it is listed: " + quotePath(listed.Value)}
	case j.index.inside:
		return j.socketInside(path, g, byLandlock)
	case p.Broker != nil:
		g.Reason = "it is not listed: the supervisor connects to listed sockets only"
		return g
	case c != nil && c.State == StateOpen:
		return Judgement{Verdict: Allowed, Clause: "unix", Reason: "the clause unix is open: " + c.Requirement}
	}
	if e := j.calls.socket(unix.AF_UNIX, unix.SOCK_STREAM); e != 0 {
		g.Right, g.Errno, g.Reason = "", e, "seccomp refuses socket(AF_UNIX): no socket by path is listed"
		return g
	}
	if byLandlock {
		return j.resolves(path, g)
	}
	return Judgement{Verdict: Allowed, Clause: "unix", Reason: "nothing holds Unix sockets here"}
}

// resolves judges by Landlock, which lets a program reach the sockets that it made itself.
func (j *Judge) resolves(path string, g Judgement) Judgement {
	s := j.index.at(parent(path))
	if s.bits&unix.LANDLOCK_ACCESS_FS_MAKE_SOCK != 0 {
		return Judgement{Clause: "unix", Reason: "allowed if the program made it, which its path does not tell"}
	}
	g.Reason = "no entry lists the socket " + quotePath(path)
	return g
}

func (j *Judge) socketInside(path string, g Judgement, byLandlock bool) Judgement {
	s := j.index.at(path)
	r := s.around()
	switch {
	case s.masked != nil:
		g.Reason = "it is not listed: the program finds an empty file in its place"
		if s.masked.Path != path {
			g.Errno = syscall.ENOENT
		}
		if s.masked.Clause == "deny" {
			g.Clause, g.Entry = "deny", j.plan.forbids("deny", s.masked)
		}
		return g
	case r.bare():
		g.Errno, g.Reason = syscall.ENOENT, "it is not there: no entry lists it"
		return g
	case r.own:
		return Judgement{Verdict: Allowed, Clause: "unix", Reason: "the program has a " + quotePath(r.path) + " of its own"}
	case byLandlock:
		return j.resolves(path, g)
	}
	return Judgement{
		Verdict: Allowed, Clause: "unix",
		Reason: "a socket that is made in a granted tree while the program runs can be reached",
	}
}

func (p *Plan) clause(name string) *Clause {
	for i := range p.Clauses {
		if p.Clauses[i].Name == name {
			return &p.Clauses[i]
		}
	}
	return nil
}

func (p *Plan) entryIn(clause string, is func(*Entry) bool) *Entry {
	c := p.clause(clause)
	if c == nil {
		return nil
	}
	for i := range c.Entries {
		if is(&c.Entries[i]) {
			return &c.Entries[i]
		}
	}
	return nil
}

// calls answers by the filter of the plan, which is compiled when it is first asked.
type calls struct {
	plan   *Plan
	once   sync.Once
	filter seccomp.Program
	err    error
}

func (c *calls) load() {
	c.once.Do(func() { c.filter, c.err = c.plan.FilterProgram() })
}

// socket is the error that the filter gives for socket(family, kind, 0); 0: none.
func (c *calls) socket(family, kind uint64) syscall.Errno {
	c.load()
	arch, err := seccomp.AuditArch(runtime.GOARCH)
	if err != nil || c.err != nil || len(c.filter) == 0 {
		return 0
	}
	e, _ := c.filter.Eval(seccomp.Data{Nr: unix.SYS_SOCKET, Arch: arch, Args: [6]uint64{family, kind}}).Errno()
	return syscall.Errno(e)
}

// mknod is the error that the filter gives for making a device node; 0: none.
func (c *calls) mknod(k FileKind) syscall.Errno {
	mode := uint64(unix.S_IFCHR)
	if k == KindBlock {
		mode = unix.S_IFBLK
	}
	c.load()
	arch, err := seccomp.AuditArch(runtime.GOARCH)
	if err != nil || c.err != nil || len(c.filter) == 0 {
		return 0
	}
	e, _ := c.filter.Eval(seccomp.Data{Nr: unix.SYS_MKNODAT, Arch: arch, Args: [6]uint64{0, 0, mode, 0x103}}).Errno()
	return syscall.Errno(e)
}

// judge answers for a system call by its name. What its arguments decide is not known here, but
// for those that [SocketCall] writes.
func (c *calls) judge(name string) Judgement {
	if s, ok := parseSocketCall(name); ok {
		return c.judgeSocket(&s, name)
	}
	g := Judgement{Clause: "seccomp"}
	c.load()
	if c.err == nil && len(c.filter) == 0 {
		g.Verdict, g.Reason = Allowed, "seccomp = none: every system call is open"
		return g
	}
	v, err := seccomp.Verdict{}, c.err
	if err == nil {
		v, err = seccomp.Explain(c.filter, name)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		g.Reason = "unknown system call " + quotePath(name)
	case err != nil:
		g.Reason = err.Error()
	default:
		g.Reason = name + ": " + v.String()
		c.verdict(&g, v)
	}
	return g
}

func (c *calls) verdict(g *Judgement, v seccomp.Verdict) {
	switch {
	case v.Depends() || v.Actions[0] == seccomp.Notify:
	case v.Allowed():
		g.Verdict = Allowed
	default:
		g.Verdict = Refused
		if e, ok := v.Actions[0].Errno(); ok {
			g.Errno = syscall.Errno(e)
		}
	}
}
