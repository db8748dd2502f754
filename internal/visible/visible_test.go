package visible

import "testing"

func TestLine(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain text stays", `open "/srv/ä": no`, `open "/srv/ä": no`},
		{"esc/TT-08 an escape sequence", "a\x1b[2Kb", `a\x1b[2Kb`},
		{"a forged second line", "a\nbrainbox: allowed", `a\nbrainbox: allowed`},
		{"a carriage return", "a\rb", `a\rb`},
		{"a C1 control", "a\u009bb", `a\u009bb`},
		{"right-to-left override", "a\u202eb", `a\u202eb`},
		{"zero width space", "a\u200bb", `a\u200bb`},
		{"a line separator", "a\u2028b", `a\u2028b`},
	} {
		if got := Line(c.in); got != c.want {
			t.Errorf("%s: Line(%q) = %q, want %q", c.name, c.in, got, c.want)
		}
	}
}
