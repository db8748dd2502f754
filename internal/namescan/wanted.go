package namescan

import "strings"

// wanted are the names that a caller lists, by the folder they would be in. The folders on
// the way to them are in it too: what kind of entry each is decides what is known.
type wanted map[string]*folder

type folder struct {
	names map[string]*name
	read  bool // to its end
}

type name struct {
	listed bool // by the caller, not only on the way
	found  bool
	kind   Kind
}

func newWanted(list []string) wanted {
	if len(list) == 0 {
		return nil
	}
	w := wanted{}
	for _, p := range list {
		w.add(p).listed = true
	}
	return w
}

func (w wanted) add(p string) *name {
	dir, base := split(p)
	if w[dir] == nil {
		w[dir] = &folder{names: map[string]*name{}}
		if dir != "" {
			w.add(dir)
		}
	}
	n := w[dir].names[base]
	if n == nil {
		n = &name{}
		w[dir].names[base] = n
	}
	return n
}

// split cuts a relative path before its last component; the top is "".
func split(p string) (dir, base string) {
	if i := strings.LastIndexByte(p, '/'); i >= 0 {
		return p[:i], p[i+1:]
	}
	return "", p
}

// unsure returns the names of which the scan does not know whether they exist: those in a
// folder that was not read to its end, and those behind a link.
func (w wanted) unsure(list []string) []string {
	var out []string
	for _, p := range list {
		dir, base := split(p)
		if n := w[dir].names[base]; !n.found && !w.known(dir) {
			out = append(out, p)
		}
	}
	return out
}

// known reports whether it is known what a folder holds: it was read, or there is none.
func (w wanted) known(dir string) bool {
	if w[dir].read {
		return true
	}
	if dir == "" {
		return false
	}
	up, base := split(dir)
	n := w[up].names[base]
	if n.found {
		return n.kind == File || n.kind == Socket
	}
	return w.known(up)
}
