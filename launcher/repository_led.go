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
		if path == "" || seen[path] || policy.Below(top, path) {
			continue // the working tree itself cannot be protected as a whole
		}
		seen[path] = true
		o.protected(o.parents.of(path), &repo.Entry)
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
