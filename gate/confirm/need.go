package confirm

import (
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"
)

// need gives a text that must be in every command that the expression matches, in the
// spelling of plainCase, or nothing. Looking for it is some hundred times faster than the
// expression, and most commands have none of the table's.
func need(source string) string {
	re, err := syntax.Parse("(?i)"+source, syntax.Perl)
	if err != nil {
		return ""
	}
	return required(re)
}

// required is the longest literal that cannot be left out.
func required(re *syntax.Regexp) string {
	switch re.Op { //nolint:exhaustive // of all others nothing is sure
	case syntax.OpLiteral:
		return plainCase(string(re.Rune))
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		longest := ""
		for _, sub := range re.Sub {
			if s := required(sub); len(s) > len(longest) {
				longest = s
			}
		}
		return longest
	}
	return ""
}

// plainCase writes every letter as the first of those that the expressions take for the
// same (unicode.SimpleFold). A byte that is not UTF-8 is U+FFFD, as for them.
func plainCase(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return strings.Map(firstOfCase, s)
		}
	}
	return strings.ToUpper(s) // of ASCII the capital is the first
}

func firstOfCase(r rune) rune {
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	return least
}
