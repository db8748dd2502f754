package launcher

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"brainbox/internal/namescan"
	"brainbox/policy"
)

// findRoots chooses the trees to scan, the outermost ones: first what may be written, then
// what the operator lets be read. Folders of programs, the profile's and those of the
// system, hold nothing that is looked for and are by far the largest; a socket that
// somebody serves there is found in the kernel's list.
func (o *insideLook) findRoots() {
	for _, writes := range [...]bool{true, false} {
		var list []scanRoot
		for i, w := range o.f.Wants {
			p := &o.f.Paths[i]
			if p.Err != nil || !p.Dir || isOwn(p.Target) || w.Always || w.Clause != "" {
				continue
			}
			if !w.Right.Grants() || w.Right.Writes() != writes {
				continue
			}
			if !writes && o.fromProfile(&w) {
				continue
			}
			if !writes && o.systemFolder(p) {
				o.in.Scans = append(o.in.Scans, ScanFact{Path: p.Target, Want: i, Served: true})
				continue
			}
			list = append(list, scanRoot{path: p.Target, want: i, writes: writes, git: w.GitDir})
		}
		slices.SortStableFunc(list, func(a, b scanRoot) int { return len(a.path) - len(b.path) })
		for _, r := range list {
			if !slices.ContainsFunc(o.roots, func(outer scanRoot) bool { return policy.Below(r.path, outer.path) }) {
				o.roots = append(o.roots, r)
			}
		}
	}
}

// systemFolder reports whether a tree that an operator lets be read is, or lies in, one of
// those that hold the system's programs and what configures them, belongs to root, and is
// closed to everybody else's writing. What is decided by the place alone is not enough: /opt is also
// where a user has his own things, and then it is his. Without the kernel's list of sockets
// there is nothing to look into instead.
func (o *insideLook) systemFolder(p *PathFact) bool {
	in := func(folder string) bool { return policy.Below(p.Target, folder) }
	if o.served == "" || !in("/etc") && !slices.ContainsFunc(policy.SystemFolders(), in) {
		return false
	}
	var st unix.Stat_t
	return unix.Fstat(p.fd, &st) == nil && st.Uid == 0 && st.Mode&0o022 == 0
}

func (o *insideLook) fromProfile(w *Want) bool {
	return w.Source >= 0 && w.Source < len(o.pol.Sources) && o.pol.Sources[w.Source].Kind == policy.KindProfile
}

// isOwn reports whether a place is one of the sandbox's own that no tree of the host is
// mounted over: /proc, and what is granted as a whole below /dev stays what it is.
func isOwn(path string) bool { return policy.Below(path, "/proc") || path == "/" || path == "/dev" }

// writable reports whether a path is, or lies in, a tree that may be written.
func (o *insideLook) writable(path string) bool { return o.writeRoot(path) != "" }

// writeRoot is the outermost write grant that holds a path.
func (o *insideLook) writeRoot(path string) string {
	for _, r := range o.roots {
		if r.writes && policy.Below(path, r.path) {
			return r.path
		}
	}
	return ""
}

// scan reads the names of all trees, together at most as many as one scan may.
func (o *insideLook) scan() {
	o.known, o.unsure = map[string]namescan.Kind{}, map[string]bool{}
	table := o.tablePaths()
	left := namescan.DefaultMax
	for _, r := range o.roots {
		if r.git || o.top && !r.writes {
			continue // names() takes it apart; nothing is masked there
		}
		fact := ScanFact{Path: r.path, Writes: r.writes, Want: r.want}
		opts := namescan.Options{Max: left, Flat: o.top}
		for _, path := range table {
			if r.writes && path != r.path && policy.Below(path, r.path) {
				opts.Names = append(opts.Names, relative(path, r.path))
			}
		}
		for _, done := range o.roots {
			if done.path != r.path && policy.Below(done.path, r.path) {
				opts.Skip = append(opts.Skip, relative(done.path, r.path))
			}
		}
		if left == 0 {
			fact.Stopped = r.path
			o.doubt(r.path, opts.Names)
			o.in.Scans = append(o.in.Scans, fact)
			continue
		}
		res, err := namescan.Scan(o.f.Paths[r.want].fd, opts)
		if err != nil {
			fact.Err = err
			o.doubt(r.path, opts.Names)
		}
		left -= res.Count
		o.take(&r, &fact, &res)
		o.in.Scans = append(o.in.Scans, fact)
	}
}

// doubt says that nothing is known of names.
func (o *insideLook) doubt(root string, names []string) {
	for _, n := range names {
		o.unsure[filepath.Join(root, n)] = true
	}
}

// take keeps what one scan found.
func (o *insideLook) take(r *scanRoot, fact *ScanFact, res *namescan.Result) {
	fact.Names = res.Count
	if res.Partial {
		fact.Stopped = filepath.Join(r.path, res.Stopped)
	}
	for _, l := range [...]struct{ from, to *[]string }{{&res.Mounts, &fact.Mounts}, {&res.Unread, &fact.Unread}} {
		for _, rel := range *l.from {
			*l.to = append(*l.to, filepath.Join(r.path, rel))
		}
	}
	for _, n := range res.Names {
		o.known[filepath.Join(r.path, n.Path)] = n.Kind
	}
	o.doubt(r.path, res.Unsure)
	for _, rel := range res.Sockets {
		o.socket(filepath.Join(r.path, rel))
	}
	if r.writes {
		for _, g := range res.Git {
			o.found = append(o.found, foundGit{filepath.Join(r.path, g.Path), g.Kind})
		}
	}
}

// socket keeps a socket file that has to be masked.
func (o *insideLook) socket(path string) {
	if slices.ContainsFunc(o.in.Sockets, func(n NameFact) bool { return n.Path == path }) {
		return
	}
	if n := lookAt(path); n.Kind == NameSocket || errors.Is(n.Err, unix.EMFILE) {
		o.in.Sockets = append(o.in.Sockets, n)
	} else {
		n.close()
	}
}

// bound adds the sockets that the kernel says are served in a granted tree (proc(5),
// /proc/net/unix): those of the profile's folders, and those beyond the end of a scan. A
// path that was bound as a relative one says nothing, nor does one of another network
// namespace.
func (o *insideLook) bound(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		i := strings.IndexByte(line, '/')
		if i < 0 || i > 0 && line[i-1] != ' ' {
			continue
		}
		path := line[i:]
		if filepath.Clean(path) != path {
			continue
		}
		if path = o.parents.of(path); o.granted(path) {
			o.socket(path)
		}
	}
}

// granted reports whether a path lies in a granted tree that will be seen.
func (o *insideLook) granted(path string) bool {
	hidden := slices.ContainsFunc(ownPlaces(), func(own string) bool { return policy.Below(path, own) })
	for i, w := range o.f.Wants {
		p := &o.f.Paths[i]
		if p.Err != nil || !p.Dir || !w.Right.Grants() || hidden && p.Target == "/" {
			continue
		}
		if path != p.Target && policy.Below(path, p.Target) {
			return true
		}
	}
	return false
}

// relative is path seen from a folder that it lies in.
func relative(path, root string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, root), "/")
}
