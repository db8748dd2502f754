package protect

import (
	"unicode"
	"unicode/utf8"
)

// Fold is what both sides of every comparison of a segment go through: lower case, with
// U+0131 as i, U+017F as s and final sigma as sigma; and without the characters that are
// not seen (U+200C–U+200F, U+202A–U+202E, U+206A–U+206F, U+FEFF), unless nothing else is
// left. Bytes that are not UTF-8 stay as they are. It is idempotent.
func Fold(segment string) string {
	if plain(segment) {
		return segment
	}
	var room [64]byte
	if out := lower(strip(room[:0], segment)); out != "" {
		return out
	}
	return lower([]byte(segment)) // it names a file of its own
}

// plain says that folding changes nothing: ASCII without capitals.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || c >= 'A' && c <= 'Z' {
			return false
		}
	}
	return true
}

// strip takes out what is not seen. It works on bytes, and looks back after each: in a
// text that is not UTF-8, what is left of and right of a stripped character may together
// be one.
func strip(out []byte, s string) []byte {
	for i := range len(s) {
		out = append(out, s[i])
		if n := len(out); n >= 3 && unseen(out[n-3], out[n-2], out[n-1]) {
			out = out[:n-3]
		}
	}
	return out
}

// unseen says whether three bytes are a character that is stripped.
func unseen(a, b, c byte) bool {
	switch {
	case a == 0xE2 && b == 0x80:
		return c >= 0x8C && c <= 0x8F || c >= 0xAA && c <= 0xAE
	case a == 0xE2 && b == 0x81:
		return c >= 0xAA && c <= 0xAF
	}
	return a == 0xEF && b == 0xBB && c == 0xBF
}

func lower(s []byte) string {
	var room [64]byte
	out := room[:0]
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= 'A' && c <= 'Z' {
				c += 'a' - 'A'
			}
			out = append(out, c)
			i++
			continue
		}
		r, n := utf8.DecodeRune(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			out = append(out, c)
		case r == '\u0130': // the one capital whose lower case is two characters (SpecialCasing.txt)
			out = append(out, "i\u0307"...)
		case r == '\u0131':
			out = append(out, 'i')
		case r == '\u017f':
			out = append(out, 's')
		case r == '\u03c2':
			out = append(out, "\u03c3"...)
		default:
			out = utf8.AppendRune(out, unicode.ToLower(r))
		}
		i += n
	}
	return string(out)
}
