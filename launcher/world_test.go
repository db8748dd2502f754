package launcher

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/policy"
)

// world is a file system made by hand, in the words of checkout: it is looked at as
// observeInside looks at the machine's, without a system call.
type world struct {
	host
	tree    []string
	keep    func(*InsideFact)
	after   func(*InsideFact) // the same, when the folders on the way are known
	sockets []string          // found in granted trees
}

// debian is a small machine with a merged /usr.
func debian() []string {
	return []string{
		"/usr/", "/bin -> usr/bin", "/usr/bin/", "/sbin -> usr/sbin", "/usr/sbin/", "/lib -> usr/lib", "/usr/lib/", "/lib64 -> usr/lib64",
		"/usr/lib64/", "/etc/passwd", "/etc/group", "/etc/hosts", "/etc/ld.so.cache", "/etc/alternatives/", "/etc/ssl/certs/",
		"/etc/resolv.conf -> ../run/systemd/resolve/stub-resolv.conf", "/run/systemd/resolve/stub-resolv.conf",
		"/etc/localtime -> /usr/share/zoneinfo/Etc/UTC", "/usr/share/zoneinfo/Etc/UTC", "/sys/devices/system/cpu/",
		"/dev/null", "/dev/tty", "/dev/shm/", "/dev/pts/", "/proc/", "/tmp/", "/home/u/co/", "/home/u/.cargo/bin/", "/srv/a/",
	}
}

func (w *world) kinds() (kinds map[string]NameKind, links map[string]string) {
	kinds, links = map[string]NameKind{"/": NameFolder}, map[string]string{}
	for _, n := range w.tree {
		name, target, isLink := strings.Cut(n, " -> ")
		name, isSocket := strings.CutSuffix(name, " =")
		path := strings.TrimSuffix(name, "/")
		for _, dir := range above(path) {
			if kinds[dir] == NameAbsent {
				kinds[dir] = NameFolder
			}
		}
		switch {
		case isLink:
			kinds[path], links[path] = NameLink, target
		case isSocket:
			kinds[path] = NameSocket
		case strings.HasSuffix(name, "/"):
			kinds[path] = NameFolder
		default:
			kinds[path] = NameFile
		}
	}
	return kinds, links
}

// lead follows links; it ends at "" where there is nothing.
func lead(kinds map[string]NameKind, links map[string]string, path string) (met []LinkFact, end string) {
	at := "/"
	for part := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		at = filepath.Join(at, part)
		text, ok := links[at]
		if !ok {
			continue
		}
		rest := strings.TrimPrefix(path, at)
		if !filepath.IsAbs(text) {
			text = filepath.Join(filepath.Dir(at), text)
		}
		more, end := lead(kinds, links, filepath.Clean(text)+rest)
		return append([]LinkFact{{At: at, Text: links[at]}}, more...), end
	}
	if kinds[path] == NameAbsent {
		return nil, ""
	}
	return nil, path
}

func (w *world) facts(p *policy.Policy) *Facts {
	f := w.host.facts(p)
	kinds, links := w.kinds()
	in := &InsideFact{Resolv: []byte("nameserver 192.0.2.1\n"), Node: "room", Group: "u", Hide: []string{"keys", "key-users"}}
	f.Inside = in
	seen := map[string]bool{}
	look := func(abs string) PathFact {
		met, end := lead(kinds, links, abs)
		if end == "" {
			return PathFact{Err: &fs.PathError{Op: "open", Path: abs, Err: unix.ENOENT}}
		}
		for _, l := range met {
			if !seen[l.At] {
				seen[l.At] = true
				in.Links = append(in.Links, l)
			}
		}
		return PathFact{
			Target: end, Dir: kinds[end] == NameFolder, Socket: kinds[end] == NameSocket,
			Device: strings.HasPrefix(end, "/dev/") && kinds[end] == NameFile,
		}
	}
	for i := range f.Wants {
		f.Paths[i] = look(f.Wants[i].Abs)
	}
	f.Cwd = look(testCwd)
	for _, u := range p.Network.Unix {
		in.Unix = append(in.Unix, look(u.Abs))
	}
	w.spread(f, kinds, links)
	w.names(p, f, kinds, links)
	for _, s := range w.sockets {
		in.Sockets = append(in.Sockets, NameFact{Path: s, Kind: NameSocket})
	}
	if w.keep != nil {
		w.keep(in)
	}
	w.folders(f)
	if w.after != nil {
		w.after(in)
	}
	return f
}

