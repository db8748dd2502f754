package main

import (
	"errors"
	"io/fs"
	"slices"
	"strconv"

	"brainbox/internal/userdb"
)

// helperConfig is what the killer needs of /etc/brainbox/exec.toml. The zero
// helperConfig has no identity: everybody signals what is his own.
type helperConfig struct {
	identity *identity
	callers  []string // users, by name or number, who may call besides root
}

// identity is [sandbox] identity, by name or number. Supplementary groups do not
// matter here: the killer has none.
type identity struct{ user, group string }

// accounts looks names up.
type accounts interface {
	User(name string) (uid, gid uint32, err error)
	GID(name string) (uint32, error)
}

// target is the identity to drop to. The zero target keeps the caller's ids and
// gives up every capability.
type target struct {
	change   bool
	uid, gid uint32
}

// privilege is how the program was started.
type privilege struct {
	ruid, euid, rgid, egid uint32
	secure                 bool // AT_SECURE: the kernel raised something at execve (getauxval(3))
}

// check refuses a start with more than the caller has. The environment and the
// limits of such a start are the caller's, and this version does not shut them
// out before the Go runtime reads them.
func (p privilege) check() error {
	if p.ruid != p.euid || p.rgid != p.egid || p.secure {
		return errors.New("set-uid, set-gid and file capabilities are not supported in this version; " +
			"install the file without them and call it as root")
	}
	return nil
}

// decide says who the killer becomes, or why it does nothing (contract brainkit
// §1.6). lookup is asked only when there are names to look up.
func decide(caller uint32, cfg helperConfig, lookup func() (accounts, error)) (target, error) {
	if cfg.identity == nil {
		return target{}, nil
	}
	db, err := lookup()
	if err != nil {
		return target{}, err
	}
	to, err := resolve(*cfg.identity, db)
	if err != nil {
		return target{}, err
	}
	callers := []uint32{0}
	for _, name := range cfg.callers {
		uid, _, err := db.User(name)
		if err != nil {
			return target{}, about("caller", err)
		}
		if uid == to.uid {
			return target{}, errors.New("caller " + strconv.Quote(name) + " is the identity itself")
		}
		callers = append(callers, uid)
	}
	if !slices.Contains(callers, caller) {
		return target{}, &callerError{caller}
	}
	return to, nil
}

func resolve(id identity, db accounts) (target, error) {
	uid, gid, err := db.User(id.user)
	if err != nil {
		return target{}, about("identity user", err)
	}
	if id.group != "" {
		if gid, err = db.GID(id.group); err != nil {
			return target{}, about("identity group", err)
		}
	}
	switch {
	case uid == 0:
		return target{}, errors.New("identity user " + strconv.Quote(id.user) + " is root")
	case gid == userdb.NoID:
		return target{}, errors.New("identity user " + strconv.Quote(id.user) + " has no group; name one")
	}
	return target{change: true, uid: uid, gid: gid}, nil
}

// callerError refuses who called. It answers to fs.ErrPermission.
type callerError struct{ uid uint32 }

func (e *callerError) Error() string {
	return "uid " + strconv.FormatUint(uint64(e.uid), 10) + " is not among the callers of " + execPolicy
}

func (e *callerError) Unwrap() error { return fs.ErrPermission }

// aboutError says what a failure is about.
type aboutError struct {
	what string
	err  error
}

func about(what string, err error) error { return &aboutError{what, err} }

func (e *aboutError) Error() string { return e.what + ": " + e.err.Error() }

func (e *aboutError) Unwrap() error { return e.err }
