package strictjson

import (
	"strconv"
	"unicode/utf8"
)

// Append appends v as JSON text to dst: no blanks, no line end, keys in their
// order, numbers as their source text. The text is the same for equal trees.
// Characters that move a terminal's cursor or reorder its line are escaped, so
// the text may be printed. Null stands for a number whose Text is none and for
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
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c < 0x7F && c != '"' && c != '\\' {
			dst = append(dst, c)
			i++
			continue
		}
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
		case hidden(r):
			const digit = "0123456789abcdef"
			dst = append(dst, '\\', 'u', digit[r>>12&15], digit[r>>8&15], digit[r>>4&15], digit[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}

// hidden reports whether r is a control or a formatting character: the C0 and C1
// sets, line and paragraph separators, and what reorders or hides text. All are
// below U+10000, so that one escape holds them.
func hidden(r rune) bool {
	switch {
	case r < 0x20, 0x7F <= r && r <= 0x9F, r == 0xAD, r == 0x61C, r == 0x180E, r == 0xFEFF:
		return true
	case 0x200B <= r && r <= 0x200F, 0x2028 <= r && r <= 0x202E, 0x2060 <= r && r <= 0x206F:
		return true
	case 0xFFF9 <= r && r <= 0xFFFB:
		return true
	}
	return false
}
