package show

import (
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	for _, c := range []struct{ name, in, text, warning string }{
		{"a plain host", "api.example.com:443", "api.example.com:443", ""},
		{"a plain program", "/usr/bin/git", "/usr/bin/git", ""},
		{"esc/GT-06 one letter of another script", "\u0430pple.com", `\u{430}pple.com`, "not plain ASCII: \\u{430} (Cyrillic)\nletters of several scripts: Cyrillic, Latin"},
		{"esc/GT-06 a whole word of another script", "\u0441\u043e\u0441\u043e", `\u{441}\u{43e}\u{441}\u{43e}`, `not plain ASCII: \u{441} (Cyrillic), \u{43e} (Cyrillic)`},
		{"esc/GT-06 a full-width letter", "\uff47it", `\u{ff47}it`, `not plain ASCII: \u{ff47} (Latin)`},
		{"esc/GT-06 a fraction slash", "usr\u2044bin", `usr\u{2044}bin`, `not plain ASCII: \u{2044} (symbol)`},
		{"esc/GT-06 zero width", "g\u200bit", `g\u{200b}it`, `not plain ASCII: \u{200b} (hidden)`},
		{"esc/GT-06 a control character", "git\x1b", `git\x1b`, `not plain ASCII: \x1b (hidden)`},
		{"esc/GT-06 not UTF-8", "git\xff", `git\xff`, `not plain ASCII: \xff (symbol)`},
		{"esc/GT-06 punycode", "xn--pple-43d.com", "xn--pple-43d.com", "an international name in its ASCII form (xn--)"},
	} {
		got := Name(c.in)
		if got.Text != c.text || strings.Join(got.Warnings, "\n") != c.warning {
			t.Errorf("%s: Name(%q) = %q %q", c.name, c.in, got.Text, got.Warnings)
		}
	}
}

func TestDoubts(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "git commit -m 'grüße, 日本語テスト' \n", ""},
		{"two scripts in two words", "echo Привет", ""},
		{"esc/GT-06 two scripts in one word", "curl https://\u0430pple.com", `a word with letters of several scripts (Cyrillic, Latin): \u{430}pple`},
		{"hidden", "a\u200bb", "hidden characters, shown as escapes"},
		{"not UTF-8", "a\xff", "hidden characters, shown as escapes"},
		{"right to left", "rm \u05d0 1", "letters that are read from right to left"},
	} {
		got := strings.Join(Doubts(c.in), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: Doubts(%q) = %q, want %q", c.name, c.in, got, c.want)
		}
	}
}
