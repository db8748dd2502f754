package envelope

import (
	"strings"
	"unicode/utf8"
)

// RequestID reports whether s may be the id of a request:
// ^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$.
func RequestID(s string) bool {
	if s == "" || len(s) > 128 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		alnum := digit(c) || lower(c) || 'A' <= c && c <= 'Z'
		if !alnum && (i == 0 || c != '.' && c != '_' && c != ':' && c != '-') {
			return false
		}
	}
	return true
}

// Operation reports whether s may be an operation: ^[a-z][a-z0-9_-]{0,63}$.
func Operation(s string) bool { return word(s, true) }

// ErrorCode reports whether s may be the code of an error: ^[a-z][a-z0-9_]{0,63}$.
func ErrorCode(s string) bool { return word(s, false) }

func word(s string, dash bool) bool {
	if s == "" || len(s) > 64 || !lower(s[0]) {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !lower(c) && !digit(c) && c != '_' && (!dash || c != '-') {
			return false
		}
	}
	return true
}

// RefPath reports whether s may be the path of an artifact: relative, separated by slashes,
// without an empty, "." or ".." part, a backslash or a control character, at most 255 bytes.
func RefPath(s string) bool {
	if s == "" || len(s) > 255 || !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if r < 0x20 || r == '\\' || 0x7F <= r && r < 0xA0 {
			return false
		}
	}
	for part := range strings.SplitSeq(s, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return true
}

// digest reports whether s is a SHA-256 in lower-case hexadecimal digits.
func digest(s string) bool {
	if len(s) != 64 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !digit(c) && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func digit(c byte) bool { return '0' <= c && c <= '9' }
func lower(c byte) bool { return 'a' <= c && c <= 'z' }
