package gate

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"brainbox/dirchain"
	"brainbox/gate/protect"
	"brainbox/gate/rule"
)

// Places tells the rules what a path is in truth: beneath one of the roots by its held
// descriptor, anywhere else as the kernel does. The zero value has no roots. Nothing is
// opened for reading (O_PATH, open(2)).
type Places struct{ Roots []protect.Tree }

// mostLinks is the kernel's limit, path_resolution(7).
const mostLinks = 40

// Resolve is that of [rule.Resolver].
func (p Places) Resolve(name string) (real string, exists bool, err error) {
	for _, t := range p.Roots {
		rel, ok := strings.CutPrefix(name, t.Dir())
		if !ok || rel != "" && rel[0] != '/' || climbs(rel) {
			continue // ".." after a link is for the kernel: the root reads it as text
		}
		way, err := t.Root.Follow(strings.TrimPrefix(path.Clean("/"+rel), "/"))
		if errors.Is(err, dirchain.ErrOutside) || errors.Is(err, dirchain.ErrMount) {
			break // a link leads out of it
		}
		if err != nil {
			return "", true, err
		}
		return path.Join(t.Dir(), way.Path), way.Missing == 0, nil
	}
	return lookup(name)
}

// pinned answers for the targets of a call with the places that are held: a link that is
// exchanged between two looks must not have the rules judge one place and the effect meet
// another.
type pinned struct {
	rule.Resolver // nil: paths are what they are spelled as
	held          map[string]string
}

// pin returns the resolver for one call.
func pin(r rule.Resolver, c *Call, held []*protect.Held) rule.Resolver {
	p := pinned{Resolver: r}
	for i, h := range held {
		if h.Path() == "" || climbs(c.written(c.Targets[i])) {
			continue // see also
		}
		if p.held == nil {
			p.held = map[string]string{}
		}
		p.held[c.written(c.Targets[i])] = h.Path()
	}
	if p.held == nil {
		return r
	}
	return p
}

// also adds to a question the places that are held of paths with "..": those are read as
// text where they are held, and by the kernel where a tool uses the path itself. Both are
// judged.
func (c *Call) also(q *rule.Query, held []*protect.Held) {
	for i, h := range held {
		if t := c.Targets[i]; h.Path() != "" && climbs(c.written(t)) {
			q.Targets = append(q.Targets, rule.Target{Path: h.Path(), Access: t.Access})
		}
	}
}

// written is a target as the rules have it resolved.
func (c *Call) written(t Target) string {
	base := t.Base
	if base == "" {
		base = c.Cwd
	}
	if path.IsAbs(t.Path) || base == "" {
		return t.Path
	}
	return base + "/" + t.Path
}

// Resolve is that of [rule.Resolver].
func (p pinned) Resolve(name string) (real string, exists bool, err error) {
	if real, ok := p.held[name]; ok {
		return real, true, nil
	}
	if p.Resolver == nil {
		return path.Clean(name), true, nil
	}
	return p.Resolver.Resolve(name)
}

func climbs(rel string) bool {
	return strings.HasSuffix(rel, "/..") || strings.Contains(rel, "/../")
}

// lookup follows a path from the root of the process.
func lookup(name string) (real string, exists bool, err error) {
	missing := ""
	for links := 0; links < mostLinks; {
		fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err == nil {
			real, err = os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
			_ = unix.Close(fd)
			if err != nil || !path.IsAbs(real) {
				return "", true, &fs.PathError{Op: "readlink", Path: name, Err: unix.ENOENT}
			}
			return path.Join(real, missing), missing == "", nil
		}
		if !errors.Is(err, unix.ENOENT) {
			return "", true, &fs.PathError{Op: "open", Path: name, Err: err}
		}
		name = strings.TrimRight(name, "/")
		dir, last := path.Split(name)
		if to, err := os.Readlink(name); err == nil { // a link to what is not there
			links++
			if name = to; !path.IsAbs(to) {
				name = dir + to
			}
			continue
		}
		if last == "" || last == "." || last == ".." {
			return "", true, &fs.PathError{Op: "open", Path: name, Err: unix.ENOENT}
		}
		name, missing = dir, path.Join(last, missing)
	}
	return "", true, &fs.PathError{Op: "open", Path: name, Err: unix.ELOOP}
}
