package launcher

import (
	"strings"

	"golang.org/x/sys/unix"

	"brainbox/landlock"
	"brainbox/policy"
)

// index is the plan by path: what begins at each place that it says something about.
type index struct {
	nodes   map[string]*node
	over    map[string]*node // what stands in their place, if further grants are tried; nil: nothing
	longest int              // bytes of the longest path among them
	handled uint64           // the rights that Landlock refuses unless a rule gives them
	inside  bool             // isolation namespaces
}

// node is one such place.
type node struct {
	bits   uint64    // that the rules here give, to it and to everything below
	grants []granted // the same, one by one
	region *region   // that begins here; nil: that of the folder around it
	mount  bool      // with isolation namespaces: a mount point
	bound  bool      // and one of a grant
	made   bool      // with isolation namespaces: it is made in the sandbox's own root
	file   bool      // and it is a file there
	masked *Mount    // something empty hides it
}

// granted is what one rule gives, and the entry that it comes from.
type granted struct {
	bits  uint64
	entry *Entry // nil: none of the policy's
	says  string
}

// standing is what holds at one path.
type standing struct {
	bits    uint64 // that all rules on the way up give together
	apart   uint64 // the same without the rule of the root (see gains)
	region  *region
	mount   string // the innermost mount point that holds it
	carried bool   // it is that mount point
	masked  *Mount // that hides it, or a folder around it
}

