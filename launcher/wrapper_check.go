package launcher

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"brainbox/internal/trustpath"
)

// Identity is who the agent runs as: the uid, gid and supplementary groups that
// the wrapper gives it. The zero Identity is root, to whom everything is
// writable: every check refuses it.
type Identity struct {
	UID    uint32
	GID    uint32
	Groups []uint32 // supplementary

	// SharedUID is the operator's statement that wrapper and agent run under one
	// uid, the host's. What that uid and its groups may write is then no reason
	// to refuse; what others may write still is (contract brainkit §1.2).
	SharedUID bool
}

// rule says who may own, and which groups may not write, a path that is to be
// out of the agent's reach.
func (who Identity) rule() (trustpath.Rule, error) {
	host := uint32(os.Geteuid())
	owners := []uint32{0, host}
	if who.SharedUID {
		if who.UID != host {
			return trustpath.Rule{}, fmt.Errorf("the agent's uid %d is said to be the host's, which is %d: %w",
				who.UID, host, fs.ErrInvalid)
		}
		return trustpath.Rule{Owners: owners}, nil
	}
	return trustpath.Rule{
		Owners: slices.DeleteFunc(owners, func(uid uint32) bool { return uid == who.UID }),
		Groups: append([]uint32{who.GID}, who.Groups...),
	}, nil
}

// CheckHelper is the check of a wrapper or killer at the host's start (contract
// brainkit §1.2): path must name a regular file with an execute bit, and neither
// it nor a directory on the way, behind symbolic links too, may be changeable by
// the agent or by others, or be owned by anyone but root and the caller. Each
// component is opened once, from held descriptors. The error names the component
// and answers to fs.ErrPermission, or fs.ErrNotExist when there is no such file.
func CheckHelper(path string, who Identity) error {
	rule, err := who.rule()
	if err == nil {
		err = wrapCheckProgram(path, rule)
	}
	if err != nil {
		return fmt.Errorf("launcher: %w", err)
	}
	return nil
}

// wrapCheckProgram is the rule for a file that is to be executed.
func wrapCheckProgram(path string, rule trustpath.Rule) error {
	mode, err := wrapOpenMode(path, rule)
	switch {
	case err != nil:
		return err
	case !mode.IsRegular():
		return &trustpath.Error{Component: path, Reason: "is not a regular file"}
	case mode.Perm()&0o111 == 0:
		return &trustpath.Error{Component: path, Reason: "has no execute bit"}
	}
	return nil
}

// wrapCheckDir is the rule for a directory in which programs are looked up.
func wrapCheckDir(path string, rule trustpath.Rule) error {
	mode, err := wrapOpenMode(path, rule)
	if err == nil && !mode.IsDir() {
		return &fs.PathError{Op: "open", Path: path, Err: syscall.ENOTDIR}
	}
	return err
}

func wrapOpenMode(path string, rule trustpath.Rule) (fs.FileMode, error) {
	file, err := trustpath.Open(path, rule)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	return info.Mode(), nil
}

// wrapIsAbsent tells a directory that is not there from one that is refused.
func wrapIsAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
