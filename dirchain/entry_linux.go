package dirchain

import (
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"
)

// Entry is one name in a directory that a walk holds. It may be used until the
// callback it was given to returns, by that goroutine.
type Entry struct {
	Path  string      // from the root, as the names are: unchecked, print it with %q
	Name  string      // the last component of Path
	Depth int         // 1 in the walked directory
	Type  fs.FileMode // the type bits alone, as the directory tells them
	Post  bool        // the second call for a directory, after its contents
	// Err is why a directory is not entered: [ErrMount], [ErrNotDirectory] when it
	// was exchanged for something else, fs.ErrNotExist, fs.ErrPermission, [ErrLimit].
	Err error

	w   *walker
	in  *level
	sub *level // the directory itself, when it is entered
}

// IsDir reports whether it is a directory.
func (e Entry) IsDir() bool { return e.Type.IsDir() }

// Stat looks at the entry in the held directory, a link as itself. Of a directory
// that is entered it tells the one that is held.
func (e Entry) Stat() (Stat, error) {
	ch, err := e.chain()
	if err != nil {
		return Stat{}, named("stat", e.Path, err)
	}
	dir, name := ch.parent(), e.Name
	if e.sub != nil && e.sub.at >= 0 {
		dir, name = e.w.ch.links[e.sub.at].fd, ""
	}
	st, err := ch.r.statAt(dir, name)
	return st, named("stat", e.Path, err)
}

// Remove removes the entry from the held directory if it still is what st says, by
// identity and type, and [ErrChanged] otherwise: what lies at the same name by now
// stays. A directory must be empty (ENOTEMPTY), nothing is opened, and of a file
// with several names this one goes. Protected places, mount points and directories
// that were moved away are refused. There is no fsync, and what another process
// puts there between the last look and unlinkat(2) is not seen: where that counts,
// use [Root.Remove].
func (e Entry) Remove(st Stat) error {
	ch, err := e.chain()
	if err == nil {
		err = ch.removeSame(strings.Split(e.Path, "/"), st)
	}
	return named("remove", e.Path, err)
}

// chain is the walk's chain down to the directory that the entry is in.
func (e Entry) chain() (*chain, error) {
	if e.w == nil || e.in.at < 0 { // its number may by now be another directory's
		return nil, fs.ErrClosed
	}
	return &chain{r: e.w.ch.r, links: e.w.ch.links[:e.in.at+1]}, nil
}

// removeSame removes one entry of the chain's last directory if it is still st.
// parts is its path from the root.
func (ch *chain) removeSame(parts []string, st Stat) error {
	r, dir, name := ch.r, ch.parent(), parts[len(parts)-1]
	if r.kind != nil {
		return r.kind
	}
	if err := r.judge(parts, append(ch.ids(), st.ID), true); err != nil {
		return err
	}
	if err := ch.exact(len(ch.links) - 1); err != nil {
		return err
	}
	if err := ch.verify(); err != nil {
		return err
	}
	if err := r.point("remove"); err != nil {
		return err
	}
	return ch.unlinkSame(dir, name, st)
}

// unlinkSame looks at an entry and removes it right after.
func (ch *chain) unlinkSame(dir int, name string, st Stat) error {
	now, err := ch.r.statAt(dir, name)
	if err != nil {
		return err
	}
	if err = st.sameEntry(now); err != nil {
		return err
	}
	if now.ID.Mount != ch.r.id.Mount {
		return ErrMount
	}
	flags := 0
	if now.Mode&unix.S_IFMT == unix.S_IFDIR {
		flags = unix.AT_REMOVEDIR
	}
	return ch.r.unlinkat(dir, name, flags)
}
