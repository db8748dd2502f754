package launcher

import (
	"strings"
)

// gitScanner reads a git configuration text as git does (git-config(1), CONFIGURATION
// FILE). Lines end with a new line only: the caller has replaced carriage returns.
type gitScanner struct {
	rest    string
	section string // lower case; "" where it has a subsection, which no kept variable has
	full    string // lower case, with the subsection as it is: remote.Origin
	bad     bool   // it stopped at something that git refuses
}

// newGitScanner prepares a text: git reads a carriage return before a new line as part of
// it, and skips a byte order mark.
func newGitScanner(text string) gitScanner {
	return gitScanner{rest: strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "\ufeff")}
}

// next returns the next variable that has a value; ok is false at the end of the text and
// at the first error.
func (s *gitScanner) next() (name, value string, ok bool) {
	for {
		name, value, bare, ok := s.any()
		if !ok || !bare {
			return name, value, ok
		}
	}
}

// any returns the next variable. One without a value, which means true, is bare.
func (s *gitScanner) any() (name, value string, bare, ok bool) {
	for {
		s.rest = strings.TrimLeft(s.rest, " \t\n\r")
		switch {
		case s.rest == "":
			return "", "", false, false
		case s.rest[0] == '#' || s.rest[0] == ';':
			_, s.rest, _ = strings.Cut(s.rest, "\n")
		case s.rest[0] == '[':
			if !s.header() {
				s.bad = true
				return "", "", false, false
			}
		default:
			name = s.name()
			if name == "" || s.rest != "" && s.rest[0] != '=' && s.rest[0] != '\n' {
				s.bad = true
				return "", "", false, false
			}
			if s.rest == "" || s.rest[0] == '\n' {
				return name, "", true, true
			}
			s.rest = s.rest[1:]
			value, ok = s.value()
			s.bad = !ok
			return name, value, false, ok
		}
	}
}

// header reads [section] and [section "subsection"].
func (s *gitScanner) header() bool {
	end := 1
	for end < len(s.rest) && (isGitName(s.rest[end]) || s.rest[end] == '.') {
		end++
	}
	name := strings.ToLower(s.rest[1:end])
	s.rest = s.rest[end:]
	if strings.HasPrefix(s.rest, "]") {
		s.rest, s.section, s.full = s.rest[1:], name, name
		return true
	}
	s.section = ""
	s.rest = strings.TrimLeft(s.rest, " \t\r")
	if !strings.HasPrefix(s.rest, `"`) {
		return false
	}
	sub := []byte(name + ".")
	for i := 1; i < len(s.rest) && s.rest[i] != '\n'; i++ {
		switch s.rest[i] {
		case '\\':
			if i++; i == len(s.rest) || s.rest[i] == '\n' {
				return false
			}
		case '"':
			if !strings.HasPrefix(s.rest[i+1:], "]") {
				return false
			}
			s.rest, s.full = s.rest[i+2:], string(sub)
			return true
		}
		sub = append(sub, s.rest[i])
	}
	return false
}

// name reads a variable's name and the blanks after it.
func (s *gitScanner) name() string {
	end := 0
	for end < len(s.rest) && isGitName(s.rest[end]) && (end > 0 || isGitLetter(s.rest[0])) {
		end++
	}
	name := strings.ToLower(s.rest[:end])
	s.rest = strings.TrimLeft(s.rest[end:], " \t")
	return name
}

func isGitLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isGitName(c byte) bool { return isGitLetter(c) || c >= '0' && c <= '9' || c == '-' }

// value reads up to the end of the line: it undoes quotes, escapes, continued lines and
// trailing comments.
func (s *gitScanner) value() (string, bool) {
	var b strings.Builder
	s.rest = strings.TrimLeft(s.rest, " \t\r")
	quoted, end := false, 0 // end: length without trailing unquoted blanks
	for i := 0; ; i++ {
		if i >= len(s.rest) || s.rest[i] == '\n' {
			s.rest = s.rest[min(i, len(s.rest)):]
			return b.String()[:end], !quoted
		}
		switch c := s.rest[i]; {
		case c == '"':
			quoted = !quoted
			end = b.Len()
			continue
		case c == '\\':
			if i++; i >= len(s.rest) || s.rest[i] == '\n' { // continued; so it is at the end of the text
				end = b.Len() // git keeps the blanks before it
				continue
			}
			esc := strings.IndexByte(`ntb"\`, s.rest[i])
			if esc < 0 {
				return "", false
			}
			b.WriteByte("\n\t\b\"\\"[esc])
			end = b.Len()
			continue
		case (c == '#' || c == ';') && !quoted:
			_, s.rest, _ = strings.Cut(s.rest[i:], "\n")
			return b.String()[:end], true
		default:
			blank := !quoted && strings.IndexByte(" \t\r", c) >= 0
			if blank && b.Len() == 0 {
				continue
			}
			b.WriteByte(c)
			if blank {
				continue
			}
		}
		end = b.Len()
	}
}
