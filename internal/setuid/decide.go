package setuid

import (
	"errors"
	"io/fs"
	"slices"
	"strconv"

	"brainbox/internal/userdb"
)

// Config is [sandbox] identity and callers of exec.toml, by name or number.
type Config struct {
	User, Group string   // Group "": the user's own
	Groups      []string // supplementary
	Callers     []string // who may call besides root
}

// Accounts looks names up. Only /etc/passwd and /etc/group are asked ([userdb.DB]).
type Accounts interface {
	User(name string) (uid, gid uint32, err error)
	GID(name string) (uint32, error)
}

// Target is who the process becomes. The zero Target is root and refused by [Drop].
type Target struct {
	UID, GID uint32
	Groups   []uint32 // supplementary ones
}

// Decide says who the process becomes, or why the caller may not (contract brainkit §1.6).
// It is pure.
func Decide(caller uint32, cfg Config, db Accounts) (Target, error) {
	to, err := resolve(cfg, db)
	if err != nil {
		return Target{}, err
	}
	callers := []uint32{0}
	for _, name := range cfg.Callers {
		uid, _, err := db.User(name)
		if err != nil {
			return Target{}, about("caller", err)
		}
		if uid == to.UID {
			return Target{}, errors.New("caller " + strconv.Quote(name) + " is the identity itself")
		}
		callers = append(callers, uid)
	}
	if !slices.Contains(callers, caller) {
		return Target{}, &Refusal{
			Message: "uid " + id(caller) + " is not among the callers of /etc/brainbox/exec.toml", Err: fs.ErrPermission,
		}
	}
	return to, nil
}

func resolve(cfg Config, db Accounts) (Target, error) {
	uid, gid, err := db.User(cfg.User)
	if err != nil {
		return Target{}, about("identity user", err)
	}
	if cfg.Group != "" {
		if gid, err = db.GID(cfg.Group); err != nil {
			return Target{}, about("identity group", err)
		}
	}
	to := Target{UID: uid, GID: gid}
	for _, name := range cfg.Groups {
		g, err := db.GID(name)
		if err != nil {
			return Target{}, about("identity group", err)
		}
		to.Groups = append(to.Groups, g)
	}
	who := "identity user " + strconv.Quote(cfg.User)
	switch {
	case uid == 0:
		return Target{}, errors.New(who + " is root")
	case gid == userdb.NoID:
		return Target{}, errors.New(who + " has no group; name one")
	case gid == 0 || slices.Contains(to.Groups, 0):
		return Target{}, errors.New(who + " has the group root")
	}
	return to, nil
}

// about says what a name was for. A name that only a directory service knows can be given as
// a number: no service is asked here.
func about(what string, err error) error {
	r := &Refusal{Message: what + ": " + err.Error(), Err: err}
	if errors.Is(err, userdb.ErrUnknown) {
		r.Hint = "only /etc/passwd and /etc/group are asked: name one from there, or use the numeric id"
	}
	return r
}
