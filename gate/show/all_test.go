package show

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"brainbox/internal/visible"
)

// everyRune calls f with each character that there is, as text.
func everyRune(f func(r rune, s string)) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if utf8.ValidRune(r) {
			f(r, string(r))
		}
	}
}

// TestEveryCharacter is esc/GT-03: alone, behind a letter, a blank and a sign of ours, and
// between what joins, no character of all is shown that hides or changes its neighbour.
func TestEveryCharacter(t *testing.T) {
	const family, joined = "\U0001f468", "\U0001f468\u200d"
	everyRune(func(r rune, s string) {
		if visible.Hidden(r) && r > 0x20000 && r%64 != 0 { // most are not assigned: some of them
			return
		}
		for _, in := range []string{s, "a" + s, " " + s, "1" + s, "=" + s + "b", joined + s, s + "\ufe0f", s + s + s + s + s + s} {
			checkMarks(t, in, Whole(in))
		}
		if joins(r) && Whole(family+s) == family+s {
			t.Errorf("%U is shown on a sign", r)
		}
	})
}

// checkMarks says what no shown text may have: a hidden character, or a mark that stands on
// anything but a letter of its own script, and on that the fifth.
func checkMarks(t *testing.T, in, got string) {
	t.Helper()
	var base rune
	marks := 0
	for _, r := range got {
		switch {
		case r < 0x20 || visible.Hidden(r):
			t.Fatalf("%q shows %U", in, r)
		case !joins(r):
			base, marks = r, 0
			continue
		}
		marks++
		if !unicode.IsLetter(base) || marks > mostMarks {
			t.Fatalf("%q shows %U on %q, %d marks", in, r, base, marks)
		}
		if !unicode.Is(unicode.Inherited, r) && script(r) != script(base) {
			t.Fatalf("%q shows %U of %q on %q", in, r, script(r), base)
		}
	}
}

// TestEveryMarkStaysBehindItsLetter: neither where a text is folded nor where a row ends
// does a mark come to stand on what is ours.
func TestEveryMarkStaysBehindItsLetter(t *testing.T) {
	for _, text := range []string{"e\u0301", "e\u0301\u0302\u0303\u0304", "\u0915\u094d", "xe\u0301", " e\u0301", "\u304b\u3099"} {
		for n := range 7 {
			in := strings.Repeat("y", n) + strings.Repeat(text, 600)
			checkMarks(t, in, Field(in))
			for _, columns := range []int{0, 24, 25, 26, 27, 28, 29, 30, 31, 59} {
				for _, row := range append(Agent(in, columns), Rows("  ask| ", Field(in), columns)...) {
					checkMarks(t, in, row)
				}
			}
		}
	}
}

// TestEveryDirection: a letter of any script that is written from right to left, of
// those that nobody uses too, is told.
func TestEveryDirection(t *testing.T) {
	for _, s := range []string{"א", "ب", "\u0710", "\u07ca", "\U00010900", "\U00010a00", "\U00010c00", "\U00010f30", "\U0001e900", "\U00010800", "\ufb50", "\u0660\u0661"} {
		if d := Doubts("rm " + s + " x"); !strings.Contains(strings.Join(d, "|"), "right to left") {
			t.Errorf("Doubts(%q) = %q", s, d)
		}
	}
}

// TestScript compares with the tables of package unicode, all of them.
func TestScript(t *testing.T) {
	together := []string{"Common", "Inherited", "Latin", "Han", "Hiragana", "Katakana", "Hangul", "Bopomofo"}
	want := 0
	for name, table := range unicode.Scripts {
		if slices.Contains(together, name) {
			continue
		}
		for _, x := range spans() {
			if x.name != name {
				continue
			}
			for r := x.lo; r <= x.hi; r++ {
				want++
				if !unicode.Is(table, r) || script(r) != name {
					t.Errorf("%U is %q, want %q", r, script(r), name)
				}
			}
		}
	}
	got := 0
	everyRune(func(r rune, _ string) {
		if name := script(r); name != "" && !slices.Contains(together, name) {
			got++
		}
	})
	if got != want || unicode.In('ж', unicode.Cyrillic) != (script('ж') == "Cyrillic") {
		t.Errorf("%d characters of a script, want %d", got, want)
	}
}
