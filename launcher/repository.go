package launcher

import (
	"errors"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"brainbox/internal/namescan"
	"brainbox/policy"
)

// repository takes a repository apart: what in it a host's git would later run or be led
// by (gitrepository-layout(5)). The name .git itself must stay, whatever kind of file has it.
func (o *insideLook) repository(g foundGit, table *policy.Grant) {
	entry := o.gitEntry(g.path, table)
	if entry == nil {
		return
	}
	repo := &RepoFact{Path: g.path, Entry: *entry}
	name := lookAt(g.path)
	name.Entry = *entry
	dir := ""
	switch name.Kind {
	case NameFolder:
		name.Guard, dir = GuardName, g.path
	case NameLink:
		name.Guard, dir = GuardName, resolvedPrefix(g.path)
	case NameFile:
		dir = gitDirOf(g.path)
	case NameAbsent, NameSocket:
	}
	o.in.Names = append(o.in.Names, name)
	if dir != "" {
		common := o.gitDir(repo, dir)
		o.led(repo, filepath.Dir(g.path), dir, common)
	}
	o.in.Repos = append(o.in.Repos, *repo)
}

// gitEntry is the policy's entry that a repository comes from: its own, or that of the
// checkout; nil where the operator lifts the protection of this very name.
func (o *insideLook) gitEntry(path string, table *policy.Grant) *policy.Grant {
	for _, p := range o.pol.Sandbox.AllowProtected {
		if o.parents.of(p.Abs) == path {
			return nil
		}
	}
	for i := range o.f.Wants {
		if g := &o.f.Wants[i].Grant; g.Right == policy.RightProtect && o.parents.of(g.Abs) == path {
			if isGitTable(g) {
				return g
			}
			return nil // the operator's own entry protects all of it
		}
	}
	return &policy.Grant{
		Path:  policy.Path{Text: path, Abs: path, Skip: true, Optional: true, Source: table.Source},
		Right: policy.RightProtect,
	}
}

// gitDirOf reads where a .git file leads; "" if it is none.
func gitDirOf(file string) string {
	line, ok := strings.CutPrefix(firstLine(readSmall(file)), "gitdir: ")
	if !ok || line == "" {
		return ""
	}
	return resolvedPrefix(absolute(filepath.Dir(file), line))
}

// gitDir keeps the parts of one git directory and of what belongs to it, and returns the
// common directory (git-worktree(1)).
func (o *insideLook) gitDir(repo *RepoFact, dir string) (common string) {
	common = dir
	if o.gitDirs[dir] || !o.writable(dir) {
		return commonOf(dir)
	}
	if o.gitDirs[dir] = true; len(o.gitDirs) > maxGitDirs {
		return common
	}
	res, fd, err := flat(dir, 0)
	if err != nil {
		o.unread(dir, &repo.Entry, err)
		return common
	}
	defer unix.Close(fd)
	for _, s := range res.Sockets {
		o.socket(filepath.Join(dir, s))
	}
	kinds := kindsOf(fd, &res)
	for _, part := range [...]string{"hooks", "config", "config.worktree", "commondir"} {
		o.part(repo, dir, part, has(kinds, part))
	}
	if has(kinds, "gitdir") { // of a linked worktree: its way back
		o.part(repo, dir, "gitdir", true)
	}
	o.part(repo, dir, "info/attributes", has(kinds, "info"))
	o.below(repo, dir, "worktrees", kinds)
	o.below(repo, dir, "modules", kinds)
	repo.ModuleDirs = append(repo.ModuleDirs, filepath.Join(dir, "modules"))
	if has(kinds, "commondir") {
		if c := commonOf(dir); c != dir {
			common = o.gitDir(repo, c)
		}
	}
	return common
}

// unread keeps a git directory that could not be read: a .git file may lead to one that
// nobody has made yet, or that is closed to the caller.
func (o *insideLook) unread(dir string, g *policy.Grant, err error) {
	n := lookAt(dir)
	n.Entry, n.Whole = *g, true
	if n.Kind != NameAbsent {
		n.Err = err
	}
	o.in.Names = append(o.in.Names, n)
}

// maxGitDirs bounds how many git directories are taken apart.
const maxGitDirs = 4096

func has(kinds map[string]namescan.Kind, name string) bool { _, ok := kinds[name]; return ok }

