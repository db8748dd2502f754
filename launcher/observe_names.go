package launcher

import (
	"path/filepath"

	"brainbox/internal/namescan"
	"brainbox/policy"
)

// gitName is the one entry of the protect table that stands for others.
const gitName = ".git"

// isTable reports whether an entry comes from the profile's protect table.
func isTable(g *policy.Grant) bool { return g.Right == policy.RightProtect && g.Optional }

// isGitTable reports whether it is the table's .git, which stands for the parts of a
// repository and not for the folder as a whole. What an operator writes means itself.
func isGitTable(g *policy.Grant) bool { return isTable(g) && filepath.Base(g.Abs) == gitName }

// tablePaths are the places of the table's entries, for the scan to look out for.
func (o *insideLook) tablePaths() []string {
	var list []string
	for i := range o.f.Wants {
		if w := &o.f.Wants[i]; isTable(&w.Grant) {
			list = append(list, o.parents.of(w.Abs))
		}
	}
	return list
}

// names finds out what every protect and deny entry stands for.
func (o *insideLook) names() {
	for i := range o.f.Wants {
		w := &o.f.Wants[i]
		switch {
		case w.Right == policy.RightDeny:
			o.denied(i)
		case w.Right == policy.RightProtect && isTable(&w.Grant):
			o.tableName(&w.Grant)
		case w.Right == policy.RightProtect:
			o.protected(o.parents.of(w.Abs), &w.Grant)
		}
	}
	if table := o.gitTable(); table != nil {
		o.hooks = hooksPaths(gitFiles(o.f.Place))
		for _, g := range o.found {
			o.repository(g, table)
		}
		for _, r := range o.roots {
			if r.git {
				repo := &RepoFact{Path: r.path, Entry: *table}
				o.gitDir(repo, r.path)
				o.in.Repos = append(o.in.Repos, *repo)
			}
		}
	}
}

// gitTable is the table's entry for repositories; nil if the policy has none. It counts
// for every repository in a write grant, also where --no-protect takes out that of the
// checkout.
func (o *insideLook) gitTable() *policy.Grant {
	for i := range o.pol.Grants {
		if g := &o.pol.Grants[i]; isGitTable(g) {
			return g
		}
	}
	return nil
}

// denied keeps what a deny entry leads to. The name itself may change: what counts is what
// cannot be read.
func (o *insideLook) denied(i int) {
	w, p := &o.f.Wants[i], &o.f.Paths[i]
	path := p.Target
	if path == "" {
		path = o.parents.of(w.Abs)
	}
	n := lookAt(path)
	n.Entry, n.Guard = w.Grant, GuardDeny
	o.in.Names = append(o.in.Names, n)
}

// tableName keeps one name of the table. Most do not exist, and the scan knows it.
func (o *insideLook) tableName(g *policy.Grant) {
	path := o.parents.of(g.Abs)
	_, exists := o.known[path]
	switch {
	case !o.writable(path):
		return // nothing can change it
	case filepath.Base(path) == gitName && exists:
		return // names() takes all repositories apart
	case filepath.Base(path) == gitName && o.unsure[path]:
		o.unscannedGit(path, g)
	case exists, o.unsure[path]:
		o.protected(path, g)
	default:
		o.absent(path, g, filepath.Base(path) == gitName)
	}
}

// unscannedGit looks at a repository that the scan did not come to.
func (o *insideLook) unscannedGit(path string, g *policy.Grant) {
	n := lookAt(path)
	n.close()
	switch n.Kind {
	case NameAbsent:
		o.absent(path, g, true)
	case NameFolder:
		o.found = append(o.found, foundGit{path, namescan.Folder})
	case NameFile, NameLink, NameSocket:
		o.found = append(o.found, foundGit{path, namescan.Other})
	}
}

// protected keeps a name that must not change, and, where it is a link, what it leads to.
// Outside of every write grant nothing can change it; an operator's entry still says what
// may be granted inside it.
func (o *insideLook) protected(path string, g *policy.Grant) {
	if isTable(g) && !o.writable(path) {
		return
	}
	n := lookAt(path)
	n.Entry = *g
	if n.Kind != NameLink {
		o.in.Names = append(o.in.Names, n)
		return
	}
	n.Guard = GuardName // a link has no content of its own
	o.in.Names = append(o.in.Names, n)
	target := resolvedPrefix(path)
	if target == path || !o.writable(target) {
		return
	}
	end := lookAt(target)
	end.Entry = *g
	o.in.Names = append(o.in.Names, end)
}

// absent keeps a name that nothing has yet.
func (o *insideLook) absent(path string, g *policy.Grant, whole bool) {
	if o.writable(path) {
		o.in.Names = append(o.in.Names, NameFact{Path: path, Entry: *g, Whole: whole})
	}
}

// folders opens every folder between the root of a write grant and what has to stay where
// it is: the mount that holds such a folder must be made of it.
func (o *insideLook) folders() {
	seen := map[string]bool{}
	add := func(path string) {
		root := o.writeRoot(path)
		if root == "" || path == root {
			return
		}
		for dir := filepath.Dir(path); dir != root && !seen[dir]; dir = filepath.Dir(dir) {
			seen[dir] = true
			o.in.Folders = append(o.in.Folders, lookAt(dir))
		}
	}
	for _, n := range o.in.Names {
		if n.Kind != NameAbsent {
			add(n.Path)
		}
	}
	for i, w := range o.f.Wants {
		if p := &o.f.Paths[i]; p.Err == nil && w.Right.Grants() && !w.Right.Writes() && !w.Always {
			add(p.Target)
		}
	}
}
