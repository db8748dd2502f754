package launcher

import (
	"cmp"
	"path/filepath"
	"slices"

	"brainbox/policy"
)

// region is what holds in a part of the program's file system.
type region struct {
	path    string
	own     bool // made for the run: what is below is made, not found
	hidden  bool // nothing below is to be seen
	write   bool
	exec    bool
	devices bool
	denied  bool
	guarded bool // protected, whatever is granted below
	profile bool // its grant comes from a profile
}

// allows reports whether r gives everything that other gives.
func (r *region) allows(other *region) bool {
	return (r.write || !other.write) && (r.exec || !other.exec) && (r.devices || !other.devices)
}

// spot is one place where something happens: what is granted, held or made there.
type spot struct {
	path    string
	grant   int   // the entry of Facts.Wants that counts here; -1: none
	spread  int   // a part of a granted "/" or "/dev"; -1: none
	names   []int // of InsideFact.Names
	folder  int   // of InsideFact.Folders, if it has to be bound on itself; -1
	socket  int   // of InsideFact.Sockets; -1
	unix    int   // of InsideFact.Unix; -1
	bridge  bool  // the socket of the bridge
	private HeldIn
	own     ownKind // what the place is, whatever is granted around it
	make    []Mount // and how it comes to be
	link    string
}

// ownKind says what can be below an own place.
type ownKind uint8

const (
	ownNone    ownKind = iota
	ownFile            // nothing
	ownFolder          // what is made there
	ownForeign         // what the kernel puts there
)

func newSpot(path string) *spot {
	return &spot{path: path, grant: -1, spread: -1, folder: -1, socket: -1, unix: -1}
}

// has reports whether a name with this guard is held here.
func (s *spot) has(in *InsideFact, g Guard) (int, bool) {
	for _, i := range s.names {
		if in.Names[i].Guard == g {
			return i, true
		}
	}
	return -1, false
}

// outer is the region around a path: the last of the stack that holds it.
func outer(stack []region, path string) []region {
	for len(stack) > 1 && !policy.Below(path, stack[len(stack)-1].path) {
		stack = stack[:len(stack)-1]
	}
	return stack
}

// inOrder sorts paths so that a folder comes directly before what is inside it.
func inOrder(a, b string) int {
	for i := range min(len(a), len(b)) {
		switch {
		case a[i] == b[i]:
			continue
		case a[i] == '/':
			return -1
		case b[i] == '/':
			return 1
		}
		return cmp.Compare(a[i], b[i])
	}
	return cmp.Compare(len(a), len(b))
}

// above lists the folders above path, the outermost first, without "/".
func above(path string) []string {
	var list []string
	for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) {
		list = append(list, dir)
	}
	slices.Reverse(list)
	return list
}
