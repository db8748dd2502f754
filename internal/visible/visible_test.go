package visible

import (
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestLine(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain text stays", `open "/srv/ä": no`, `open "/srv/ä": no`},
		{"a replacement character that is one", "a\ufffdb", "a\ufffdb"},
		{"esc/TT-08 an escape sequence", "a\x1b[2Kb", `a\x1b[2Kb`},
		{"a forged second line", "a\nbrainbox: allowed", `a\nbrainbox: allowed`},
		{"a carriage return", "a\rb", `a\rb`},
		{"a C1 control", "a\u009bb", `a\u{9b}b`},
		{"a C1 control as a byte of its own", "a\x9bb", `a\x9bb`},
		{"right-to-left override", "a\u202eb", `a\u{202e}b`},
		{"zero width space", "a\u200bb", `a\u{200b}b`},
		{"a line separator", "a\u2028b", `a\u{2028}b`},
		{"a tag", "a\U000e0041b", `a\u{e0041}b`},
		{"a variation selector", "a\ufe0fb", `a\u{fe0f}b`},
		{"a Hangul filler", "a\u3164b", `a\u{3164}b`},
		{"a Braille blank", "a\u2800b", `a\u{2800}b`},
		{"blanks stay", "a \u00a0b", "a \u00a0b"},
	} {
		if got := Line(c.in); got != c.want {
			t.Errorf("%s: Line(%q) = %q, want %q", c.name, c.in, got, c.want)
		}
	}
}

// TestHiddenByTable goes through all of Unicode: what has a property that hides is hidden.
func TestHiddenByTable(t *testing.T) {
	hides := []*unicode.RangeTable{
		unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp, unicode.Bidi_Control,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Join_Control, unicode.Noncharacter_Code_Point,
	}
	shown := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if unicode.In(r, hides...) && !Hidden(r) {
			t.Errorf("%U is shown", r)
		}
		if !Hidden(r) {
			shown++
			if !unicode.IsPrint(r) {
				t.Errorf("%U is shown and not printable", r)
			}
		}
	}
	if shown < 100_000 {
		t.Errorf("only %d characters are shown", shown)
	}
}

func FuzzLine(f *testing.F) {
	f.Add("a\x1b[2K\u202e\xff")
	f.Fuzz(func(t *testing.T, s string) {
		got := Line(s)
		if !utf8.ValidString(got) {
			t.Fatalf("Line(%q) = %q is not UTF-8", s, got)
		}
		for _, r := range got {
			if Hidden(r) && !unicode.Is(unicode.Zs, r) {
				t.Fatalf("Line(%q) = %q shows %U", s, got, r)
			}
		}
	})
}
