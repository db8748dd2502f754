package early

// mark is what quotes a string. No variable that a filter would pass on begins with it.
const mark = "-"

// Quote gives a string of the environment a form that does not begin with GO.
func Quote(s string) string {
	if begins(s, "GO") || begins(s, mark) {
		return mark + s
	}
	return s
}

// Unquote is the inverse of [Quote].
func Unquote(s string) string {
	if begins(s, mark) {
		return s[len(mark):]
	}
	return s
}

func hasGo(env []string) bool {
	for _, s := range env {
		if begins(s, "GO") {
			return true
		}
	}
	return false
}

func begins(s, with string) bool { return len(s) >= len(with) && s[:len(with)] == with }
