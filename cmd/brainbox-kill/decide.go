package main

import (
	"errors"

	"brainbox/internal/setuid"
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
type accounts = setuid.Accounts

// target is the identity to drop to. The zero target keeps the caller's ids and
// gives up every capability.
type target struct {
	change   bool
	uid, gid uint32
}

// decide says who the killer becomes, or why it does nothing (contract brainkit
// §1.6). lookup is asked only when there are names to look up.
func decide(caller uint32, raised bool, cfg helperConfig, lookup func() (accounts, error)) (target, error) {
	if cfg.identity == nil {
		if raised {
			return target{}, errors.New("a set-uid start needs an identity, and " + execPolicy + " has none")
		}
		return target{}, nil
	}
	db, err := lookup()
	if err != nil {
		return target{}, err
	}
	to, err := setuid.Decide(caller, setuid.Config{
		User: cfg.identity.user, Group: cfg.identity.group, Callers: cfg.callers,
	}, db)
	if err != nil {
		return target{}, withHint(err)
	}
	return target{change: true, uid: to.UID, gid: to.GID}, nil
}

// withHint puts what can be done behind a refusal: the killer says one line.
func withHint(err error) error {
	var r *setuid.Refusal
	if !errors.As(err, &r) || r.Hint == "" {
		return err
	}
	return &aboutError{what: r.Message, err: errors.New(r.Hint)}
}

// aboutError says what a failure is about.
type aboutError struct {
	what string
	err  error
}

func about(what string, err error) error { return &aboutError{what, err} }

func (e *aboutError) Error() string { return e.what + ": " + e.err.Error() }

func (e *aboutError) Unwrap() error { return e.err }
