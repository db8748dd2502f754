package launcher

import (
	"errors"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"brainbox/policy"
)

// mounter plans the program's file system: pure, from the facts and from what the nesting
// of the entries means.
type mounter struct {
	d      *planner
	f      *Facts
	in     *InsideFact
	spots  map[string]*spot
	order  []string
	made   map[string]bool // own folders and files
	mounts []Mount
	grants []Mount // rights on own places, last
	links  map[string]string
	roots  []string // of the write grants, the outermost first
}

// mountPlan lists the steps. What it cannot hold is refused through the clauses.
func (d *planner) mountPlan() []Mount {
	m := &mounter{
		d: d, f: d.facts, in: d.facts.Inside,
		spots: map[string]*spot{}, made: map[string]bool{"/": true}, links: map[string]string{},
	}
	for _, l := range m.in.Links {
		m.links[l.At] = l.Text
	}
	for i := range m.f.Wants {
		if m.d.counts(i) && m.f.Wants[i].Right.Writes() {
			m.roots = append(m.roots, m.f.Paths[i].Target)
		}
	}
	slices.SortFunc(m.roots, func(a, b string) int { return len(a) - len(b) })
	m.ownPlaces()
	m.synthesise()
	m.granted()
	m.private()
	m.guarded()
	m.sockets()
	m.symlinks()
	m.sort()
	if m.pins(); len(m.spots) > len(m.order) {
		m.sort()
	}
	m.mounts = make([]Mount, 0, 2*len(m.order)+len(m.grants))
	m.emit()
	return append(m.mounts, m.grants...)
}

func (m *mounter) at(path string) *spot {
	s := m.spots[path]
	if s == nil {
		s = newSpot(path)
		m.spots[path] = s
	}
	return s
}

// sort puts every spot after the folders around it: nothing that is mounted later hides
// what was mounted before.
func (m *mounter) sort() {
	m.order = m.order[:0]
	for path := range m.spots {
		m.order = append(m.order, path)
	}
	slices.SortFunc(m.order, inOrder)
}

// granted gives every grant that counts its spot.
func (m *mounter) granted() {
	for i := range m.f.Wants {
		p := &m.f.Paths[i]
		switch {
		case !m.d.counts(i):
			continue
		case isOwn(p.Target) || p.Socket:
			continue // the sandbox has its own; sockets are listed under unix
		case m.d.synthesised(i):
			continue
		case p.Target == "/tmp", p.Target == "/run", p.Target == sharedMemory:
			m.at(p.Target).own, m.at(p.Target).make = ownNone, nil // not the run's own, then
		case policy.Below(p.Target, "/dev/pts"), m.ownDevice(p.Target):
			continue
		}
		m.at(p.Target).grant = i
	}
	for i, s := range m.in.Spread {
		if m.d.dropped[s.Want] == "" && s.Name.Err == nil && m.spots[s.Name.Path] == nil {
			m.at(s.Name.Path).spread = i
		}
	}
}

// ownDevice reports whether a path is a device that every run has.
func (m *mounter) ownDevice(path string) bool {
	return filepath.Dir(path) == "/dev" && path != sharedMemory && slices.Contains(ownDevices(), filepath.Base(path))
}

// private places the run's own folders where they are outside.
func (m *mounter) private() {
	if m.d.pol.Bare != nil {
		return // it has none
	}
	m.at(m.through(m.f.homeDir())).private = HeldHome
	m.at(m.through(m.f.tmpDir())).private = HeldTmp
	if len(m.d.plan.GitConfig) > 0 {
		m.at(m.through(m.f.RunDir + "/gitconfig")).private = HeldGitConfig
	}
}

// through is where a path of the host leads inside, by the links that are made again.
func (m *mounter) through(path string) string {
	at, rest := "/", path
	for n := 0; rest != ""; {
		var part string
		part, rest = cutPart(rest)
		switch part {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, part)
		text, ok := m.links[next]
		if !ok || n == maxLinks {
			at = next
			continue
		}
		if n++; filepath.IsAbs(text) {
			at = "/"
		}
		rest = text + "/" + rest
	}
	return at
}

// guarded gives every name that is held its spot.
func (m *mounter) guarded() {
	for i := range m.in.Names {
		if n := &m.in.Names[i]; n.Kind != NameAbsent && n.Err == nil {
			s := m.at(n.Path)
			s.names = append(s.names, i)
			if n.Guard == GuardDeny {
				s.spread = -1 // the part of a granted "/" that is denied is not mounted at all
			}
		}
	}
}

// sockets gives a spot to the sockets that are listed, and to those that are found in
// granted trees and are not.
func (m *mounter) sockets() {
	listed := map[string]bool{}
	for i := range m.in.Unix {
		if u := &m.in.Unix[i]; u.Err == nil && u.Socket && !listed[u.Target] {
			listed[u.Target] = true
			m.at(u.Target).unix = i
		}
	}
	if m.f.Bridge != nil {
		m.at(BridgeInside).bridge = true
	}
	for i := range m.in.Sockets {
		if n := &m.in.Sockets[i]; n.Err == nil && !listed[n.Path] {
			m.at(n.Path).socket = i
		}
	}
}

// symlinks makes the links again that lead to what is granted, where nothing else is.
func (m *mounter) symlinks() {
	for _, l := range m.in.Links {
		taken := m.spots[l.At] != nil
		for path := range m.spots {
			taken = taken || policy.Below(path, l.At)
		}
		if !taken {
			m.at(l.At).link = l.Text
		}
	}
}

// pins finds the folders that must be bound on themselves: those between the root of a
// write grant and what is protected or denied in it. Without it the folder is moved away,
// and another one is put in its place (escape matrix FS-35, TH-10).
func (m *mounter) pins() {
	folders := map[string]int{}
	m.heldAll()
	for i := range m.in.Folders {
		if n := &m.in.Folders[i]; n.Kind == NameFolder && n.Err == nil {
			folders[n.Path] = i
		}
	}
	m.walk(func(s *spot, around, here *region) {
		root := m.writeRoot(s.path)
		narrower := s.grant >= 0 && around.write && !here.write
		if root == "" || around.own || around.denied || len(s.names) == 0 && !narrower {
			return
		}
		for _, dir := range above(s.path) {
			if dir == root || !policy.Below(dir, root) {
				continue
			}
			if i, ok := folders[dir]; ok {
				m.at(dir).folder = i
				continue
			}
			m.d.refuse(&Refusal{
				Status: StatusRefused, Clause: "protect",
				Message: "the folder " + quotePath(dir) + " changed while it was looked at",
				Hint:    "start again when nothing else writes there",
			})
		}
	})
}

// heldAll refuses a run that has more to hold than it may have descriptors: what is not
// held is not protected.
func (m *mounter) heldAll() {
	for _, list := range [...][]NameFact{m.in.Names, m.in.Sockets, m.in.Folders} {
		for i := range list {
			if errors.Is(list[i].Err, unix.EMFILE) {
				m.d.refuse(&Refusal{
					Status: StatusRefused, Clause: "protect",
					Message: "there are more names to protect than descriptors may be open, from " + quotePath(list[i].Path) + " on",
					Hint:    "raise the hard limit (ulimit -Hn), or grant a smaller tree",
				})
				return
			}
		}
	}
}

// writeRoot is the outermost write grant that holds a path; "" if none does.
func (m *mounter) writeRoot(path string) string {
	for _, root := range m.roots {
		if path != root && policy.Below(path, root) {
			return root
		}
	}
	return ""
}
