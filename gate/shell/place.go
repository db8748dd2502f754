package shell

import (
	"path"
	"slices"
	"strings"
)

// maxDirs is how many folders a command may be in before nothing is said about
// its relative paths.
const maxDirs = 8

// place is where a command may run: one of several folders, since a cd may fail,
// or not be reached. The empty name is a folder that cannot be told.
type place struct{ dirs []string }

// lost is nowhere that is known.
func lost() place { return place{[]string{""}} }

func (r *reader) start() place {
	if r.env.Dir == "" {
		return lost()
	}
	return place{[]string{path.Clean(r.env.Dir)}}
}

// join is the place after one of two ways.
func join(a, b place) place {
	out := a
	for _, d := range b.dirs {
		if !slices.Contains(out.dirs, d) {
			out.dirs = append(slices.Clip(out.dirs), d)
		}
	}
	return out
}

func same(a, b place) bool { return slices.Equal(a.dirs, b.dirs) }

// after is where a command leaves the shell: if it succeeded, and at all.
type after struct{ ok, any place }

func stay(p place) after { return after{p, p} }

// cd moves to what its words name. More than maxDirs places are taken for trouble.
func (r *reader) cd(words []word, at place) after {
	var target *word
	physical := false
	for i := 1; i < len(words); i++ {
		w := &words[i]
		if target == nil && !w.hole && len(w.text) > 1 && w.text[0] == '-' {
			physical = physical || strings.Contains(w.text, "P")
			continue // -P, -L, -e, -@, --
		}
		if target != nil {
			return after{lost(), join(at, lost())}
		}
		target = w
	}
	to := r.destination(words[0].text, target, at)
	if physical {
		to = join(to, lost()) // links are followed first
	}
	moved := after{to, join(at, to)}
	if len(moved.any.dirs) > maxDirs {
		r.odd = true
		return after{lost(), lost()}
	}
	return moved
}

func (r *reader) destination(command string, target *word, at place) place {
	home := word{text: "~"}
	if target == nil && command == "cd" {
		target = &home
	}
	if command == "popd" || target == nil || target.text == "-" || target.text == "" {
		return lost() // a folder of before
	}
	name, known := r.expandHome(target)
	if target.hole && target.plain == "" || !known && name == target.text {
		return lost()
	}
	if target.plain != "" {
		name, known = r.expandHome(&word{text: target.plain})
	}
	var to place
	for _, d := range at.dirs {
		switch {
		case path.IsAbs(name):
			to = join(to, place{[]string{path.Clean(name)}})
		case d == "":
			to = join(to, lost())
		default:
			to = join(to, place{[]string{path.Join(d, name)}})
		}
	}
	if !known {
		to = join(to, lost())
	}
	return to
}
