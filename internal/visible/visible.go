package visible

import (
	"strconv"
	"strings"
	"unicode"
)

// Line returns s with every control and formatting character (Unicode Cc, Cf and
// the line separators) as an escape, so that it stays one line and moves no cursor.
func Line(s string) string {
	if strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			b.WriteString(strings.Trim(strconv.QuoteToASCII(string(r)), `"`))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func hidden(r rune) bool {
	return r < 0x20 || r >= 0x7f && r < 0xa0 || r > 0xa0 && unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}
