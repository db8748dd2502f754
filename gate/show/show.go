package show

import "strings"

const (
	// FieldMost is how many characters of a field are shown.
	FieldMost = 400
	// AgentRows is how many rows of an agent's text are shown.
	AgentRows = 24
	// AgentMark begins each row of an agent's text.
	AgentMark = "agent| "
	// MinColumns is the narrowest window that rows are made for.
	MinColumns = 24
)

// Whole returns all of s on one line. Different texts give different results.
func Whole(s string) string { return join(cells(s, mode{})) }

// Field returns s on one line of at most [FieldMost] characters, its head and tail.
func Field(s string) string { return Short(s, FieldMost) }

// Short is Field for another number of characters, at least 64.
func Short(s string, most int) string {
	if most = max(most, 64); len(s) <= most && itself(s) {
		return s
	}
	return join(fold(outer(s, mode{}), most))
}

// itself reports whether a text is shown as it is, by the narrowest of rules: ASCII, no
// backslash, and blanks one by one inside it. Most texts are so, and cost nothing.
func itself(s string) bool {
	blank := true
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c >= 0x7f || c == '\\' || c == ' ' && blank {
			return false
		}
		blank = c == ' '
	}
	return !blank || s == ""
}

func join(all []cell) string {
	var b strings.Builder
	for _, c := range all {
		b.WriteString(c.text)
	}
	return b.String()
}
