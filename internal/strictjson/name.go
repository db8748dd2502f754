package strictjson

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// ToolName reports whether s is a tool name: 1 to 128 ASCII characters, the first
// a letter, a digit or an underscore, the others also any of ". : / -" (contract
// bridge-and-gate, section A.3).
func ToolName(s string) bool {
	if s == "" || len(s) > 128 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case isDigit(c), 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '_':
		case i > 0 && (c == '.' || c == ':' || c == '/' || c == '-'):
		default:
			return false
		}
	}
	return true
}

// Escape returns s for display: printable ASCII except the backslash as it is,
// any other character as \u{hex}, a byte that is not UTF-8 as \x{hex}. Different
// strings stay different.
func Escape(s string) string {
	clean := 0
	for clean < len(s) && plain(s[clean]) {
		clean++
	}
	if clean == len(s) {
		return s
	}
	var b strings.Builder
	b.WriteString(s[:clean])
	for i := clean; i < len(s); {
		if plain(s[i]) {
			b.WriteByte(s[i])
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			b.WriteString(`\x{` + strconv.FormatUint(uint64(s[i]), 16) + "}")
		} else {
			b.WriteString(`\u{` + strconv.FormatInt(int64(r), 16) + "}")
		}
		i += n
	}
	return b.String()
}

func plain(c byte) bool { return c >= 0x20 && c < 0x7F && c != '\\' }

// display is Escape of the first bytes of s: what an error message may hold.
func display(s string) string {
	const most = 64
	if len(s) > most {
		return Escape(s[:most]) + "..."
	}
	return Escape(s)
}
