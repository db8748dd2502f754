package launcher

import (
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// maxFindings bounds what one walk reports.
const maxFindings = 1000

// WalkGrants looks through every write grant for what no rule can hold (check --tree):
// files with another name elsewhere, set-id files, sockets of the host, and mounts. It
// adds what it finds to the clause files; it is never part of a start.
func WalkGrants(p *Plan, f *Facts) {
	var found []Entry
	for i, w := range f.Wants {
		if w.Always || !w.Right.Writes() || f.Paths[i].Err != nil || !f.Paths[i].Dir {
			continue
		}
		found = walkGrant(found, f.Paths[i].Target, f.Paths[i].Dev, &w)
	}
	for i := range p.Clauses {
		if p.Clauses[i].Name == "files" {
			p.Clauses[i].Entries = append(p.Clauses[i].Entries, found...)
		}
	}
}

func walkGrant(found []Entry, root string, dev uint64, w *Want) []Entry {
	seen := map[uint64]bool{dev: true}
	_ = filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		var st unix.Stat_t
		if err != nil || unix.Lstat(path, &st) != nil {
			return nil // gone, or not ours to look at: the program cannot either
		}
		note := oddity(&st)
		if !seen[st.Dev] {
			seen[st.Dev] = true
			note = "another file system is mounted here: the grant covers it"
		}
		if note != "" && len(found) < maxFindings {
			found = append(found, Entry{
				Value: path, Path: path, Target: path, Right: w.Right.String(), State: StateOpen, Note: note, Source: w.Source,
			})
		}
		return nil
	})
	return found
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
