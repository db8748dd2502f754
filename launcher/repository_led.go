package launcher

import (
	"path/filepath"
	"slices"
	"strings"

	"brainbox/policy"
)

// led keeps what the configuration of a repository leads git to: the folder of its hooks,
// and files that it includes. top is the root of the working tree, where git runs hooks.
func (o *insideLook) led(repo *RepoFact, top, dir, common string) {
	files := []string{common + "/config", common + "/config.worktree"}
	if dir != common {
		files = append(files, dir+"/config.worktree")
	}
	seen := map[string]bool{}
	hooks := slices.Clone(o.hooks)
	for _, file := range files {
		hooks = append(hooks, o.includes(repo, file, seen, 0)...)
	}
	for _, h := range hooks {
		path := o.expand(top, h)
		if path == "" || seen[path] {
			continue
		}
		seen[path] = true
		path = o.parents.of(path)
		if dir := resolvedPrefix(path); policy.Below(top, dir) {
			o.hooksAround(path, dir, &repo.Entry)
			continue
		}
		o.protected(path, &repo.Entry)
	}
}

// hooksAround keeps the hooks of a folder that holds the working tree, or is it: as a whole
// it cannot be protected, so each name is that git would run.
func (o *insideLook) hooksAround(path, dir string, g *policy.Grant) {
	if path != dir && o.writable(path) {
		n := lookAt(path)
		n.Entry, n.Guard = *g, GuardName
		o.in.Names = append(o.in.Names, n)
	}
	for _, hook := range hookNames() {
		o.protected(filepath.Join(dir, hook), g)
	}
}

// hookNames are the hooks that git runs (githooks(5), git 2.52).
func hookNames() []string {
	return []string{
		"applypatch-msg", "commit-msg", "fsmonitor-watchman", "p4-changelist", "p4-post-changelist", "p4-pre-submit",
		"p4-prepare-changelist", "post-applypatch", "post-checkout", "post-commit", "post-index-change", "post-merge",
		"post-receive", "post-rewrite", "post-update", "pre-applypatch", "pre-auto-gc", "pre-commit", "pre-merge-commit",
		"pre-push", "pre-rebase", "pre-receive", "prepare-commit-msg", "proc-receive", "push-to-checkout",
		"reference-transaction", "sendemail-validate", "update",
	}
}

// includes keeps the files that a configuration includes, whatever the condition, and
// returns what it and they say about hooks (git-config(1), CONDITIONAL INCLUDES).
func (o *insideLook) includes(repo *RepoFact, file string, seen map[string]bool, depth int) (hooks []string) {
	if seen[file] || depth > maxIncludes || len(seen) > maxIncludeFiles {
		return nil
	}
	seen[file] = true
	vars, known := o.configs[file]
	if !known {
		vars, _ = readConfig(file)
	}
	hooks = hooksPaths(vars)
	for i := range vars {
		section, _, name := vars[i].split()
		if section != "include" && section != "includeif" || name != "path" {
			continue
		}
		path := o.expand(filepath.Dir(file), vars[i].Value)
		if path == "" || seen[path] {
			continue
		}
		if depth > 0 || !o.pol.Sandbox.GitConfig.V {
			o.protected(o.parents.of(path), &repo.Entry)
		}
		hooks = append(hooks, o.includes(repo, path, seen, depth+1)...)
	}
	return hooks
}

// The bounds of git itself, and one for files that include many.
const (
	maxIncludes     = 10
	maxIncludeFiles = 64
)

// hooksPaths are the values of core.hooksPath.
func hooksPaths(vars []gitVar) []string {
	var list []string
	for _, v := range vars {
		if v.Key == "core.hookspath" && v.Value != "" {
			list = append(list, v.Value)
		}
	}
	return list
}

// gitFiles reads the caller's own configuration.
func gitFiles(pl *Place) []gitVar {
	if pl.Home == "" {
		return nil
	}
	var list []gitVar
	for _, file := range [...]string{pl.xdg[0] + "/git/config", pl.Home + "/.gitconfig"} {
		vars, _ := gitVars(readSmall(file))
		list = append(list, vars...)
	}
	return list
}

// expand makes a path of a configuration absolute; "" for one that only git can expand.
func (o *insideLook) expand(base, path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if o.f.Place.Home == "" {
			return ""
		}
		return filepath.Join(o.f.Place.Home, rest)
	}
	if path == "" || path[0] == '~' || strings.HasPrefix(path, "%(") {
		return ""
	}
	return absolute(base, path)
}
