package main

import (
	"path"
	"strings"

	"brainbox/bridge/wire"
)

// rooted is a path as a call names it.
type rooted struct {
	root string // its name; empty: the bridge does not say, so that the first one is meant
	rel  string
	abs  string // the same file here; empty: not known
}

// rooter turns what a user types into paths of calls. It is pure: no link is followed.
type rooter struct {
	roots []wire.Root
	name  string   // --root; empty: found out
	cwds  []string // the current directory, in all its spellings
}

// find takes a path as any tool would: relative to the current directory where that lies
// in a root, and to the root itself where it does not.
func (r *rooter) find(arg string) (rooted, error) {
	switch {
	case arg == "" || strings.IndexByte(arg, 0) >= 0:
		return rooted{}, refuse(quote(arg)+" is no path", "")
	case climbs(arg):
		// Where ".." leads from behind a link only the kernel knows.
		return rooted{}, refuse(quote(arg)+" has \"..\" behind a name", "name the file without it")
	case r.name != "" && len(r.roots) > 0 && r.named() == nil:
		return rooted{}, refuse("the bridge has no root "+quote(r.name), "its roots: "+r.list())
	}
	if path.IsAbs(arg) {
		return r.absolute(arg)
	}
	for _, cwd := range r.cwds {
		if at, ok := r.within(path.Join(cwd, arg)); ok && r.holds(cwd) {
			return at, at.check(arg)
		}
	}
	at := rooted{root: r.name, rel: path.Clean(arg)}
	if len(r.roots) > 0 {
		root := &r.roots[0]
		if r.name != "" {
			root = r.named()
		}
		at.root, at.abs = root.Name, path.Join(root.Path, arg)
	}
	return at, at.check(arg)
}

func (r *rooter) absolute(arg string) (rooted, error) {
	if at, ok := r.within(path.Clean(arg)); ok {
		return at, at.check(arg)
	}
	hint := "its roots: " + r.list()
	if len(r.roots) == 0 {
		hint = "the bridge names no folder of its roots: give a path relative to one"
	}
	return rooted{}, refuse(quote(arg)+" is in no root of the bridge", hint)
}

// check refuses what is not below the root.
func (at *rooted) check(arg string) error {
	if at.rel == ".." || strings.HasPrefix(at.rel, "../") {
		return refuse(quote(arg)+" leads out of the root", "")
	}
	if at.rel == "." {
		return refuse(quote(arg)+" is a root itself", "")
	}
	return nil
}

// within finds the innermost root that an absolute path lies in.
func (r *rooter) within(abs string) (at rooted, ok bool) {
	best := -1
	for i := range r.roots {
		root := &r.roots[i]
		if r.name != "" && r.name != root.Name || !under(abs, root.Path) || len(root.Path) <= best {
			continue
		}
		best, ok = len(root.Path), true
		at = rooted{root: root.Name, rel: strings.TrimPrefix(strings.TrimPrefix(abs, root.Path), "/"), abs: abs}
		if at.rel == "" {
			at.rel = "."
		}
	}
	return at, ok
}

// holds reports whether a folder lies in a root.
func (r *rooter) holds(dir string) bool {
	_, ok := r.within(dir)
	return ok
}

func (r *rooter) named() *wire.Root {
	for i := range r.roots {
		if r.roots[i].Name == r.name {
			return &r.roots[i]
		}
	}
	return nil
}

func (r *rooter) list() string {
	var out []string
	for _, root := range r.roots {
		out = append(out, root.Name+" ("+quote(root.Path)+")")
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}

func under(abs, dir string) bool {
	return abs == dir || strings.HasPrefix(abs, strings.TrimSuffix(dir, "/")+"/")
}

// climbs reports whether ".." stands behind a name.
func climbs(arg string) bool {
	named := path.IsAbs(arg)
	for part := range strings.SplitSeq(arg, "/") {
		switch part {
		case "", ".":
		case "..":
			if named {
				return true
			}
		default:
			named = true
		}
	}
	return false
}
