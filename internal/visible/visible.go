package visible

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line returns s with every hidden character and every byte that is not UTF-8 as an
// escape, so that it stays one line and moves no cursor. Blanks stay.
func Line(s string) string {
	if clean(s) {
		return s
	}
	var b []byte
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || Hidden(r) && !unicode.Is(unicode.Zs, r) {
			b = AppendEscape(b, s[i:i+n])
		} else {
			b = append(b, s[i:i+n]...)
		}
		i += n
	}
	return string(b)
}

// clean is the common case: nothing to escape, nothing to copy.
func clean(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool {
		return r == utf8.RuneError || Hidden(r) && !unicode.Is(unicode.Zs, r)
	}) < 0
}

// blank has characters that are letters or symbols by their category and whose glyph is
// empty: the Braille pattern without dots, the null notehead, a Khitan filler, and the
// Egyptian blanks.
var blank = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x2800, Hi: 0x2800, Stride: 1}},
	R32: []unicode.Range32{
		{Lo: 0x13441, Hi: 0x13442, Stride: 1},
		{Lo: 0x16FE4, Hi: 0x16FE4, Stride: 1},
		{Lo: 0x1D159, Hi: 0x1D159, Stride: 1},
	},
}

// Hidden reports whether r shows nothing of itself or changes how others are shown: every
// control (C0, C1), formatting and bidirectional character, separators and blanks but the
// space, what Unicode lets a renderer ignore (zero width, tags, variation selectors, Hangul
// and Khmer fillers), surrogates, private use, and what is not assigned.
// The tables are those of package unicode.
func Hidden(r rune) bool {
	if r < utf8.RuneSelf {
		return r < 0x20 || r == 0x7f
	}
	return !unicode.IsPrint(r) ||
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, blank)
}

// AppendEscape appends one character, or one byte that is not UTF-8, as an escape: \n, \r,
// \t, \x1b for ASCII, \x9b for such a byte, \u{9b} for the rest.
func AppendEscape(b []byte, char string) []byte {
	const hex = "0123456789abcdef"
	switch c := char[0]; {
	case c == '\n':
		return append(b, `\n`...)
	case c == '\r':
		return append(b, `\r`...)
	case c == '\t':
		return append(b, `\t`...)
	case len(char) == 1:
		return append(b, '\\', 'x', hex[c>>4], hex[c&15])
	}
	r, _ := utf8.DecodeRuneInString(char)
	return append(strconv.AppendInt(append(b, `\u{`...), int64(r), 16), '}')
}
