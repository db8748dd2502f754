package envfilter

import (
	"slices"
	"strings"
)

// entry is one variable.
type entry struct{ name, value string }

// parse reads an environment block. Entries without "=", with an empty name or
// with U+0000 are dropped; of a name that occurs twice the last counts, as with
// os/exec. The result is sorted by name.
func parse(env []string) []entry {
	list := make([]entry, 0, len(env))
	for _, kv := range env {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || name == "" || strings.IndexByte(kv, 0) >= 0 {
			continue
		}
		list = append(list, entry{name, value})
	}
	// The sort keeps the order of equal names, so the last of a group is the last
	// of the block.
	slices.SortStableFunc(list, byName)
	out := list[:0]
	for i, e := range list {
		if i+1 < len(list) && list[i+1].name == e.name {
			continue
		}
		out = append(out, e)
	}
	return out
}

func byName(a, b entry) int { return strings.Compare(a.name, b.name) }

// find returns the index of name in a sorted list, or -1.
func find(list []entry, name string) int {
	i, ok := slices.BinarySearchFunc(list, name, func(e entry, n string) int { return strings.Compare(e.name, n) })
	if !ok {
		return -1
	}
	return i
}

// ValidName reports whether s is a portable variable name: an ASCII letter or
// underscore, then letters, digits and underscores.
func ValidName(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '_':
		case i > 0 && '0' <= c && c <= '9':
		default:
			return false
		}
	}
	return s != ""
}

// nameable reports whether an operator may write s as a variable name. It is
// wider than [ValidName] because programs read names such as my.prop, but leaves
// out blanks, controls, "=", the star of a pattern and all that is not ASCII.
func nameable(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7F || c == '=' || c == '*' {
			return false
		}
	}
	return s != ""
}
