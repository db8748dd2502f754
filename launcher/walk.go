package launcher

import (
	"io/fs"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// The bounds of one walk: what it reports, and how many names it looks at.
const (
	maxFindings = 1000
	maxWalked   = 10_000_000
)

// WalkGrants looks through every write grant for what no rule can hold (check --tree):
// files with another name elsewhere, set-id files, sockets of the host, and mounts. It
// adds what it finds to the clause files; it is never part of a start.
func WalkGrants(p *Plan, f *Facts) {
	g := grantWalk{found: maxFindings, names: maxWalked}
	for i, w := range f.Wants {
		if w.Always || !w.Right.Writes() || f.Paths[i].Err != nil || !f.Paths[i].Dir {
			continue
		}
		g.grant(f.Paths[i].Target, f.Paths[i].Dev, &w)
	}
	for i := range p.Clauses {
		if p.Clauses[i].Name == "files" {
			p.Clauses[i].Entries = append(p.Clauses[i].Entries, g.entries...)
		}
	}
}

// grantWalk is one walk through all write grants.
type grantWalk struct {
	entries []Entry
	found   int // how many more are reported
	names   int // how many more are looked at
}

// grant walks one tree. No link is followed.
func (g *grantWalk) grant(root string, dev uint64, w *Want) {
	seen, more := map[uint64]bool{dev: true}, 0
	report := func(path, note string) {
		g.entries = append(g.entries, Entry{
			Value: path, Path: path, Target: path, Right: w.Right.String(), State: StateOpen, Note: note, Source: w.Source,
		})
	}
	_ = filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if g.names--; g.names < 0 {
			report(path, "the walk ended here: what lies beyond was not looked at")
			return fs.SkipAll
		}
		var st unix.Stat_t
		if err != nil || unix.Lstat(path, &st) != nil {
			return nil // gone, or not ours to look at: the program cannot either
		}
		note := oddity(&st)
		if !seen[st.Dev] {
			seen[st.Dev] = true
			note = "another file system is mounted here: the grant covers it"
		}
		switch {
		case note == "":
		case g.found > 0:
			g.found--
			report(path, note)
		default:
			more++
		}
		return nil
	})
	if more > 0 {
		report(root, "and "+strconv.Itoa(more)+" more that are not listed")
	}
}

// oddity says what is open about one file of a write grant.
func oddity(st *unix.Stat_t) string {
	regular := st.Mode&unix.S_IFMT == unix.S_IFREG
	switch {
	case regular && st.Mode&(unix.S_ISUID|unix.S_ISGID) != 0:
		return "a set-id file"
	case regular && st.Nlink > 1:
		return "it has another name, which may lie outside: a write changes both"
	case st.Mode&unix.S_IFMT == unix.S_IFSOCK:
		return "a socket"
	}
	return ""
}
