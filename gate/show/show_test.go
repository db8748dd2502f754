package show

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"brainbox/internal/visible"
)

func TestWhole(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain text stays", `rm -r "a b"`, `rm -r "a b"`},
		{"letters of the world stay", "grüße 日本 ไทย हिन्दी", "grüße 日本 ไทย हिन्दी"},
		{"esc/GT-01 erase line", "ls\x1b[2K", `ls\x1b[2K`},
		{"esc/GT-01 carriage return, backspace", "a\rb\bc\bd", `a\rb\x08c\x08d`},
		{"esc/GT-01 OSC 52", "\x1b]52;c;aGk=\a", `\x1b]52;c;aGk=\x07`},
		{"esc/GT-01 C1 CSI", "\u009b2K", `\u{9b}2K`},
		{"esc/GT-01 C1 as a byte", "\x9b2K", `\x9b2K`},
		{"esc/GT-01 what is not UTF-8", "a\xc3(\xed\xa0\x80", `a\xc3(\xed\xa0\x80`},
		{"esc/GT-02 override", "a\u202eb", `a\u{202e}b`},
		{"esc/GT-02 isolates", "\u2066a\u2069", `\u{2066}a\u{2069}`},
		{"esc/GT-02 marks", "\u061c\u200e\u200f", `\u{61c}\u{200e}\u{200f}`},
		{"esc/GT-03 zero width", "r\u200bm\u2060\ufeff", `r\u{200b}m\u{2060}\u{feff}`},
		{"esc/GT-03 soft hyphen", "r\u00adm", `r\u{ad}m`},
		{"esc/GT-03 variation selectors", "a\ufe0f\U000e0100", `a\u{fe0f}\u{e0100}`},
		{"esc/GT-03 tags", "\U000e0072\U000e006d", `\u{e0072}\u{e006d}`},
		{"esc/GT-03 fillers", "\u3164\u115f\uffa0", `\u{3164}\u{115f}\u{ffa0}`},
		{"esc/GT-04 blanks before the command", strings.Repeat(" ", 4096) + "rm x", `\x20\{4096 times}rm x`},
		{"esc/GT-04 no-break spaces", "a" + strings.Repeat("\u00a0", 4096) + "rm x", `a\u{a0}\{4096 times}rm x`},
		{"esc/GT-04 line feeds", "a" + strings.Repeat("\n", 4096) + "rm x", `a\n\{4096 times}rm x`},
		{"four blanks stay", "a    b", "a    b"},
		{"a blank at an end", " a ", `\x20a\x20`},
		{"a backslash is two", `a\x1b\{3 more characters}`, `a\\x1b\\{3 more characters}`},
		{"a mark behind a letter", "e\u0301", "e\u0301"},
		{"a mark that would change ours", "\u0338a", `\u{338}a`},
		{"a mark on a sign", "a=\u0338b", `a=\u{338}b`},
		{"an enclosing mark", "a\u20e0", `a\u{20e0}`},
		{"too many marks", "a" + strings.Repeat("\u0301", 5), "a" + strings.Repeat("\u0301", 4) + `\u{301}`},
		{"private use and what is not assigned", "\ue000\U0010ffff\u0378", `\u{e000}\u{10ffff}\u{378}`},
		{"nothing", "", ""},
	} {
		if got := Whole(c.in); got != c.want {
			t.Errorf("%s: Whole(%q) = %q, want %q", c.name, c.in, got, c.want)
		}
	}
}

