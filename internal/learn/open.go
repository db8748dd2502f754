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
}

// MaxOpen bounds how many entries [Open] lists: each is a rule and a held descriptor.
const MaxOpen = 1000

// closed are the folders of the root that [Open] leaves out: what they hold belongs to the
// running system and to other programs, and a run has a /proc, a /dev and temporary files of
// its own.
func closed() []string {
	return []string{
		"/proc", "/sys", "/dev", "/run", "/tmp", "/var/tmp", "/var/run", "/var/lock", "/boot", "/lost+found", "/home", "/root",
	}
}

// Opened is what a program may read and execute while it is learned from.
type Opened struct {
	Paths   []string // sorted
	Skipped int      // how many names were left out because there are too many
}

// Open lists what of the host is open to a program that is learned from: what is in the root
// and in the home folder, but nothing of secrets, and no folder around one: of that one, what
// is in it. given are the grants of the base policy: what lies in one is not listed again,
// and neither is what they deny or protect.
func Open(h Host, home string, list []launcher.Critical, given []policy.Grant) Opened {
	o := &opener{host: h, home: home, secrets: newSecrets(list)}
	for _, g := range given {
		if g.Right == policy.RightDeny {
			o.deny = append(o.deny, g.Abs)
		} else {
			o.given = append(o.given, g.Abs)
		}
	}
	o.folder("/")
	if home != "" {
		o.folder(home)
	}
	slices.Sort(o.out.Paths)
	o.out.Paths = slices.Compact(o.out.Paths)
	return o.out
}

type opener struct {
	host        Host
	home        string
	secrets     *secrets
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
	if slices.Contains(closed(), path) || o.shut(path) {
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
	case link && (o.whole(target) || o.closedOff(target)):
		return // what it leads to is listed where it is, or not at all
	case o.whole(path):
		if !link {
			o.folder(path)
		}
		return
	case len(o.out.Paths) >= MaxOpen:
		o.out.Skipped++
		return
	}
	if o.shut(target) {
		return
	}
	o.out.Paths = append(o.out.Paths, path)
}

// closedOff reports whether a place lies in a folder that is left out, but not in the home.
func (o *opener) closedOff(path string) bool {
	if o.home != "" && policy.Below(path, o.home) {
		return false
	}
	return slices.ContainsFunc(closed(), func(c string) bool { return policy.Below(path, c) })
}

// shut reports whether a place is one of secrets, or denied.
func (o *opener) shut(path string) bool {
	if _, secret := o.secrets.holds(path); secret {
		return true
	}
	return slices.ContainsFunc(o.deny, func(d string) bool { return policy.Below(path, d) })
}

// whole reports whether a folder is too much as a whole: something in it stays closed.
func (o *opener) whole(path string) bool {
	inside := func(list []string) bool {
		return slices.ContainsFunc(list, func(p string) bool { return policy.Below(p, path) })
	}
	return path == "/" || o.home != "" && policy.Below(o.home, path) || o.secrets.around(path) || inside(o.deny) || inside(closed())
}
