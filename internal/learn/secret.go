package learn

import (
	"strings"

	"brainbox/launcher"
	"brainbox/policy"
)

// secrets answers for the places of secrets.
type secrets struct {
	plain map[string]string // path → what is there
	star  []launcher.Critical
	dirs  map[string]bool // every folder on the way to one
}

func newSecrets(list []launcher.Critical) *secrets {
	s := &secrets{plain: map[string]string{}, dirs: map[string]bool{}}
	for _, c := range list {
		if strings.Contains(c.Path, "*") {
			s.star = append(s.star, c)
		} else {
			s.plain[c.Path] = c.What
		}
		for dir := parent(c.Path); ; dir = parent(dir) {
			s.dirs[dir] = true
			if dir == "/" {
				break
			}
		}
	}
	return s
}

// holds says what secrets are at path, or in a folder around it.
func (s *secrets) holds(path string) (what string, ok bool) {
	for at := path; ; at = parent(at) {
		if what, ok := s.plain[at]; ok {
			return what, true
		}
		for _, c := range s.star {
			if policy.MatchName(c.Path, at) {
				return c.What, true
			}
		}
		if at == "/" {
			return "", false
		}
	}
}

// around reports whether path is a folder in which a place of secrets is, or would be.
func (s *secrets) around(path string) bool { return s.dirs[path] }

// parent is the folder of an absolute clean path.
func parent(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
