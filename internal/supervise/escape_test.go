package supervise

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// escapeAll gives the parts to one escaper, one call each.
func escapeAll(parts ...string) string {
	var e escaper
	var b strings.Builder
	for _, p := range parts {
		b.Write(e.escape([]byte(p)))
	}
	b.Write(e.flush())
	return b.String()
}

func TestEscape(t *testing.T) {
	for _, c := range []struct {
		in   []string
		want string
	}{
		{[]string{"\x1b[2J"}, `\x1b[2J`},
		{[]string{"\x1b]52;c;aGk=\a"}, `\x1b]52;c;aGk=\x07`},
		{[]string{"a\rb"}, `a\x0db`},
		{[]string{"a\r"}, `a\x0d`},
		{[]string{"a\r", "\n"}, "a\r\n"},
		{[]string{"a\r", "b"}, `a\x0db`},
		{[]string{"\x00\x7f\b"}, `\x00\x7f\x08`},
		{[]string{"\u009b31m"}, `\u{9b}31m`},
		{[]string{"\xc2", "\x9b"}, `\u{9b}`},
		{[]string{"\x9b\xff"}, `\x9b\xff`},
		{[]string{"a\xe2\x82"}, `a\xe2\x82`}, // the output ended inside a character
		{[]string{"\xe2", "\x82", "\xac"}, "€"},
		{[]string{"\xe2", "x"}, `\xe2x`},
		{[]string{""}, ""},
		{[]string{"plain\ttext\n", "ü€😀\r\n"}, "plain\ttext\nü€😀\r\n"},
	} {
		if got := escapeAll(c.in...); got != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
	}
}

// FuzzEscape: wherever the output is cut, no control character but new line, tab and the
// carriage return before a new line comes out, and plain text comes out as it went in.
func FuzzEscape(f *testing.F) {
	f.Add("\x1b[31m\r\nü\xc2\x9b", 3)
	f.Add("a\r\nb\rc\r", 1)
	f.Add("\xe2\x82\xac\xff", 2)
	f.Fuzz(func(t *testing.T, text string, cut int) {
		cut = max(0, min(cut, len(text)))
		got := escapeAll(text[:cut], text[cut:])
		if whole := escapeAll(text); whole != got {
			t.Fatalf("cut at %d: %q, whole: %q", cut, got, whole)
		}
		if !utf8.ValidString(got) {
			t.Fatalf("%q gave invalid UTF-8: %q", text, got)
		}
		rest := strings.NewReplacer("\r\n", "", "\n", "", "\t", "").Replace(got)
		for _, r := range rest {
			if r < 0x20 || r >= 0x7f && r < 0xa0 {
				t.Fatalf("%q lets %q through", text, r)
			}
		}
		if utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 }) && got != text {
			t.Fatalf("plain text %q became %q", text, got)
		}
	})
}