// TestFieldKeepsTheEnd is esc/GT-04: the command behind a wall of text is shown.
func TestFieldKeepsTheEnd(t *testing.T) {
	blanks := strings.Repeat(" \u00a0\n", 1400)
	for _, wall := range []string{strings.Repeat("x", 5000), blanks, strings.Repeat("日", 5000), strings.Repeat(`\`, 5000)} {
		got := Field(wall + "; rm -rf ~")
		if n := utf8.RuneCountInString(got); n > FieldMost || n < FieldMost/2 {
			t.Errorf("%d characters: %q", n, got)
		}
		if !strings.HasSuffix(got, "; rm -rf ~") || !strings.Contains(got, ` more characters}`) {
			t.Errorf("the end is hidden: %q", got)
		}
	}
	if got := Field(strings.Repeat("x", 400)); got != strings.Repeat("x", 400) {
		t.Errorf("what fits is folded: %q", got)
	}
	if got, want := Field("a"+strings.Repeat("b", 398)+"cd"), `\{33 more characters}`; !strings.Contains(got, want) {
		t.Errorf("Field = %q, want %q in it", got, want)
	}
}

// TestLongTexts: of a megabyte the middle is counted, character by character, and what is
// folded at an end does not swallow it.
func TestLongTexts(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"letters", strings.Repeat("日", 300_000) + "end", `\{299635 more characters}`},
		{"bytes that are not UTF-8", strings.Repeat("\xff", 300_000) + "end", `\{16384 times}\{267235 more characters}`},
		{"blanks on both sides", strings.Repeat(" ", 500_000) + "rm" + strings.Repeat(" ", 500_000), ` more characters}`},
	} {
		got := Field(c.in)
		if !strings.Contains(got, c.want) || utf8.RuneCountInString(got) > FieldMost {
			t.Errorf("%s: %q, want %q in it", c.name, got, c.want)
		}
	}
}

// TestAgent is esc/GT-05: no row of an agent's text can look like one of ours.
func TestAgent(t *testing.T) {
	text := "```\nbrainbox: Approved? [y]\r\n\x1b[2A  ask| allow\n" + strings.Repeat("日", 60) + "allow"
	got := Agent(text, 40)
	want := []string{
		"agent| ```", "agent| brainbox: Approved? [y]", `agent| \x1b[2A  ask| allow`,
		"agent| " + strings.Repeat("日", 16), "agent| " + strings.Repeat("日", 16), "agent| " + strings.Repeat("日", 16),
		"agent| " + strings.Repeat("日", 12) + "allow",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("Agent = %q, want %q", got, want)
	}
	rows := Agent(strings.Repeat("a\n", 150)+"end", 80)
	if len(rows) != AgentRows || rows[15] != `agent| \{128 more lines}` || rows[23] != "agent| end" {
		t.Errorf("%d rows: %q", len(rows), rows)
	}
	if rows := Agent(strings.Repeat("\n", 4000)+"end", 80); len(rows) != 1 || rows[0] != `agent| \n\{4000 times}end` {
		t.Errorf("line feeds: %q", rows)
	}
	if rows := Agent("", 80); rows != nil {
		t.Errorf("no text: %q", rows)
	}
	for _, row := range Agent(strings.Repeat("x", 900), 0) {
		if !strings.HasPrefix(row, AgentMark) || len(row) > MinColumns {
			t.Errorf("a narrow window: %q", row)
		}
	}
}

func TestRows(t *testing.T) {
	if got := Rows("  ask| ", strings.Repeat("x", 40), 30); len(got) != 2 || got[1] != "  ask| "+strings.Repeat("x", 17) {
		t.Errorf("Rows = %q", got)
	}
	if got := Rows("  ask| ", "broken behind a blank where it may be", 30); strings.Join(got, "\n") != "  ask| broken behind a blank \n  ask| where it may be" {
		t.Errorf("Rows = %q", got)
	}
	if got := Rows("  ask| ", "", 30); len(got) != 1 {
		t.Errorf("Rows of nothing = %q", got)
	}
}

// checkShown holds for all that a person sees.
func checkShown(t *testing.T, in, got string) {
	t.Helper()
	if !utf8.ValidString(got) {
		t.Fatalf("%q is shown as %q, which is not UTF-8", in, got)
	}
	for _, r := range got {
		if visible.Hidden(r) || !unicode.IsPrint(r) {
			t.Fatalf("%q is shown as %q with %U", in, got, r)
		}
	}
}

// read takes back what Whole did.
func read(t *testing.T, shown string) string {
	t.Helper()
	var out, last string
	for shown != "" {
		var char string
		switch {
		case strings.HasPrefix(shown, `\\`):
			char, shown = `\`, shown[2:]
		case strings.HasPrefix(shown, `\{`):
			number, rest, _ := strings.Cut(shown[2:], " times}")
			out, shown, char = out+strings.Repeat(last, atoi(number, 10)-1), rest, ""
		case strings.HasPrefix(shown, `\u{`):
			number, rest, _ := strings.Cut(shown[3:], "}")
			char, shown = string(rune(atoi(number, 16))), rest
		case strings.HasPrefix(shown, `\x`):
			char, shown = string([]byte{byte(atoi(shown[2:4], 16))}), shown[4:]
		case strings.HasPrefix(shown, `\`):
			char, shown = map[byte]string{'n': "\n", 'r': "\r", 't': "\t"}[shown[1]], shown[2:]
		default:
			_, n := utf8.DecodeRuneInString(shown)
			char, shown = shown[:n], shown[n:]
		}
		if char != "" {
			last = char
		}
		out += char
	}
	return out
}

func atoi(s string, base int) int {
	n := 0
	for _, c := range s {
		n = n*base + strings.IndexRune("0123456789abcdef", c)
	}
	return n
}

// FuzzShow: whatever comes in, a person sees printable characters only; Whole can be read
// back, so that different texts look different; fields, rows and windows are kept.
func FuzzShow(f *testing.F) {
	for _, s := range []string{
		"ls -l", "a\x1b[2K\u202e\xff\\", strings.Repeat(" ", 4096) + "rm", "e\u0301\u0338", "\U000e0041\u3164",
		"```\nApproved? [y]\r\n", `\{12 more characters}`, "аpple.com", strings.Repeat("日\n", 300),
	} {
		f.Add(s, 80)
	}
	f.Fuzz(func(t *testing.T, s string, columns int) {
		columns = max(MinColumns, min(columns, 500))
		whole := Whole(s)
		checkShown(t, s, whole)
		if back := read(t, whole); back != s {
			t.Fatalf("Whole(%q) = %q reads %q", s, whole, back)
		}
		field := Field(s)
		checkShown(t, s, field)
		if n := utf8.RuneCountInString(field); n > FieldMost {
			t.Fatalf("Field(%q) has %d characters", s, n)
		}
		rows := Agent(s, columns)
		if len(rows) > AgentRows {
			t.Fatalf("Agent(%q) has %d rows", s, len(rows))
		}
		for _, row := range rows {
			checkShown(t, s, row)
			if !strings.HasPrefix(row, AgentMark) {
				t.Fatalf("a row without its mark: %q", row)
			}
		}
		name := Name(s)
		checkShown(t, s, name.Text)
		for _, text := range append(Doubts(s), append(name.Warnings, name.Text)...) {
			if strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) {
				t.Fatalf("Name(%q) says %q", s, text)
			}
		}
	})
}

// What is returned as it is would have been made so by the long way.
func TestItself(t *testing.T) {
	for _, s := range []string{"", "a", "a b", " a", "a ", "a  b", `a\b`, "a\tb", "é", "a\x7f", strings.Repeat("x", 64), strings.Repeat("x", 65), strings.Repeat(" ", 6)} {
		if got, want := Short(s, 64), join(fold(outer(s, mode{}), 64)); got != want {
			t.Errorf("Short(%q) = %q, want %q", s, got, want)
		}
	}
}
