package strictjson

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"brainbox/internal/visible"
)

// Append appends v as JSON text to dst: no blanks, no line end, keys in their
// order, numbers as their source text. The text is the same for equal trees.
// Characters that are hidden, move a terminal's cursor or reorder its line (package
// visible) are escaped, so the text may be printed. Null stands for a number whose Text is none and for
// an unknown kind; [Decode] and the constructors make neither.
func Append(dst []byte, v *Value) []byte {
	if v == nil {
		return append(dst, "null"...)
	}
	switch v.Kind {
	case KindBool:
		return strconv.AppendBool(dst, v.Bool)
	case KindNumber:
		if n := numberLen(v.Text); n > 0 && n == len(v.Text) {
			return append(dst, v.Text...)
		}
	case KindString:
		return appendString(dst, v.Text)
	case KindArray:
		dst = append(dst, '[')
		for i := range v.Items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = Append(dst, &v.Items[i])
		}
		return append(dst, ']')
	case KindObject:
		dst = append(dst, '{')
		for i := range v.Members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendString(dst, v.Members[i].Key)
			dst = append(dst, ':')
			dst = Append(dst, &v.Members[i].Value)
		}
		return append(dst, '}')
	case KindNull:
	}
	return append(dst, "null"...)
}

// AppendLine is [Append] and a line feed: one line of newline-delimited JSON.
func AppendLine(dst []byte, v *Value) []byte { return append(Append(dst, v), '\n') }

func appendString(dst []byte, s string) []byte {
	dst = append(slices.Grow(dst, len(s)+2+strings.Count(s, "\n")), '"') // most texts need no more
	for i := 0; i < len(s); {
		n := ordinary(s[i:])
		dst = append(dst, s[i:i+n]...)
		if i += n; i == len(s) {
			break
		}
		c := s[i]
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case r == '\n':
			dst = append(dst, `\n`...)
		case r == '\r':
			dst = append(dst, `\r`...)
		case r == '\t':
			dst = append(dst, `\t`...)
		case r == '\b':
			dst = append(dst, `\b`...)
		case r == '\f':
			dst = append(dst, `\f`...)
		case visible.Hidden(r):
			if r > 0xFFFF {
				high, low := utf16.EncodeRune(r)
				dst = appendUnit(dst, high)
				r = low
			}
			dst = appendUnit(dst, r)
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}

// ordinary is how many bytes s begins with that stand for themselves in any JSON string.
func ordinary(s string) int {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7F || c == '"' || c == '\\' {
			return i
		}
	}
	return len(s)
}

// appendUnit appends one unit of UTF-16 as an escape.
func appendUnit(dst []byte, r rune) []byte {
	const digit = "0123456789abcdef"
	return append(dst, '\\', 'u', digit[r>>12&15], digit[r>>8&15], digit[r>>4&15], digit[r&15])
}
