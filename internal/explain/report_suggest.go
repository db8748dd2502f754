package explain

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"brainbox/internal/visible"
	"brainbox/launcher"
)

// Suggestion is what would let operations through.
type Suggestion struct {
	Flag       string // for a shell; "": no flag can say it
	Line       string // for a policy file
	Note       string // what the operator should know besides
	Secret     string // if not "", what makes it one that nobody should take over unread
	Risk       string // if not "", what else the program could do then: see launcher.Remedy
	Operations int    // how many of the denials it lets through
	Certainty  Certainty

	of         []int  // the denials
	word, path string // of a flag that grants a path
}

// manyFiles is how many files of one folder, refused alike, are answered by the folder.
const manyFiles = 4

// grantRanks orders the flags that grant a path: one lets through what the other does if it has
// all of its bits.
var grantRanks = map[string]uint{"--ro": 1, "--rox": 3, "--rw": 5, "--rwx": 7}

// grantKeys are the same flags as keys of a policy.
var grantKeys = map[string]string{"--ro": "read", "--rox": "exec", "--rw": "write", "--rwx": "write_exec"}

// suggest joins the remedies of denials. Their order decides among equals.
func (r *Report) suggest(list []Denial) []Suggestion {
	var all []Suggestion
	index := map[string]int{}
	for i := range list {
		m := &list[i].Judgement.Remedy
		if m.Flag == "" && m.Line == "" {
			continue
		}
		key := m.Flag + "\n" + m.Line
		if m.Flag != "" {
			key = m.Flag
		}
		at, ok := index[key]
		if !ok {
			at = len(all)
			index[key] = at
			word, name := splitGrant(m.Flag)
			all = append(all, Suggestion{Flag: m.Flag, Line: m.Line, Note: m.Note, Risk: m.Risk, word: word, path: name})
		}
		all[at].take(list, i)
	}
	all = slices.DeleteFunc(all, func(s Suggestion) bool { return s.word != "" && holdsHome(s.path, r.Home) })
	for i := range all {
		all[i].Secret = r.secret(all[i].path)
	}
	all = joinCovered(r.joinFolders(all, list), list)
	slices.SortStableFunc(all, func(a, b Suggestion) int {
		if a.Certainty != b.Certainty {
			return int(b.Certainty) - int(a.Certainty)
		}
		return b.Operations - a.Operations
	})
	return all
}

// take lets a suggestion have one more denial.
func (s *Suggestion) take(list []Denial, i int) {
	if slices.Contains(s.of, i) {
		return
	}
	s.of = append(s.of, i)
	s.Operations++
	s.Certainty = max(s.Certainty, list[i].Certainty)
}

// joinFolders suggests a folder once for many of its files.
func (r *Report) joinFolders(all []Suggestion, list []Denial) []Suggestion {
	type folder struct{ word, path string }
	members := map[folder]int{}
	of := func(s *Suggestion) folder { return folder{s.word, path.Dir(s.path)} }
	// Files alone: a folder that is suggested for what was to be made in it is wide enough.
	fit := func(s *Suggestion) bool {
		return s.word != "" && s.Note == "" && s.alone() == "" && s.path == list[s.of[0]].Path && list[s.of[0]].Kind != launcher.KindFolder
	}
	for i := range all {
		if s := &all[i]; fit(s) && r.wide(s.word, path.Dir(s.path)) {
			members[of(s)]++
		}
	}
	var out []Suggestion
	at := map[folder]int{}
	for i := range all {
		s := &all[i]
		if !fit(s) || members[of(s)] < manyFiles {
			out = append(out, *s)
			continue
		}
		k, ok := at[of(s)]
		if !ok {
			k = len(out)
			at[of(s)] = k
			dir := path.Dir(s.path)
			out = append(out, Suggestion{
				Flag: s.word + " " + shellWord(dir), Line: grantLine(s.word, dir), word: s.word, path: dir,
				Note: "the folder of " + strconv.Itoa(members[of(s)]) + " of them",
			})
		}
		for _, d := range s.of {
			out[k].take(list, d)
		}
	}
	return out
}

