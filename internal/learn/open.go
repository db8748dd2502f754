package learn

import (
	"slices"
	"strings"

	"brainbox/launcher"
	"brainbox/policy"
)

// Host is what [Open] asks of the host's file system.
type Host interface {
	// Names lists a folder, in any order.
	Names(dir string) ([]string, error)
	// Leads says where a path leads, links resolved, and whether a link is at its end.
	Leads(path string) (target string, link bool, err error)
	// Public reports whether everybody may read a path (inode(7)).
	Public(path string) bool
	// Linked reports whether a path is a file that has another name (link(2)).
	Linked(path string) bool
}

// MaxOpen bounds how many entries [Open] lists: each is a rule and a held descriptor.
const MaxOpen = 1000

// opened are the folders of the root that [Open] lists: what is installed, and how it is set
// up. What else the root has belongs to the running system, to services, to other users, or
// is another disk with all that is on it.
func opened(path string) bool {
	for _, dir := range [...]string{"/bin", "/sbin", "/usr", "/opt", "/etc", "/nix/store", "/gnu/store"} {
		if policy.Below(path, dir) {
			return true
		}
	}
	return strings.HasPrefix(path, "/lib") // of each width of words: lib32, lib64
}

// Opened is what a program may read and execute while it is learned from.
type Opened struct {
	Paths   []string // sorted
	Skipped int      // how many names were left out because there are too many
}

// Open lists what of the host is open to a program that is learned from: what is installed,
// what everybody may read of /etc, and what is in the home folder under a name without a dot
// at its beginning, but nothing of secrets, and no folder around one: of that one, what is in it.
// No list of names is complete for what programs keep in ~/.name, so that all of it is closed.
// given are the grants of the base policy: what lies in one is not listed again, and neither
// is what they deny or protect.
func Open(h Host, home string, list []launcher.Critical, given []policy.Grant) Opened {
	o := &opener{host: h, closing: newClosing(home, list)}
	for _, g := range given {
		if g.Right == policy.RightDeny {
			o.deny = append(o.deny, g.Abs)
		} else {
			o.given = append(o.given, g.Abs)
		}
	}
	for _, dir := range []string{"/", "/nix", "/gnu"} {
		o.folder(dir)
	}
	if home != "/" && home != "" {
		o.folder(home)
	}
	slices.Sort(o.out.Paths)
	o.out.Paths = slices.Compact(o.out.Paths)
	return o.out
}

type opener struct {
	closing
	host        Host
	given, deny []string
	out         Opened
}

// folder lists one that may not be opened as a whole.
func (o *opener) folder(dir string) {
	names, err := o.host.Names(dir)
	if err != nil {
		return // nobody can list it, the program included
	}
	slices.Sort(names)
	for _, name := range names {
		o.name(strings.TrimSuffix(dir, "/") + "/" + name)
	}
}

func (o *opener) name(path string) {
	if o.shut(path) || o.outside(path) && !o.whole(path) {
		return
	}
	for _, g := range o.given {
		if policy.Below(path, g) {
			return
		}
	}
	target, link, err := o.host.Leads(path)
	switch {
	case err != nil:
		return
	case link && (o.whole(target) || o.outside(target) || o.shut(target)):
		return // what it leads to is listed where it is, or not at all
	case o.whole(path):
		if !link && !o.outside(path) {
			o.folder(path)
		}
		return
	case !o.inHome(target) && !o.host.Public(target):
		return // root would read it
	case o.host.Linked(target):
		return // Landlock's rule is of the file, and its other name may be that of a secret
	case len(o.out.Paths) >= MaxOpen:
		o.out.Skipped++
		return
	}
	o.out.Paths = append(o.out.Paths, path)
}

// shut reports whether a place is one of secrets, or denied.
func (o *opener) shut(path string) bool {
	return o.secret(path) || slices.ContainsFunc(o.deny, func(d string) bool { return policy.Below(path, d) })
}

// whole reports whether a folder is too much as a whole: something in it stays closed.
func (o *opener) whole(path string) bool {
	return o.around(path) || slices.ContainsFunc(o.deny, func(d string) bool { return policy.Below(d, path) })
}

// closing says what stays closed to a program that is learned from.
type closing struct {
	home    string
	secrets *secrets
}

func newClosing(home string, list []launcher.Critical) closing {
	return closing{home: home, secrets: newSecrets(list)}
}

// Closed says why an entry that [Open] lists may not lead to a path, links resolved; "" if it
// may. It is for who holds the entries open: somebody may have changed them since.
func Closed(home string, list []launcher.Critical, path string) string {
	c := newClosing(home, list)
	switch {
	case c.secret(path):
		return "a place of secrets"
	case c.around(path):
		return "a folder around a place of secrets"
	case c.outside(path):
		return "a place that stays closed while learning"
	}
	return ""
}

// secret reports whether a place is one of secrets, or lies in one.
func (c *closing) secret(path string) bool {
	_, secret := c.secrets.holds(path)
	return secret
}

// around reports whether something that stays closed is in a folder.
func (c *closing) around(path string) bool {
	return path == "/" || c.home != "" && policy.Below(c.home, path) || c.secrets.around(path)
}

func (c *closing) inHome(path string) bool {
	return c.home != "" && c.home != "/" && policy.Below(path, c.home)
}

// outside reports whether a place is neither installed nor one of the home that is shown.
func (c *closing) outside(path string) bool {
	if c.inHome(path) {
		return strings.HasPrefix(strings.TrimPrefix(path[len(c.home):], "/"), ".")
	}
	return !opened(path)
}