func (w *world) spread(f *Facts, kinds map[string]NameKind, links map[string]string) {
	for i := range f.Wants {
		top := f.Paths[i].Target
		if f.Paths[i].Err != nil || !f.Wants[i].Right.Grants() || top != "/" && top != "/dev" {
			continue
		}
		var paths []string
		for path := range kinds {
			own := slices.Contains(ownPlaces(), path) || top == "/dev" && slices.Contains(ownDevices(), filepath.Base(path))
			if filepath.Dir(path) == top && path != "/" && !own {
				paths = append(paths, path)
			}
		}
		slices.Sort(paths)
		for _, path := range paths {
			if kinds[path] == NameLink {
				f.Inside.Links = append(f.Inside.Links, LinkFact{At: path, Text: links[path]})
				continue
			}
			f.Inside.Spread = append(f.Inside.Spread, SpreadFact{Want: i, Name: NameFact{Path: path, Kind: kinds[path]}})
		}
	}
}

func (w *world) names(p *policy.Policy, f *Facts, kinds map[string]NameKind, links map[string]string) {
	add := func(path string, g policy.Grant, guard Guard, whole bool) {
		f.Inside.Names = append(f.Inside.Names, NameFact{Path: path, Kind: kinds[path], Guard: guard, Entry: g, Whole: whole})
	}
	for i := range f.Wants {
		g := f.Wants[i].Grant
		if g.Right != policy.RightProtect && g.Right != policy.RightDeny {
			continue
		}
		_, dir := lead(kinds, links, filepath.Dir(g.Abs))
		path := filepath.Join(firstOf(dir, filepath.Dir(g.Abs)), filepath.Base(g.Abs))
		_, end := lead(kinds, links, path)
		switch {
		case g.Right == policy.RightDeny:
			add(firstOf(end, path), g, GuardDeny, false)
		case isGitTable(&g) && kinds[path] == NameAbsent:
			add(path, g, GuardProtect, true)
		case isGitTable(&g):
			add(path, g, GuardName, false)
			for _, part := range []string{"hooks", "config", "config.worktree", "commondir", "info/attributes"} {
				if part != "config" || !p.Sandbox.GitConfig.V {
					add(end+"/"+part, g, GuardProtect, false)
				}
			}
		case kinds[path] == NameLink:
			add(path, g, GuardName, false)
			if end != "" {
				add(end, g, GuardProtect, false)
			}
		default:
			add(path, g, GuardProtect, false)
		}
	}
}

// folders holds every folder on the way, as folders of observe_names.go does.
func (w *world) folders(f *Facts) {
	seen := map[string]bool{}
	for i := range f.Wants {
		g, root := &f.Wants[i], &f.Paths[i]
		if root.Err != nil || g.Always || !g.Right.Writes() || g.Clause != "" {
			continue
		}
		var inner []string
		for _, n := range f.Inside.Names {
			if n.Kind != NameAbsent {
				inner = append(inner, n.Path)
			}
		}
		for j := range f.Wants {
			if f.Paths[j].Err == nil && f.Wants[j].Right.Grants() && !f.Wants[j].Right.Writes() {
				inner = append(inner, f.Paths[j].Target)
			}
		}
		for _, path := range inner {
			for _, dir := range above(path) {
				if dir != root.Target && policy.Below(dir, root.Target) && !seen[dir] {
					seen[dir] = true
					f.Inside.Folders = append(f.Inside.Folders, NameFact{Path: dir, Kind: NameFolder})
				}
			}
		}
	}
}

// showMounts writes steps down, one a line.
func showMounts(list []Mount) string {
	var b strings.Builder
	for _, m := range list {
		fmt.Fprintf(&b, "%s %s", m.Kind, m.Path)
		switch m.Kind {
		case MountDir:
			fmt.Fprintf(&b, " %04o", m.Mode)
		case MountFile:
			fmt.Fprintf(&b, " %04o %q", m.Mode, m.Data)
		case MountLink:
			fmt.Fprintf(&b, " -> %s", m.Source)
		case MountFS:
			fmt.Fprintf(&b, " %s %s", m.FSType, strings.Join(m.Options, ","))
		case MountGrant:
			fmt.Fprintf(&b, " %s file=%v device=%v list=%v", m.Right, m.File, m.Device, m.List)
		case MountBind, MountSelf, MountMask:
			fmt.Fprintf(&b, " held %d:%d", m.Held.In, m.Held.Index)
			if m.Source != "" && m.Source != m.Path {
				fmt.Fprintf(&b, " from %s", m.Source)
			}
		}
		for _, flag := range []struct {
			set  bool
			word string
		}{{m.Over, "over"}, {m.Writable, "writable"}, {m.Exec, "exec"}, {m.Devices, "devices"}, {m.Recursive, "recursive"}} {
			if flag.set {
				b.WriteString(" " + flag.word)
			}
		}
		if m.Clause != "" || m.Value != "" {
			fmt.Fprintf(&b, "  (%s %s, source %d)", m.Clause, m.Value, m.Origin)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func insidePlan(t *testing.T, w world, text string) (*Plan, *Facts) {
	t.Helper()
	p := resolve(t, text)
	if w.tree == nil {
		w.tree = debian()
	}
	f := w.facts(p)
	return newPlan(p, f, true), f
}