// commonOf reads where a git directory keeps what it shares; itself if it says nothing.
func commonOf(dir string) string {
	line := firstLine(readSmall(dir + "/commondir"))
	if line == "" {
		return dir
	}
	return resolvedPrefix(absolute(dir, line))
}

// flat reads the names of one folder, limit at most (0: as many as one scan may); the caller closes fd.
func flat(dir string, limit int) (res namescan.Result, fd int, err error) {
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS,
	}
	if fd, err = unix.Openat2(unix.AT_FDCWD, dir, &how); err != nil {
		return res, -1, err
	}
	res, err = namescan.Scan(fd, namescan.Options{Flat: true, All: true, Max: limit})
	if err != nil {
		unix.Close(fd)
	}
	return res, fd, err
}

// kindsOf are the kinds of the names in a git directory. One that an earlier run has filled
// is not read to its end: there, the names that matter are asked for.
func kindsOf(fd int, res *namescan.Result) map[string]namescan.Kind {
	kinds := make(map[string]namescan.Kind, len(res.Names))
	for _, n := range res.Names {
		kinds[n.Path] = n.Kind
	}
	if !res.Partial {
		return kinds
	}
	for _, name := range [...]string{
		"hooks", "config", "config.worktree", "commondir", "gitdir", "info", "worktrees", "modules",
	} {
		var st unix.Stat_t
		switch err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); {
		case errors.Is(err, unix.ENOENT):
		case err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR:
			kinds[name] = namescan.Folder
		default:
			kinds[name] = namescan.Other
		}
	}
	return kinds
}

// part keeps one file or folder of a git directory. --git-config leaves the configuration
// itself to the program.
func (o *insideLook) part(repo *RepoFact, dir, name string, exists bool) {
	path := filepath.Join(dir, name)
	if name == "config" || name == "config.worktree" {
		vars, ok := readConfig(path)
		o.configs[path] = vars
		repo.Configs = append(repo.Configs, ConfigFact{Path: path, Vars: vars, OK: ok})
		if name == "config" && o.pol.Sandbox.GitConfig.V {
			return
		}
	}
	if exists {
		o.protected(path, &repo.Entry)
	} else {
		o.absent(path, &repo.Entry, false)
	}
}

// below takes the folders apart in which a git directory keeps those of its linked
// worktrees and of its submodules.
func (o *insideLook) below(repo *RepoFact, dir, name string, kinds map[string]namescan.Kind) {
	at := filepath.Join(dir, name)
	switch kind, ok := kinds[name]; {
	case !ok:
		return
	case kind != namescan.Folder:
		o.protected(at, &repo.Entry) // git follows a link there; so would the program
		return
	}
	if name == "modules" {
		modules, stopped := modulesBelow(at)
		for _, module := range modules {
			repo.Modules = append(repo.Modules, module)
			o.gitDir(repo, module)
		}
		o.stopped(at, stopped)
		return
	}
	res, fd, err := flat(at, 0)
	if err != nil {
		return
	}
	unix.Close(fd)
	if res.Partial {
		o.stopped(at, at)
	}
	for _, n := range res.Names {
		if tree := filepath.Join(at, n.Path); n.Kind == namescan.Folder && !o.gitDirs[tree] {
			o.gitDirs[tree] = true
			o.worktree(repo, tree)
		}
	}
}

// stopped says that a folder of git directories was not read to its end.
func (o *insideLook) stopped(at, where string) {
	if where != "" {
		o.in.Scans = append(o.in.Scans, ScanFact{Path: at, Writes: true, Stopped: where})
	}
}

// worktree takes the part of one linked worktree apart. Where its checkout is not to be
// seen, nothing inside has any business there: git would take it for abandoned, and its
// housekeeping would remove it (git-worktree(1), prune).
func (o *insideLook) worktree(repo *RepoFact, tree string) {
	back := absolute(tree, firstLine(readSmall(tree+"/gitdir")))
	if !o.writable(resolvedPrefix(back)) || back == tree {
		o.protected(tree, &repo.Entry)
		return
	}
	for _, part := range [...]string{"commondir", "gitdir", "config.worktree"} {
		o.part(repo, tree, part, true)
	}
	if res, fd, err := flat(tree, 0); err == nil {
		kinds := kindsOf(fd, &res)
		unix.Close(fd)
		o.below(repo, tree, "modules", kinds)
		repo.ModuleDirs = append(repo.ModuleDirs, filepath.Join(tree, "modules"))
	}
}
