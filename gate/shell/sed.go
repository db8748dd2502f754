package shell

import "strings"

// lookSed asks unless every script is one that runs nothing and writes nothing.
func lookSed(args []word) verdict {
	script := false
	for i := 0; i < len(args); i++ {
		text := args[i].text
		switch {
		case text == "-e" || text == "--expression":
			i++
			if i == len(args) || !plainSed(&args[i]) {
				return verdict{floor: Opaque}
			}
			script = true
		case text == "-n" || text == "-E" || text == "-r" || text == "-i" || text == "-s" || text == "-z" || text == "-u" ||
			text == "-nE" || text == "-nr" || text == "-ni" || text == "--quiet" || text == "--silent" ||
			text == "--version" || text == "--help" || text == "--posix" || text == "--regexp-extended" ||
			strings.HasPrefix(text, "-i.") || text == "--in-place" || text == "--debug":
		case strings.HasPrefix(text, "-") && len(text) > 1, args[i].computed:
			return verdict{floor: Opaque} // -f, or a cluster that is not worked out
		case !script:
			if !plainSed(&args[i]) {
				return verdict{floor: Opaque}
			}
			script = true
		}
	}
	return verdict{}
}

// plainSed reads one script: addresses of digits, $ and /text/, the commands
// p d q = n N g G h H x D P, and s with the flags g p i I M and digits.
func plainSed(w *word) bool {
	s := w.text
	if w.hole {
		return false
	}
	for {
		s = strings.TrimLeft(s, " \t;\n")
		if s == "" {
			return true
		}
		var ok bool
		if s, ok = sedAddress(s); !ok {
			return false
		}
		if strings.HasPrefix(s, ",") {
			if s, ok = sedAddress(strings.TrimLeft(s[1:], " ")); !ok {
				return false
			}
		}
		s = strings.TrimLeft(s, " !")
		switch {
		case s == "":
			return false
		case s[0] == 's' || s[0] == 'y':
			if s, ok = sedSubstitute(s[1:], s[0] == 's'); !ok {
				return false
			}
		case strings.IndexByte("pdqnNgGhHxDP=", s[0]) >= 0:
			s = s[1:]
		default:
			return false
		}
		if s = strings.TrimLeft(s, " \t"); s != "" && s[0] != ';' && s[0] != '\n' {
			return false
		}
	}
}

func sedAddress(s string) (string, bool) {
	if s != "" && s[0] == '/' {
		return sedUntil(s[1:], '/', true)
	}
	return strings.TrimLeft(s, "0123456789$+~"), true
}

// sedUntil skips to behind the next delimiter that no backslash covers, and no
// bracket if it is in an expression.
func sedUntil(s string, delim byte, expr bool) (string, bool) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
		case c == '\n':
			return "", false
		case c == delim:
			return s[i+1:], true
		case c == '[' && expr:
			n := sedBracket(s[i:])
			if n == 0 {
				return "", false
			}
			i += n - 1
		}
	}
	return "", false
}

// sedBracket returns how long the bracket at the start of s is; 0 if that is not
// plain, such as [[.x.]].
func sedBracket(s string) int {
	i := 1
	if strings.HasPrefix(s[i:], "^") {
		i++
	}
	for first := true; i < len(s); i++ {
		switch {
		case s[i] == ']' && !first:
			return i + 1
		case strings.HasPrefix(s[i:], "[:"):
			end := strings.Index(s[i:], ":]")
			if end < 0 {
				return 0
			}
			i += end + 1
		case s[i] == '[' || s[i] == '\\' || s[i] == '\n':
			return 0
		}
		first = false
	}
	return 0
}

// sedSubstitute skips /…/…/flags; a y has no expression, and no brackets.
func sedSubstitute(s string, expr bool) (string, bool) {
	if s == "" || s[0] == '\\' || s[0] == '\n' || s[0] >= 0x80 {
		return "", false
	}
	delim := s[0]
	s, ok := sedUntil(s[1:], delim, expr)
	if !ok {
		return "", false
	}
	if s, ok = sedUntil(s, delim, false); !ok {
		return "", false
	}
	return strings.TrimLeft(s, "gpiIM0123456789"), true
}
