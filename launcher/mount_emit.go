package launcher

import (
	"path/filepath"

	"brainbox/landlock"
	"brainbox/policy"
)

// walk goes through all spots in order, with what holds around and at each of them.
func (m *mounter) walk(visit func(s *spot, around, here *region)) {
	stack := []region{{path: "/", own: true}}
	for _, path := range m.order {
		s := m.spots[path]
		stack = outer(stack, path)
		around := stack[len(stack)-1]
		here := m.region(s, &around)
		visit(s, &around, &here)
		stack = append(stack, here)
	}
}

// region is what holds at a spot and below it.
func (m *mounter) region(s *spot, around *region) region {
	here := *around
	here.path = s.path
	_, denied := s.has(m.in, GuardDeny)
	_, guarded := s.has(m.in, GuardProtect)
	here.denied = around.denied || denied && !around.own
	here.guarded = around.guarded || guarded
	switch {
	case s.own != ownNone:
		here = region{path: s.path, own: s.own == ownFolder, hidden: s.own != ownFolder}
		for i := range s.make {
			here.write = here.write || s.make[i].Writable || s.make[i].Devices // which a read-only mount takes from nobody
			here.exec = here.exec || s.make[i].Exec
		}
	case denied:
	case s.private != HeldNone:
		here = region{path: s.path, write: s.private != HeldGitConfig, exec: s.private != HeldGitConfig}
	case s.grant >= 0:
		m.grantRegion(&here, s.grant, around)
	case s.spread >= 0:
		m.grantRegion(&here, m.in.Spread[s.spread].Want, around)
	}
	here.write = here.write && !here.guarded
	return here
}

// grantRegion is what a grant gives, by the table of nested entries.
func (m *mounter) grantRegion(here *region, i int, around *region) {
	w, p := &m.f.Wants[i], &m.f.Paths[i]
	profile := m.d.fromProfile(w)
	if profile && around.profile && !around.own && w.Right.Writes() == around.write && !w.Right.Execs() {
		return // a profile's own folders of programs hold data as well
	}
	here.own, here.profile = false, profile
	here.write, here.exec = w.Right.Writes(), w.Right.Execs()
	here.devices = p.Device || policy.Below(p.Target, "/dev") && !policy.Below(p.Target, sharedMemory)
}

// emit writes the steps down.
func (m *mounter) emit() {
	m.d.plan.regions = make(map[string]region, len(m.order))
	m.walk(func(s *spot, around, here *region) {
		m.d.plan.regions[s.path] = *here
		switch {
		case around.denied || around.hidden:
			m.lost(s)
		case s.own != ownNone && !around.own && m.isScratch(s.path):
			m.d.refuse(&Refusal{
				Status: StatusRefused, Clause: "files",
				Message: "scratch " + quotePath(s.path) + " lies in a tree of the host's", Hint: "name a place that no grant holds",
			})
		case s.own != ownNone:
			m.emitOwn(s)
		case s.link != "":
			if around.own {
				m.parents(s.path)
				m.mounts = append(m.mounts, Mount{Kind: MountLink, Path: s.path, Source: s.link, Origin: -1})
			}
		case here.denied:
			m.mask(s)
		case around.own:
			m.place(s, here)
		case s.socket >= 0:
			m.maskSocket(s)
		case s.private != HeldNone:
			m.bind(s, here, true)
		case s.unix < 0:
			m.within(s, around, here)
		}
	})
}

// lost refuses a run whose own folders a deny entry hides.
func (m *mounter) lost(s *spot) {
	if s.private != HeldNone {
		m.d.refuse(&Refusal{
			Status: StatusRefused, Clause: "deny",
			Message: "the run's private folder " + quotePath(s.path) + " lies in a denied tree",
			Hint:    "deny a smaller part, or set TMPDIR to a folder outside of it",
		})
	}
}

// parents makes the own folders above a place.
func (m *mounter) parents(path string) {
	for _, dir := range above(path) {
		m.folder(dir)
	}
}

func (m *mounter) folder(dir string) {
	if !m.made[dir] {
		m.made[dir] = true
		m.mounts = append(m.mounts, Mount{Kind: MountDir, Path: dir, Mode: 0o755, Origin: -1})
	}
}

// emitOwn makes a place that every run has.
func (m *mounter) emitOwn(s *spot) {
	m.parents(s.path)
	if s.own != ownFile {
		m.folder(s.path)
	}
	m.mounts = append(m.mounts, s.make...)
	if s.own == ownFolder && len(s.make) > 0 { // a tmpfs that the program writes to
		right := landlock.Write
		if s.make[0].Exec {
			right = landlock.WriteExec
		}
		m.right(s.path, right, false)
	}
	if s.path == "/proc" {
		for _, name := range m.in.Hide {
			m.mounts = append(m.mounts, Mount{Kind: MountMask, Path: "/proc/" + name, Mode: 0o444, Origin: -1})
		}
	}
}

