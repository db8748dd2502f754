package protect

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// stripped is a text without what is not seen.
func stripped(s string) string { return string(strip(nil, s)) }

func TestFold(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{".git", ".git"},
		{".GIT", ".git"},
		{".g\u0131t", ".git"},
		{".g\u0130t", ".gi\u0307t"},
		{".v\u017fcode", ".vscode"},
		{".hus\u212ay", ".husky"},
		{"\u0391\u03a3", "\u03b1\u03c3"},
		{"\u03b1\u03c2", "\u03b1\u03c3"},
		{".gi\u200ct", ".git"},
		{".\u202egit", ".git"},
		{"\ufeff.git", ".git"},
		{".git\u206a", ".git"},
		{".gi\u200bt", ".gi\u200bt"},
		{".g\u00adit", ".g\u00adit"},
		{".git\u2060", ".git\u2060"},
		{"\uff0egit", "\uff0egit"},
		{".git.", ".git."},
		{".git ", ".git "},
		{".git:x", ".git:x"},
		{".git\xff", ".git\xff"},
		{".GIT\xff", ".git\xff"},
		{"\u200c\u200d", "\u200c\u200d"},
		{"A\xe2\u200c\x80\x8c", "a"},
		{"\xc3\u200c\x89", "\u00e9"}, // what comes together is one character
		{"a\ufffd", "a\ufffd"},
	} {
		if got := Fold(c.in); got != c.want {
			t.Errorf("Fold(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

// Every character by itself and among others.
func TestFoldOfEveryRune(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		s := string(r) // U+FFFD for surrogates
		one, in := Fold(s), Fold("a"+s+"b")
		if Fold(one) != one || Fold(in) != in {
			t.Errorf("%U: not idempotent: %q, %q", r, one, in)
		}
		if stripped(in) != in || stripped(s) == "" != (one == s && stripped(one) == "") {
			t.Errorf("%U: %q, %q", r, one, in)
		}
	}
}

func FuzzFold(f *testing.F) {
	for _, s := range []string{
		".git", ".G\u0130T", "\u200c\u200d", "\xe2\u200c\x80\x8c", "\xc3\u200c\x89", "\xe2\xe2\u200c\x80\x8c\x80\x8c", "\u0391\u03a3\xff", "\xef\xbb\u202a\xbf",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Fold(s)
		if again := Fold(got); again != got {
			t.Fatalf("Fold(%q) = %q, and then %q", s, got, again)
		}
		kept := stripped(s) == ""
		if !kept && stripped(got) != got {
			t.Fatalf("Fold(%q) = %q has a stripped character", s, got)
		}
		if s != "" && got == "" {
			t.Fatalf("Fold(%q) is nothing", s)
		}
		if utf8.ValidString(s) && !utf8.ValidString(got) {
			t.Fatalf("Fold(%q) = %q is not UTF-8", s, got)
		}
		if plain(s) && got != s {
			t.Fatalf("Fold(%q) = %q", s, got)
		}
		if strings.ContainsRune(s, '/') != strings.ContainsRune(got, '/') {
			t.Fatalf("Fold(%q) = %q: a slash", s, got)
		}
	})
}
