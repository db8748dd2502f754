package confirm

import (
	"regexp/syntax"
	"strings"
)

// differs says what in a source RE2 takes but reads otherwise than the engine that such
// configurations were written for, or nothing.
func differs(source string) string {
	class, open := false, false // inside […], right at its start
	for i := 0; i < len(source); i++ {
		rest := source[i:]
		was := open
		open = false
		switch c := source[i]; {
		case c == '\\':
			if why := differsEscaped(rest); why != "" {
				return why
			}
			i++
		case class && c == ']' && was:
			return "a class that begins with ] means something else in JavaScript: write \\], or (?s:.) for any character"
		case class && c == ']':
			class = false
		case class && strings.HasPrefix(rest, "[:"):
			return "[: in a class means something else in JavaScript: write the letters, or \\[:"
		case class && c == '^' && was && source[i-1] == '[':
			open = true
		case !class && c == '[':
			class, open = true, true
		}
	}
	return ""
}

// differsEscaped judges a text that begins with a backslash.
func differsEscaped(rest string) string {
	if len(rest) < 2 {
		return ""
	}
	switch rest[1] {
	case 'A', 'z', 'a', 'Q', 'C', 'p', 'P':
		return rest[:2] + " means something else in JavaScript, where it is a letter: use ^, $, or a class"
	case 'x':
		if strings.HasPrefix(rest, `\x{`) {
			return `\x{ means something else in JavaScript: write \x and two digits, or the character`
		}
	}
	return ""
}

// hint says what to write in place of what RE2 does not have.
func hint(source string, bad *syntax.Error) string {
	switch {
	case strings.HasPrefix(bad.Expr, "(?=") || strings.HasPrefix(bad.Expr, "(?!") ||
		strings.Contains(source, "(?<=") || strings.Contains(source, "(?<!"):
		return " (RE2 has no look-around: write two patterns)"
	case bad.Code == syntax.ErrInvalidRepeatSize:
		return " (RE2 repeats at most 1000 times)"
	case bad.Code != syntax.ErrInvalidEscape || len(bad.Expr) < 2:
		return ""
	}
	switch c := bad.Expr[1]; {
	case c >= '1' && c <= '9' || c == 'k':
		return " (RE2 has no back-references)"
	case c == 'u' || c == 'c':
		return " (write the character itself, or \\x and two digits)"
	}
	return ""
}
