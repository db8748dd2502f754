package launcher

import (
	"golang.org/x/sys/unix"

	"brainbox/policy"
)

// HandedFact is what a descriptor is that the program is given as it is. Zero is a closed
// one.
type HandedFact struct {
	Mode, UID      uint32 // as stat(2) has them
	Dev, Ino, RDev uint64
	Pipe           bool // of pipe(2): a FIFO without a name
}

// handed looks at one descriptor.
func handed(fd int) HandedFact {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return HandedFact{}
	}
	var fs unix.Statfs_t
	pipe := st.Mode&unix.S_IFMT == unix.S_IFIFO && unix.Fstatfs(fd, &fs) == nil && fs.Type == unix.PIPEFS_MAGIC
	return HandedFact{Mode: st.Mode, UID: st.Uid, Dev: st.Dev, Ino: st.Ino, RDev: st.Rdev, Pipe: pipe}
}

// changeable says what of it the program may change by the descriptor alone (fchmod(2),
// utimensat(2), fsetxattr(2)), which no mount and no Landlock rule sees: its owner most, and
// whoever may write to it, although it was opened for reading, something. Who counts as
// group is not looked at. "" if nothing.
func (f *Facts) changeable(h *HandedFact) string {
	switch {
	case f.owns(h):
		return "of the program's own user: its mode, times, group and extended attributes can be changed"
	case h.Mode&0o022 != 0:
		return "that not only its owner may write: its times and extended attributes can be changed"
	}
	return ""
}

// owns reports whether the program will be the owner of what it is handed.
func (f *Facts) owns(h *HandedFact) bool {
	if f.Identity != nil {
		return h.UID == f.Identity.UID
	}
	return h.UID == uint32(f.Place.EUID)
}

// deviceInside is where isolation namespaces has the device that a descriptor is, mounted
// read-only; "" if it has not.
func (f *Facts) deviceInside(h *HandedFact) string {
	if h.Mode&unix.S_IFMT != unix.S_IFCHR {
		return ""
	}
	for i := range f.Wants {
		w, p := &f.Wants[i], &f.Paths[i]
		switch {
		case !w.Always || p.Err != nil || w.Clause != "":
		case w.Abs == "/dev/null" && h.RDev == unix.Mkdev(1, 3):
			return w.Abs
		case policy.Below(p.Target, "/dev/pts") && p.Dev == h.Dev && p.Ino == h.Ino:
			return "/dev/console"
		}
	}
	return ""
}

// metadataInside decides the clause metadata for isolation namespaces: what is mounted is
// held, and what is handed over as a descriptor is not.
func (d *planner) metadataInside() {
	c := Clause{Name: "metadata", State: StateEnforced, Mechanism: "mount namespace"}
	for i, name := range [...]string{"standard input", "standard output", "standard error"} {
		h := &d.facts.Handed[i]
		piped := d.plan.Relay[i] || d.pol.Process.OutputLimit.Set && i > 0
		if d.facts.deviceInside(h) == "" && !piped {
			c.handed(name, d.facts, h)
		}
	}
	d.add(c)
}

// handed declares one descriptor of the clause metadata.
func (c *Clause) handed(name string, f *Facts, h *HandedFact) {
	what := ""
	switch h.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		what = "a file"
	case unix.S_IFCHR, unix.S_IFBLK:
		what = "a device"
	case unix.S_IFIFO:
		if !h.Pipe {
			what = "a named pipe"
		}
	}
	how := f.changeable(h)
	if what == "" || how == "" {
		return
	}
	c.Entries = append(c.Entries, Entry{
		Value: name, State: StateOpen, Optional: true, Source: -1,
		Note: what + " " + how,
	})
	c.State, c.Mechanism = StateOpen, ""
	c.Requirement = "standard and passed descriptors that are pipes, or files that only somebody else may write"
	c.Route = "a pipe in between, such as | cat >FILE"
}

// DeclarePassed adds descriptors that are handed over beside the standard ones to what the
// clause metadata says. It looks at them, and is never part of a decision.
func (p *Plan) DeclarePassed(f *Facts, fds ...int) {
	for i := range p.Clauses {
		c := &p.Clauses[i]
		if c.Name != "metadata" || p.Isolation != "namespaces" {
			continue
		}
		for _, fd := range fds {
			h := handed(fd)
			c.handed("descriptor "+itoa(fd), f, &h)
		}
	}
}