// place puts something where the sandbox has nothing yet.
func (m *mounter) place(s *spot, here *region) {
	if s.grant < 0 && s.spread < 0 && s.unix < 0 && s.private == HeldNone && !s.bridge {
		return // nothing of it is to be seen
	}
	m.parents(s.path)
	if m.isFolder(s) {
		m.folder(s.path)
	} else {
		m.mounts = append(m.mounts, Mount{Kind: MountFile, Path: s.path, Mode: 0o444, Origin: -1})
	}
	m.bind(s, here, false)
}

func (m *mounter) isFolder(s *spot) bool {
	switch {
	case s.private != HeldNone:
		return s.private != HeldGitConfig
	case s.unix >= 0, s.bridge:
		return false
	case s.grant >= 0:
		return m.f.Paths[s.grant].Dir
	case s.spread >= 0:
		return m.in.Spread[s.spread].Name.Kind == NameFolder
	}
	return true
}

// bind binds what a spot stands for from the host.
func (m *mounter) bind(s *spot, here *region, over bool) {
	b := Mount{
		Kind: MountBind, Path: s.path, Source: s.path, Over: over, Recursive: m.isFolder(s), Origin: -1,
		Writable: here.write, Exec: here.exec, Devices: here.devices,
	}
	switch {
	case s.private != HeldNone:
		b.Held = Held{In: s.private}
		b.Recursive = false
	case s.bridge:
		f := m.f.Bridge
		b.Source = f.Dir + "/" + agentSocket
		b.Held, b.Clause, b.Value, b.Origin = Held{In: HeldBridge}, "unix", "bridge", f.Source
		b.Writable, b.Exec, b.Devices = false, false, false
	case s.unix >= 0:
		u := &m.d.pol.Network.Unix[s.unix]
		b.Held, b.Clause, b.Value, b.Origin = Held{HeldUnix, s.unix}, "unix", u.Text, u.Source
		b.Writable, b.Exec, b.Devices = false, false, false // connect(2) asks the socket's mode, not the mount
	case s.grant >= 0:
		w := &m.f.Wants[s.grant]
		b.Held, b.Clause, b.Value, b.Origin = Held{HeldPath, s.grant}, "files", w.Text, w.Source
	case s.spread >= 0:
		w := &m.f.Wants[m.in.Spread[s.spread].Want]
		b.Held, b.Clause, b.Value, b.Origin = Held{HeldSpread, s.spread}, "files", w.Text, w.Source
	}
	if (s.bridge || s.unix >= 0) && m.f.Landlock.Used() >= landlock.ResolveUnix.ABI() {
		m.grants = append(m.grants, Mount{Kind: MountGrant, Path: s.path, Held: b.Held, File: true, Unix: true, Origin: -1})
	}
	if s.grant >= 0 && m.f.Paths[s.grant].Device {
		b.Writable = false // see devices: it can be written to all the same
	}
	m.mounts = append(m.mounts, b)
}

// within decides about a place inside a tree that is bound already.
func (m *mounter) within(s *spot, around, here *region) {
	_, named := s.has(m.in, GuardName)
	stays := around.write && (named || s.folder >= 0)
	if !stays && here.write == around.write && here.exec == around.exec && here.devices == around.devices {
		return
	}
	if s.grant >= 0 && !around.allows(here) {
		m.bind(s, here, true)
		return
	}
	self := Mount{
		Kind: MountSelf, Path: s.path, Recursive: true, Clause: "protect", Origin: -1,
		Writable: here.write, Exec: here.exec, Devices: here.devices,
	}
	switch {
	case len(s.names) > 0:
		n := &m.in.Names[s.names[0]]
		self.Held, self.Value, self.Origin = Held{HeldName, s.names[0]}, n.Entry.Text, n.Entry.Source
		self.Recursive = n.Kind == NameFolder
	case s.grant >= 0:
		w := &m.f.Wants[s.grant]
		self.Held, self.Value, self.Origin = Held{HeldPath, s.grant}, w.Text, w.Source
		self.Recursive = m.f.Paths[s.grant].Dir
		if here.write == around.write {
			self.Clause = "files"
		}
	default:
		self.Held = Held{HeldFolder, s.folder}
	}
	m.mounts = append(m.mounts, self)
}

// mask hides what is denied.
func (m *mounter) mask(s *spot) {
	i, _ := s.has(m.in, GuardDeny)
	n := &m.in.Names[i]
	mode := uint32(0o444)
	if n.Kind == NameFolder {
		mode = 0o555
	}
	m.mounts = append(m.mounts, Mount{
		Kind: MountMask, Path: s.path, Held: Held{HeldName, i}, Mode: mode,
		Clause: "deny", Value: n.Entry.Text, Origin: n.Entry.Source,
	})
}

func (m *mounter) maskSocket(s *spot) {
	m.mounts = append(m.mounts, Mount{
		Kind: MountMask, Path: s.path, Held: Held{HeldSocket, s.socket}, Mode: 0o444,
		Clause: "unix", Value: filepath.Base(s.path), Origin: -1,
	})
}