// The rights that no policy gives, and those that make sense for a file (landlock(7)).
const (
	makeDevices = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	ofFiles     = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// handledBy are the file rights that an ABI knows. REFER is refused below ABI 2 as well, and
// no rule can give it there.
func handledBy(abi int) uint64 {
	bits := landlock.Access(landlock.WriteExec, true, abi) | makeDevices | unix.LANDLOCK_ACCESS_FS_REFER
	if abi >= landlock.IoctlDev.ABI() {
		bits |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	return bits
}

// parent is the folder that holds a path; that of "/" is "/".
func parent(path string) string {
	i := strings.LastIndexByte(path, '/')
	if i <= 0 {
		return "/"
	}
	return path[:i]
}

// at collects what holds at a path, from the path itself up to the root. It allocates nothing.
func (x *index) at(path string) (s standing) {
	for here := path; ; here = parent(here) {
		if n := x.get(here); n != nil {
			s.meet(n, here, path)
		}
		if here == "/" {
			break
		}
		s.apart = s.bits
	}
	if s.mount == "" {
		s.mount = "/"
	}
	if s.mount == "/" && !x.inside {
		s.apart = s.bits // the root's rule is the mount's own
	}
	return s
}

func (s *standing) meet(n *node, here, path string) {
	s.bits |= n.bits
	if s.region == nil {
		s.region = n.region
	}
	if s.masked == nil {
		s.masked = n.masked
	}
	if n.mount && s.mount == "" {
		s.mount, s.carried = here, here == path
	}
}

// giver is the innermost rule that gives bits; one that gives some of them if none gives all.
func (x *index) giver(path string, bits uint64) *granted {
	var some *granted
	for here := path; ; here = parent(here) {
		if n := x.get(here); n != nil {
			for i := range n.grants {
				g := &n.grants[i]
				if g.bits&bits == bits {
					return g
				}
				if g.bits&bits != 0 && some == nil {
					some = g
				}
			}
		}
		if here == "/" {
			return some
		}
	}
}

// get is the node at a path; nil if the plan says nothing about it.
func (x *index) get(path string) *node {
	if len(path) > x.longest {
		return nil
	}
	if x.over != nil {
		if n := x.over[path]; n != nil {
			return n
		}
	}
	return x.nodes[path]
}

func (x *index) node(path string) *node {
	n := x.nodes[path]
	if n == nil {
		n = &node{}
		x.nodes[path] = n
		x.longest = max(x.longest, len(path))
	}
	return n
}

func (x *index) grant(path string, bits uint64, e *Entry) {
	n := x.node(path)
	n.bits |= bits
	says := "made for the run"
	if e != nil {
		says = e.Right + " " + quotePath(e.Value) + " grants it"
	}
	n.grants = append(n.grants, granted{bits, e, says})
}

// newIndex reads a plan.
func newIndex(p *Plan, f *Facts) *index {
	abi := f.Landlock.Used()
	if abi < 1 {
		abi = landlock.Known // nothing starts; the answers are those of a kernel that has it
	}
	x := &index{nodes: map[string]*node{}, handled: handledBy(abi), inside: p.Isolation == "namespaces"}
	x.rules(p, f, abi)
	if x.inside {
		x.mounts(p, abi)
		return x
	}
	for _, at := range f.Mounts {
		x.node(at).mount = true
	}
	if p.bare() {
		return x
	}
	all := landlock.Access(landlock.WriteExec, true, abi)
	home := firstOf(f.Home.Target, f.homeDir())
	x.grant(home, all, p.named("HOME"))
	x.grant(f.tmpDir(), all, p.named("TMPDIR"))
	if len(p.GitConfig) > 0 {
		x.grant(f.RunDir+"/gitconfig", landlock.Access(landlock.Read, false, abi), nil)
	}
	return x
}

func (p *Plan) bare() bool { return p.policy != nil && p.policy.Bare != nil }

// rules are those of the ruleset that is made from the held descriptors.
func (x *index) rules(p *Plan, f *Facts, abi int) {
	for _, r := range p.Rules {
		if r.Path < 0 || r.Path >= len(f.Paths) || r.Path >= len(f.Wants) {
			continue
		}
		at, w := &f.Paths[r.Path], &f.Wants[r.Path]
		bits := landlock.Access(r.Right, at.Dir, abi)
		if r.Device && abi >= landlock.IoctlDev.ABI() {
			bits |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
		}
		path := at.Target
		if x.inside && w.Always && policy.Below(path, "/dev") {
			path = deviceName(w.Abs, path)
		}
		x.grant(path, bits, p.entryOf(w))
	}
}

// deviceName is where isolation namespaces has a device that is there in every run (see
// mounter.devices).
func deviceName(abs, target string) string {
	if policy.Below(target, "/dev/pts") {
		return "/dev/console"
	}
	return abs
}

// mounts are the regions, the mount points and what was made for the run.
func (x *index) mounts(p *Plan, abi int) {
	for path := range p.regions {
		r := p.regions[path]
		x.node(path).region = &r
	}
	root := x.node("/")
	root.made, root.mount = true, true
	if root.region == nil {
		root.region = &region{path: "/", own: true}
	}
	for i := range p.Mounts {
		m := &p.Mounts[i]
		n := x.node(m.Path)
		switch m.Kind {
		case MountDir, MountFile, MountLink:
			n.made, n.file = true, m.Kind == MountFile
		case MountFS, MountBind, MountSelf:
			n.mount, n.made, n.bound = true, true, m.Held.In == HeldPath
			n.file = false
			x.ownGrant(p, m, abi)
		case MountMask:
			n.mount, n.masked = true, m
		case MountGrant:
			x.grant(m.Path, m.access(abi), p.ownEntry(m.Path))
		}
	}
}

// ownGrant is the rule of a private folder.
func (x *index) ownGrant(p *Plan, m *Mount, abi int) {
	switch m.Held.In {
	case HeldHome:
		x.grant(m.Path, landlock.Access(landlock.WriteExec, true, abi), p.named("HOME"))
	case HeldTmp:
		x.grant(m.Path, landlock.Access(landlock.WriteExec, true, abi), p.named("TMPDIR"))
	case HeldGitConfig:
		x.grant(m.Path, landlock.Access(landlock.Read, false, abi), nil)
	case HeldNone, HeldPath, HeldName, HeldFolder, HeldSocket, HeldUnix, HeldSpread, HeldBridge:
	}
}

// entryOf is the entry that reports a want.
func (p *Plan) entryOf(w *Want) *Entry {
	return p.entry(func(e *Entry) bool {
		return e.Path == w.Abs && e.Value == w.Text && e.Source == w.Source && e.Right == w.Right.String() && e.State != StateUnused
	})
}

// named is the entry of a folder that every run has.
func (p *Plan) named(value string) *Entry {
	return p.entry(func(e *Entry) bool { return e.Value == value && e.Source == -1 })
}

// ownEntry is the entry of a place that is made for the run.
func (p *Plan) ownEntry(path string) *Entry {
	return p.entry(func(e *Entry) bool { return e.Target == path && e.State == StateEnforced && e.Right != "protect" })
}

func (p *Plan) entry(is func(*Entry) bool) *Entry {
	for i := range p.Clauses {
		c := &p.Clauses[i]
		if c.Name != "files" && c.Name != "shared_memory" && c.Name != "processes" {
			continue
		}
		for j := range c.Entries {
			if is(&c.Entries[j]) {
				return &c.Entries[j]
			}
		}
	}
	return nil
}
