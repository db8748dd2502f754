package launcher

import (
	"path/filepath"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"brainbox/internal/broker"
	"brainbox/internal/spawn"
	"brainbox/landlock"
	"brainbox/seccomp"
)

// logABI is the first Landlock ABI whose refusals can be in the audit log (Linux 6.15).
const logABI = 7

// request is the start itself.
func (s *session) request(o Options, filter seccomp.Program) spawn.Request {
	p := s.plan
	r := spawn.Request{
		Path: p.File, Argv: p.Command, Env: p.Env, Ruleset: s.ruleset, Filter: sockFilter(filter), Unconfined: p.NoFilter,
		Stdio: o.Stdio, Pass: o.Pass, Dir: s.facts.Cwd.fd, Umask: p.Umask, Session: !p.Terminal, Bounding: p.Bounding,
		DieWithParent: true, Probes: p.probes(s.canary(), filter), Namespaces: s.namespaces(o.Stdio),
	}
	r.LogExec = o.LogRefusals && s.facts.Landlock.ABI >= logABI
	switch {
	case p.Cwd != "/":
	case r.Namespaces != nil:
		r.Dir = 0 // the program's own root is another folder
	case s.facts.Cwd.Target != "/":
		r.Dir = s.rootDir()
	}
	if t := s.facts.Place.raised; t != nil {
		r.Limits, r.Groups = slices.Clone(t.limits), true // the identity's groups
		r.FilesLast = true                                // no capability is left that could raise it
	} else {
		r.Identity = spawnIdentity(p.Identity)
	}
	for _, l := range p.Limits {
		r.Limits = append(r.Limits, spawn.Limit(l))
	}
	return r
}

// broker is what the supervisor connects, with the descriptors that are held.
func (s *session) broker() *broker.Config {
	p := s.plan.Broker
	if p == nil {
		return nil
	}
	c := &broker.Config{Rules: p.Rules}
	for _, b := range p.Sockets {
		f := &s.facts.Sockets[b.Socket]
		one := broker.Socket{Folder: f.folder, Name: filepath.Base(f.Target), UID: f.UID}
		if b.Pinned {
			one.Pinned = f.fd
		}
		c.Sockets = append(c.Sockets, one)
	}
	if b := s.plan.Bridge; b != nil && b.Broker {
		c.Sockets = append(c.Sockets, s.bridge.socket(s.owner()))
	}
	return c
}

// owner is the host's uid of the program.
func (s *session) owner() uint32 {
	if id := s.facts.Identity; id != nil {
		return id.UID
	}
	return uint32(s.facts.Place.EUID)
}

// rootDir replaces the working directory by /.
func (s *session) rootDir() int {
	s.facts.Cwd.close()
	s.facts.Cwd = openPath("/")
	return s.facts.Cwd.fd
}

// sockFilter shows a program as the kernel's own type; both have one layout.
func sockFilter(p seccomp.Program) []unix.SockFilter {
	if len(p) == 0 {
		return nil
	}
	return unsafe.Slice((*unix.SockFilter)(unsafe.Pointer(&p[0])), len(p))
}

// FilterProgram is the filter that the plan decided for.
func (p *Plan) FilterProgram() (seccomp.Program, error) {
	if p.NoFilter {
		return nil, nil
	}
	if len(p.Filter) > 0 {
		return p.Filter, nil
	}
	return seccomp.Default(p.Seccomp)
}

// buildRuleset makes the ruleset from the held descriptors; it changes no thread.
func (s *session) buildRuleset() (int, error) {
	spec := s.plan.Landlock
	spec.Rules = make([]landlock.Rule, 0, len(s.plan.Rules)+3)
	for _, r := range s.plan.Rules {
		p := &s.facts.Paths[r.Path]
		spec.Rules = append(spec.Rules, landlock.Rule{FD: p.fd, Dir: p.Dir, Right: r.Right, Device: r.Device, Unix: r.Unix})
	}
	spec.Rules = append(spec.Rules, s.socketRules()...)
	if s.home <= 0 { // a worker's
		return landlock.Build(spec, s.facts.Landlock)
	}
	spec.Rules = append(spec.Rules,
		landlock.Rule{FD: s.home, Dir: true, Right: landlock.WriteExec},
		landlock.Rule{FD: s.dir.tmp, Dir: true, Right: landlock.WriteExec})
	if s.dir.gitConfig > 0 {
		spec.Rules = append(spec.Rules, landlock.Rule{FD: s.dir.gitConfig, Right: landlock.Read})
	}
	return landlock.Build(spec, s.facts.Landlock)
}

// socketRules are those of the sockets that are bound into the program's file system (ABI 9).
// They are held: no name is looked up for a rule, which is of the inode.
func (s *session) socketRules() (list []landlock.Rule) {
	for i := range s.plan.Mounts {
		if m := &s.plan.Mounts[i]; m.Kind == MountGrant && m.Unix {
			list = append(list, landlock.Rule{FD: s.heldFD(m.Held), Unix: true})
		}
	}
	return list
}
