package wild

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

func compile(t testing.TB, pattern string, homes ...string) *Pattern {
	t.Helper()
	p, err := Compile(pattern, Options{Homes: homes})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestMatch(t *testing.T) {
	for _, c := range []struct{ pattern, no, yes string }{
		{"git *", "gitk|git-x|xgit a", "git|git |git status|git a/b\nc"},
		{"git push *", "git|git pushx|git pus", "git push|git push origin"},
		{"*.env", ".envx|a.env/b", ".env|a.env|/w/p/src/a.env"},
		{"**/x", "x|a/xy", "/x|a/x|a/b/x"},
		{"a?c", "ac|abbc|a\u00e9", "abc|a/c|a\u00e9c"},
		{"*a?c*", "ac|a", "xabcx|abc|aabc"},
		{"a*b*c", "acb|ab|abcd", "abc|aXbXc|abbc|abcbc"},
		{"a*aa", "a|aa", "aaa|abaa"},
		{"*?", "", "a|\u00e9|ab"},
		{"?*?", "a", "ab|abc"},
		{"Git", "git", "Git"},
		{"a\\*", "a*", "a\\|a\\b"},
		{"* npm *", "npm i|sudo npmx", "sudo npm i|sudo npm"},
		{"~/x", "/h/y|~/x", "/h/x|/data/h/x"},
		{"~", "~|/h/x", "/h|/data/h"},
		{"$HOME/*", "$HOME/a|/hx/a", "/h/a|/h/"},
		{"${HOME}/a b", "/h/a", "/h/a b"},
		{"~x/y", "/hx/y", "~x/y"},
		{"a/~/y", "a//h/y", "a/~/y"},
	} {
		p := compile(t, c.pattern, "/h", "/data/h")
		for text := range strings.SplitSeq(c.no, "|") {
			if c.no != "" && p.Match(text) {
				t.Errorf("%q matches %q", c.pattern, text)
			}
		}
		for text := range strings.SplitSeq(c.yes, "|") {
			if !p.Match(text) {
				t.Errorf("%q does not match %q", c.pattern, text)
			}
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	for _, s := range []string{"", "a\x00", "a\xff", strings.Repeat("a", MaxLen+1)} {
		if _, err := Compile(s, Options{}); err == nil {
			t.Errorf("Compile(%.10q) is no error", s)
		}
	}
	for _, s := range []string{"*", "**", "***"} {
		if !compile(t, s).Universal() || !compile(t, s).Match("") {
			t.Errorf("%q is not universal", s)
		}
	}
	if compile(t, "?*").Universal() || compile(t, "* *").Universal() || compile(t, "~", "/h").String() != "~" {
		t.Error("a pattern that is not *, or not spelled as it was written")
	}
}

func TestHoles(t *testing.T) {
	const hole = "\xff"
	for _, c := range []struct {
		pattern, text string
		must, may     bool
	}{
		{"git *", "git " + hole, true, true},
		{"git *", "git" + hole + "push", false, true},
		{"git push *", "git " + hole + " origin", false, true},
		{"git push *", "git status " + hole, false, false},
		{"git push *", hole, false, true},
		{"a?", "a" + hole, false, true},
		{"a?*", "a" + hole + "b", false, true},
		{"*.env", hole + "/.env", true, true},
		{"*.env", hole, false, true},
		{"npm *", "ls " + hole, false, false},
		{"\u00e9?x", "\u00e9" + hole, false, true},
	} {
		p, budget := compile(t, c.pattern), 1000
		if got := p.MatchForm(c.text); got != c.must {
			t.Errorf("%q MatchForm(%q) = %v", c.pattern, c.text, got)
		}
		if got := p.MayMatch(c.text, &budget); got != c.may {
			t.Errorf("%q MayMatch(%q) = %v", c.pattern, c.text, got)
		}
	}
	if budget := 10; !compile(t, "zz").MayMatch(strings.Repeat("a", 100), &budget) {
		t.Error("a budget that is used up does not say maybe")
	}
}

// TestMatchIsLinear counts instead of timing: what a search does is bounded by
// the places it looks at, and those never go back.
func TestMatchIsLinear(t *testing.T) {
	text := strings.Repeat("a", 1<<17)
	for _, pattern := range []string{
		strings.Repeat("*a", 2000) + "b", strings.Repeat("a*", 2000) + "b*", strings.Repeat("*a", 1000) + "?b*",
		strings.Repeat("*?", 1000) + "b",
	} {
		if compile(t, pattern).Match(text) {
			t.Errorf("%.20q matches", pattern)
		}
	}
}

// oracle is the same question put to package regexp.
func oracle(pattern string) *regexp.Regexp {
	var b strings.Builder
	for _, r := range pattern {
		switch r {
		case '*':
			b.WriteString(`(?s:.*)`)
		case '?':
			b.WriteString(`(?s:.)`)
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	expr := b.String()
	if bare, ok := strings.CutSuffix(expr, ` (?s:.*)`); ok && bare != "" {
		expr = "(?:" + bare + "|" + expr + ")"
	}
	return regexp.MustCompile("^(?:" + expr + ")$")
}

func pick(r *rand.Rand, alphabet []string, n int) string {
	var b strings.Builder
	for range r.IntN(n) {
		b.WriteString(alphabet[r.IntN(len(alphabet))])
	}
	return b.String()
}

func TestMatchAgreesWithRegexp(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		pattern := "a" + pick(r, []string{"a", "b", " ", "*", "?", "\u00e9"}, 8)
		if r.IntN(2) == 0 {
			pattern = pattern[1:] + "*"
		}
		text := pick(r, []string{"a", "b", " ", "\u00e9", "\n"}, 10)
		p, want := compile(t, pattern), oracle(pattern).MatchString(text)
		if got := p.Match(text); got != want {
			t.Fatalf("%q Match(%q) = %v", pattern, text, got)
		}
		if want && p.Need()&^Have(text) != 0 {
			t.Fatalf("%q needs more than %q has", pattern, text)
		}
		if budget := 1 << 20; p.MatchForm(text) != want || p.MayMatch(text, &budget) != want {
			t.Fatalf("%q: a text without holes is judged differently: %q", pattern, text)
		}
	}
}

// A hole says "always" only if every filling matches, and "may" if one does.
func TestHolesAgreeWithFillings(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	alphabet := []string{"a", "b", " "}
	for range 5000 {
		pattern := pick(r, []string{"a", "b", " ", "*", "?"}, 7) + "a"
		form := pick(r, alphabet, 4) + "\xff" + pick(r, alphabet, 4)
		p, budget := compile(t, pattern), 1<<20
		must, may := p.MatchForm(form), p.MayMatch(form, &budget)
		for range 20 {
			text := strings.ReplaceAll(form, "\xff", pick(r, alphabet, 5))
			if got := p.Match(text); must && !got || got && !may {
				t.Fatalf("%q, %q: must %v, may %v, but %q is %v", pattern, form, must, may, text, got)
			}
		}
	}
}

func FuzzPattern(f *testing.F) {
	for _, s := range []string{"git *", "*.env", "~/x*", "a?b*c", "**", "\u00e9?"} {
		f.Add(s, "git status\xff a.env")
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		p, err := Compile(pattern, Options{Homes: []string{"/h"}})
		if err != nil {
			return
		}
		budget := 1 << 16
		must, may := p.MatchForm(text), p.MayMatch(text, &budget)
		if must && !may {
			t.Errorf("%q: %q matches always and never", pattern, text)
		}
		if p.Need()&^Have(text) != 0 && (must || p.Match(text)) {
			t.Errorf("%q matches %q, which does not have what it needs", pattern, text)
		}
		if p.Universal() && !p.Match(text) {
			t.Errorf("%q is universal but for %q", pattern, text)
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	p := compile(b, "* push * origin*")
	for b.Loop() {
		p.Match("git push --force-with-lease origin main")
	}
}