// joinCovered leaves out what another suggestion grants too.
func joinCovered(all []Suggestion, list []Denial) []Suggestion {
	at := map[string][]int{} // by path
	for i := range all {
		if all[i].word != "" {
			at[all[i].path] = append(at[all[i].path], i)
		}
	}
	by := slices.Repeat([]int{-1}, len(all)) // which one has it; -1: none
	for i := range all {
		for dir := all[i].path; dir != "" && by[i] < 0; dir = above(dir) {
			for _, k := range at[dir] {
				if k != i && by[k] != i && all[k].covers(&all[i]) {
					by[i] = k
				}
			}
		}
	}
	var out []Suggestion
	for i := range all {
		k := i
		for by[k] >= 0 {
			k = by[k]
		}
		for _, d := range all[i].of {
			all[k].take(list, d)
		}
	}
	for i := range all {
		if by[i] < 0 {
			out = append(out, all[i])
		}
	}
	return out
}

// above is the folder that holds a path; "" above the root.
func above(name string) string {
	if name == "/" || name == "" {
		return ""
	}
	return path.Dir(name)
}

func (s *Suggestion) covers(other *Suggestion) bool {
	mine, its := grantRanks[s.word], grantRanks[other.word]
	switch {
	case its == 0 || mine&its != its || !below(other.path, s.path):
		return false
	case s.Certainty < other.Certainty: // it would be wider than what is known to be enough
		return false
	}
	return other.alone() == "" || s.alone() != ""
}

// below reports whether a clean absolute path is dir or in it.
func below(name, dir string) bool {
	return name == dir || dir == "/" || strings.HasPrefix(name, dir+"/")
}

// holdsHome reports whether a grant of a path would be one of the whole system, or of all that
// the user has.
func holdsHome(name, home string) bool {
	return name == "/" || home != "" && below(home, name)
}

// wide reports whether a folder may be suggested although only files of it were asked for:
// those at the top of the file system have everything, and those of the kernel are no files.
func (r *Report) wide(word, dir string) bool {
	if holdsHome(dir, r.Home) || strings.Count(dir, "/") < 2 || r.secret(dir) != "" ||
		r.Trusted != nil && grantRanks[word]&4 != 0 && r.Trusted(dir) != "" {
		return false
	}
	for _, top := range []string{"/proc", "/sys", "/dev", "/run"} {
		if below(dir, top) {
			return false
		}
	}
	base := path.Base(dir)
	return base != ".config" && base != ".local" && base != ".git" && path.Dir(dir) != "/home"
}

// splitGrant takes a flag that grants a path apart; "", "" if it is none, or its path is not
// spelled as shellWord does.
func splitGrant(flag string) (word, name string) {
	word, rest, _ := strings.Cut(flag, " ")
	if grantRanks[word] == 0 {
		return "", ""
	}
	name = rest
	if len(rest) > 1 && rest[0] == '\'' && rest[len(rest)-1] == '\'' {
		name = strings.ReplaceAll(rest[1:len(rest)-1], `'\''`, "'")
	}
	if name == "" || name[0] != '/' || path.Clean(name) != name || shellWord(name) != rest {
		return "", ""
	}
	return word, name
}

// grantLine is a grant in a policy; "" for a name that TOML has no spelling for.
func grantLine(word, name string) string {
	if !utf8.ValidString(name) {
		return ""
	}
	var b strings.Builder
	for _, c := range name {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case visible.Hidden(c) && c != ' ':
			fmt.Fprintf(&b, `\U%08x`, c)
		default:
			b.WriteRune(c)
		}
	}
	return "[filesystem]\n" + grantKeys[word] + ` = ["` + b.String() + `"]`
}

func (r *Report) secret(name string) string {
	if r.Secret == nil || name == "" {
		return ""
	}
	return r.Secret(name)
}

// typable reports whether a flag, shown on a terminal, is what has to be typed:
// a name has nothing hidden, and the flag no word that stands for another, nor does it give a
// folder at the top of the file system or the host's network away.
func (s *Suggestion) typable() bool {
	if grantRanks[s.word]&4 != 0 && strings.Count(s.path, "/") == 1 {
		return false // all of /etc, say: not by copying a line
	}
	return s.Flag != "" && visible.Line(s.Flag) == s.Flag && !standsIn(s.Flag) && s.Flag != "--net host"
}

// standsIn reports whether a flag ends in a word that stands for what is to be put there.
func standsIn(flag string) bool {
	for _, word := range [...]string{" FILE", " PATH", " NAME", " PORT"} {
		if strings.HasSuffix(flag, word) {
			return true
		}
	}
	return false
}

// shellWord spells a path so that a shell takes it for one word and nothing else.
func shellWord(name string) string {
	for i := range len(name) {
		c := name[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("/._-+:@%,=", c) >= 0:
		default:
			return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
		}
	}
	return name
}
