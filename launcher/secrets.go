package launcher

import (
	"path/filepath"
	"slices"
	"strings"

	"brainbox/policy"
)

// Secret says what a path holds, or lies in, that is nobody's but the operator's: keys,
// passwords, tokens; "" if nothing of that kind is known of it. It goes by names alone, those
// of [policy.Secrets]. The home folder and the root hold everything, and nothing in particular.
func (f *Facts) Secret(path string) string {
	own := f.homes()
	others := othersHomes(path)
	homes := append(others, own...)
	for _, s := range policy.Secrets() {
		if !strings.HasPrefix(s.Path, "~") {
			if holdsSecret(path, s.Path, "/") {
				return s.What
			}
			continue
		}
		for _, home := range homes {
			if holdsSecret(path, s.Expand(home), home) {
				return s.What
			}
		}
	}
	for _, home := range others {
		if policy.Below(home, path) && path != "/" && !slices.Contains(own, path) {
			return "the home folder of a user"
		}
	}
	if what := rawMemory(path); what != "" {
		return what
	}
	if base := filepath.Base(path); strings.HasPrefix(base, "id_") && !strings.HasSuffix(base, ".pub") && filepath.Base(parent(path)) == ".ssh" {
		return "keys of SSH"
	}
	return ""
}

// holdsSecret reports whether path is what the pattern stands for, lies in it, or is a folder
// below home that holds it.
func holdsSecret(path, pattern, home string) bool {
	if policy.Below(filepath.Dir(pattern), path) && path != "/" && path != home {
		return true
	}
	for at := path; at != "/"; at = parent(at) {
		if policy.MatchName(pattern, at) {
			return true
		}
	}
	return false
}

// othersHomes are the home folders of whoever a path may belong to: root can read them all.
func othersHomes(path string) []string {
	list := []string{"/root"}
	if rest, ok := strings.CutPrefix(path+"/", "/home/"); ok {
		name, _, _ := strings.Cut(rest, "/")
		list = append(list, strings.TrimSuffix("/home/"+name, "/"))
	}
	return list
}

// rawMemory says which devices hold all that the host has, on its disks or in its memory.
func rawMemory(path string) string {
	if around(path, "/proc/kcore") {
		return "the memory of the host"
	}
	name, ok := strings.CutPrefix(path, "/dev/")
	if !ok && path != "/dev" {
		return ""
	}
	switch name {
	case "mem", "kmem", "port":
		return "the memory of the host"
	}
	for _, d := range [...]string{"sd", "hd", "vd", "xvd", "nvme", "mmcblk", "dm-", "md", "loop", "nbd", "zd", "mapper", "disk", "block"} {
		if !ok || strings.HasPrefix(name, d) {
			return "a whole disk"
		}
	}
	return ""
}

// around reports whether a path lies in a place, or holds it.
func around(path, place string) bool {
	return policy.Below(path, place) || policy.Below(place, path) && path != "/"
}

// homes are the names of the caller's home folder.
func (f *Facts) homes() []string {
	var list []string
	if f.Place != nil && f.Place.Home != "" {
		list = append(list, f.Place.Home)
	}
	for _, k := range f.Critical {
		if k.What == homeFolder {
			list = append(list, k.Path)
		}
	}
	return list
}

// Secrets lists what holds secrets here: the places of brainbox itself, and those that
// [policy.Secrets] names. Paths are those of patterns ([policy.MatchName]); a place counts as
// it is spelled and, without a "*" in it, as it resolves.
func (pl *Place) Secrets() []Critical {
	list := pl.ownSecrets()
	for _, s := range policy.Secrets() {
		if path := s.Expand(pl.Home); path != "" {
			list = append(list, Critical{Path: path, What: s.What})
		}
	}
	for _, s := range list {
		if r := resolvedPrefix(s.Path); r != s.Path {
			list = append(list, Critical{Path: r, What: s.What})
		}
	}
	return list
}

// ownSecrets are the places of brainbox that only the operator may see: the key that proves
// who answers, the record of what was decided, what other runs have, and what holds them.
func (pl *Place) ownSecrets() []Critical {
	var list []Critical
	add := func(path, what string) {
		if path != "" {
			list = append(list, Critical{Path: path, What: what})
		}
	}
	add(pl.StateDir(), "the operator's key")
	add(pl.ConfigDir(), "brainbox's configuration")
	add(runsDir(pl), "the private folders of other runs")
	if dir := pl.RuntimeDir(); dir != "" {
		add(dir+"/brainbox", "the sockets of the bridge")
	}
	return list
}
