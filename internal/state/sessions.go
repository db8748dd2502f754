package state

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"brainbox/internal/sys"
)

// Session is a running brainbox that an operator may watch.
type Session struct {
	ID     string // the 8 hexadecimal digits of its folder
	Socket string // the path of its ui.sock
}

// Sessions lists the operator's sockets below a runtime folder ($XDG_RUNTIME_DIR), by ID.
// Only folders and sockets of the caller's that no other may reach are listed. Who listens
// on one, and whether anybody does, is not known before it is connected.
func Sessions(runtimeDir string) ([]Session, error) {
	base := runtimeDir + "/brainbox"
	if !private(base, unix.S_IFDIR) {
		if _, err := os.Lstat(base); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, &fs.PathError{Op: "open", Path: base, Err: ErrUnsafe}
	}
	names, err := sys.ReadDirNames(base)
	if err != nil {
		return nil, err
	}
	var list []Session
	for _, name := range names {
		if IsID(name) && private(base+"/"+name, unix.S_IFDIR) && private(base+"/"+name+"/ui.sock", unix.S_IFSOCK) {
			list = append(list, Session{ID: name, Socket: base + "/" + name + "/ui.sock"})
		}
	}
	slices.SortFunc(list, func(a, b Session) int { return strings.Compare(a.ID, b.ID) })
	return list, nil
}

// IsID reports whether s is the name of a session's folder.
func IsID(s string) bool {
	return len(s) == 8 && strings.Trim(s, "0123456789abcdef") == ""
}

// private reports whether a path names a thing of that kind that is the caller's alone.
func private(path string, kind uint32) bool {
	var st unix.Stat_t
	return unix.Lstat(path, &st) == nil && st.Mode&unix.S_IFMT == kind && int(st.Uid) == os.Geteuid() && st.Mode&0o077 == 0
}
