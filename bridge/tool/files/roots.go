package files

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"brainbox/dirchain"
	"brainbox/dirchain/mask"
	"brainbox/dirchain/scratch"
	"brainbox/gate"
	"brainbox/gate/protect"
)

// Root is a directory that calls name.
type Root struct {
	Name string         // what a call names it: one to 64 of a-z, 0-9, '_' and '-'
	Dir  *dirchain.Root // whoever opened it closes it, after the Roots
	At   string         // absolute and clean: the path that tools and rules know it by; empty: Dir.Path

	// ReadOnly refuses every change.
	ReadOnly bool
	// Deny are places beneath it that nothing may change, make, move or remove, nor
	// anything in them but what Allow names. They are compared by name, after NFKC and
	// lower-casing; by identity the Protect option of Dir knows them.
	Deny, Allow []string
	// Hide are places that are denied, and that nothing is read of either.
	Hide []string
}

// What no tool changes in a repository (contract brainkit §8.3, CT11). The metadata of
// repositories further down is the judge's.
var (
	RepositoryDeny  = []string{".git", ".brain", mask.PolicyDir}
	RepositoryAllow = []string{scratch.Location}
)

// Roots are those of one session. The first is the one of calls that name none. They are
// an environment for a judge.
type Roots struct {
	all   []*root
	busy  chan struct{} // one for each search
	given Rules         // nil: none
	agent string
}

// root is one of them, made ready.
type root struct {
	Root
	at     string // absolute
	rules  rules
	hidden []*dirchain.Target // pinned: no identity of theirs is given to another file
}

// NewRoots checks the roots, and takes hold of what is hidden in them. No root may lie in
// another one.
func NewRoots(list ...Root) (*Roots, error) {
	rs := &Roots{busy: make(chan struct{}, searches)}
	for _, given := range list {
		r, err := newRoot(given)
		if err == nil {
			err = rs.apart(r)
		}
		if err != nil {
			rs.Close()
			return nil, fmt.Errorf("files: root %q: %w", given.Name, err)
		}
		rs.all = append(rs.all, r)
	}
	if len(rs.all) == 0 {
		return nil, errors.New("files: no root")
	}
	return rs, nil
}

func newRoot(given Root) (*root, error) {
	r := &root{Root: given, at: given.At}
	if given.Dir == nil {
		return nil, errors.New("it is not open")
	}
	if r.at == "" {
		r.at = given.Dir.Path()
	}
	switch {
	case !validName(given.Name):
		return nil, errors.New("its name is none")
	case !path.IsAbs(r.at) || path.Clean(r.at) != r.at || r.at == "/":
		return nil, fmt.Errorf("%q is no place for one", r.at)
	}
	var err error
	if r.rules, err = newRules(given.Deny, given.Allow, given.Hide); err != nil {
		return nil, err
	}
	for _, h := range given.Hide {
		t, err := given.Dir.Hold(h)
		if err == nil {
			r.hidden = append(r.hidden, t)
		} else if !absent(err) {
			r.close()
			return nil, err
		}
	}
	return r, nil
}

func validName(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

// apart: the root has a name and a place of its own.
func (rs *Roots) apart(r *root) error {
	for _, o := range rs.all {
		if o.Name == r.Name {
			return errors.New("there is one of that name")
		}
		for _, pair := range [...][2]string{{o.at, r.at}, {o.Dir.Path(), r.Dir.Path()}} {
			if beneath(pair[0], pair[1]) || beneath(pair[1], pair[0]) {
				return fmt.Errorf("%q and %q lie in each other", pair[0], pair[1])
			}
		}
	}
	return nil
}

// beneath: p is dir, or lies in it. Both are clean.
func beneath(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// Close lets go of what is hidden. The roots' directories stay open.
func (rs *Roots) Close() {
	for _, r := range rs.all {
		r.close()
	}
}

func (r *root) close() {
	for _, t := range r.hidden {
		t.Close()
	}
	r.hidden = nil
}

// named gives a root; the empty name is the first.
func (rs *Roots) named(name string) *root {
	for _, r := range rs.all {
		if r.Name == name || name == "" {
			return r
		}
	}
	return nil
}

// tree is a root for the judge and for rules.
func (r *root) tree() protect.Tree { return protect.Tree{Root: r.Dir, At: r.at} }

// Places resolves paths beneath all roots for rules.
func (rs *Roots) Places() gate.Places {
	var p gate.Places
	for _, r := range rs.all {
		p.Roots = append(p.Roots, r.tree())
	}
	return p
}

// Dir is that of [protect.Environment]: the first root's.
func (rs *Roots) Dir() string { return rs.all[0].at }

// Resolve is that of [protect.Environment]: by the root that the path lies in.
func (rs *Roots) Resolve(ctx context.Context, unsafePath string, entry bool) (protect.Place, error) {
	for _, r := range rs.all {
		if beneath(path.Clean(unsafePath), r.at) {
			return r.tree().Resolve(ctx, unsafePath, entry)
		}
	}
	return protect.Place{}, fmt.Errorf("%w: it is beneath none", dirchain.ErrOutside)
}

// value is how rules and people are told a path of the root: as it is in the first one,
// and absolute in every other.
func (rs *Roots) value(r *root, rel string) string {
	switch {
	case rel == "":
		return r.at
	case r == rs.all[0]:
		return rel
	}
	return r.at + "/" + rel
}

// key is the lock of a path without links (contract brainkit §7.2).
func (r *root) key(rel string) string { return "path:" + path.Join(r.at, rel) }
