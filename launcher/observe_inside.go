package launcher

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"brainbox/internal/namescan"
	"brainbox/internal/sys"
	"brainbox/policy"
)

// observeInside looks at what isolation namespaces needs to know. It reads names, and
// opens what has to be held; it follows no link of a granted tree.
func (f *Facts) observeInside(p *policy.Policy) {
	o := f.newLook(p)
	o.in.Resolv = []byte(readSmall(resolvConf))
	if p.Network.Mode.V == policy.NetProxy { // for the file of hosts that is made then
		o.in.Node = nodeName()
	}
	o.in.Group = groupName(readSmall("/etc/group"), f.Place.GID)
	o.in.Hide = o.hidden()
	o.ids()
	o.links()
	o.sockets()
	o.spread()
	o.served = readSmall("/proc/self/net/unix")
	o.findRoots()
	o.scan()
	o.bound(o.served)
	o.names()
	o.folders()
}

// observeTop looks only at the names of the protect table and of the repository in the
// checkout itself: what isolation landlock needs to know to report what a run has made.
// One folder is read, and no tree is scanned.
func (f *Facts) observeTop(p *policy.Policy) {
	o := f.newLook(p)
	o.top = true
	o.findRoots()
	o.scan()
	o.names()
}

func (f *Facts) newLook(p *policy.Policy) *insideLook {
	f.Inside = &InsideFact{}
	return &insideLook{
		f: f, in: f.Inside, pol: p, parents: parents{}, gitDirs: map[string]bool{}, configs: map[string][]gitVar{},
	}
}

// insideLook is one such look.
type insideLook struct {
	f       *Facts
	in      *InsideFact
	pol     *policy.Policy
	parents parents
	roots   []scanRoot
	served  string                   // the kernel's list of Unix sockets; "" if it cannot be read
	known   map[string]namescan.Kind // table names that exist, by path
	unsure  map[string]bool          // table names of which the scan cannot tell
	found   []foundGit
	gitDirs map[string]bool     // looked at
	hooks   []string            // core.hooksPath of the caller's own configuration
	top     bool                // only the checkout's own names
	configs map[string][]gitVar // read already, by path
}

// scanRoot is a granted tree that is scanned. Those that may be written come first.
type scanRoot struct {
	path   string
	want   int
	writes bool
	git    bool // a git directory by itself
}

type foundGit struct {
	path string
	kind namescan.Kind
}

// ids finds out which ids root takes along: all that it has. Its program holds no capability,
// so they let it do nothing, but it sees whose a file is and may be started as another user;
// and the init may look for what is to be mounted where only another user may
// (user_namespaces(7)).
func (o *insideLook) ids() {
	if o.f.Place.EUID == 0 && hasCapability(unix.CAP_SETUID) && hasCapability(unix.CAP_SETGID) {
		o.in.UIDs = idRanges(readSmall("/proc/self/uid_map"))
		o.in.GIDs = idRanges(readSmall("/proc/self/gid_map"))
	}
}

// hidden are the files of an own /proc that still tell of the host and that the program could
// read: keys with the ids of their users (keyrings(7)), and for one that keeps the host's
// user 0 what only that user may read, timers with addresses and the use of every page
// (proc(5)). They are what container runtimes mask, and more of their kind; that /proc is
// read-only is Landlock's and the mount's.
func (o *insideLook) hidden() []string {
	names := []string{"keys", "key-users"}
	if o.f.Place.EUID == 0 && o.f.Identity == nil {
		names = append(names, "kcore", "kpagecgroup", "kpagecount", "kpageflags", "latency_stats", "pagetypeinfo",
			"sched_debug", "slabinfo", "timer_list", "timer_stats", "vmallocinfo")
	}
	return slices.DeleteFunc(names, func(name string) bool { return unix.Access("/proc/"+name, unix.F_OK) != nil })
}

// idRanges reads the ids that exist here from the text of /proc/self/uid_map.
func idRanges(text string) []IDRange {
	var list []IDRange
	for line := range strings.Lines(text) {
		var r IDRange
		var outside uint32
		if n, err := fmt.Sscan(line, &r.First, &outside, &r.Count); n == 3 && err == nil {
			list = append(list, r)
		}
	}
	return list
}

// links collects the links that lead to what is granted, and to what the program is told
// of: its own file, its home, the folders of its PATH.
func (o *insideLook) links() {
	seen := map[string]bool{}
	add := func(path, target string) {
		links, end, ok := linksTo(path)
		if !ok || target != "" && end != target {
			return // it changed meanwhile: the name leads nowhere inside
		}
		for _, l := range links {
			if !seen[l.At] {
				seen[l.At] = true
				o.in.Links = append(o.in.Links, l)
			}
		}
	}
	for i, w := range o.f.Wants {
		p := &o.f.Paths[i]
		if p.Err == nil && p.Target != w.Abs && w.Right.Grants() {
			add(w.Abs, p.Target)
		}
	}
	for _, u := range o.pol.Network.Unix {
		add(u.Abs, "")
	}
	for _, path := range append(strings.Split(o.f.Path, ":"), o.f.File, o.f.homeDir(), filepath.Dir(o.f.RunDir)) {
		if filepath.IsAbs(path) {
			add(filepath.Clean(path), "")
		}
	}
}

// sockets opens the sockets that the policy lists.
func (o *insideLook) sockets() {
	for _, s := range o.pol.Network.Unix {
		o.in.Unix = append(o.in.Unix, openPath(s.Abs))
	}
}

// ownPlaces are the sandbox's own, whatever is granted around them.
func ownPlaces() []string { return []string{"/proc", "/dev", "/tmp", "/run"} }

// ownDevices are those of /dev.
func ownDevices() []string {
	return []string{
		"null", "zero", "full", "random", "urandom", "tty", "console", "pts", "ptmx", "shm", "mqueue",
		"fd", "stdin", "stdout", "stderr", "core",
	}
}

// spread lists what is in a granted "/" or "/dev".
func (o *insideLook) spread() {
	for i, w := range o.f.Wants {
		p := &o.f.Paths[i]
		if p.Err != nil || !w.Right.Grants() || p.Target != "/" && p.Target != "/dev" {
			continue
		}
		names, err := sys.ReadDirNames(p.Target)
		if err != nil {
			p.Err = err
			continue
		}
		slices.Sort(names)
		for _, name := range names {
			path := filepath.Join(p.Target, name)
			if slices.Contains(ownPlaces(), path) || p.Target == "/dev" && slices.Contains(ownDevices(), name) {
				continue
			}
			n := lookAt(path)
			n.Entry = w.Grant
			switch n.Kind {
			case NameAbsent:
				continue
			case NameLink:
				if text, err := readLink(path); err == nil {
					o.in.Links = append(o.in.Links, LinkFact{At: path, Text: text})
				}
				n.close()
				continue
			case NameFolder, NameFile, NameSocket:
			}
			o.in.Spread = append(o.in.Spread, SpreadFact{Want: i, Name: n})
		}
	}
}

// groupName finds a gid in the text of /etc/group (group(5)).
func groupName(text string, gid int) string {
	want := itoa(gid)
	for line := range strings.SplitSeq(text, "\n") {
		if f := strings.Split(line, ":"); len(f) == 4 && f[2] == want {
			return f[0]
		}
	}
	return ""
}
