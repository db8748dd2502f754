package confirm

import (
	"strings"
	"testing"
)

// What RE2 does not have, and what it reads otherwise, is refused with a hint.
func TestDialect(t *testing.T) {
	for _, c := range []struct{ source, hint string }{
		{`\Aend`, "JavaScript"},
		{`end\z`, "JavaScript"},
		{`\p{L}`, "JavaScript"},
		{`\pL`, "JavaScript"},
		{`\PL`, "JavaScript"},
		{`\a`, "JavaScript"},
		{`\Qa.b\E`, "JavaScript"},
		{`\x{41}`, "JavaScript"},
		{`[[:alpha:]]`, "JavaScript"},
		{`[]a]`, "JavaScript"},
		{`[^]a]`, "JavaScript"},
		{`[a\z]`, "JavaScript"},
		{`\\\z`, "JavaScript"},
		{`(?=x)`, "look-around"},
		{`(?!x)`, "look-around"},
		{`(?<=x)y`, "look-around"},
		{`(?<!x)y`, "look-around"},
		{`(a)\1`, "back-reference"},
		{`\u0041`, "itself"},
		{`\cA`, "itself"},
		{`[^]`, "(?s:.)"},
		{`a{1001,}`, "1000"},
		{`a)|(b`, "unexpected"},
		{"\xff", "UTF-8"},
	} {
		re, why := expression(c.source, false)
		if re != nil || !strings.Contains(why, c.hint) {
			t.Errorf("%q: %v, %q; want a word on %s", c.source, re, why, c.hint)
		}
	}
	for _, source := range []string{`(?i)x`, `\\A`, `\\z`, `[\]a]`, `\x41`, `[^a]`, `a]`, `\[[ab]`, `(?s).`, `\bx\b`, `[a^]`, `^x$`, `{`, `\\`, `[^\]]`} {
		if re, why := expression(source, false); re == nil {
			t.Errorf("%q: %s", source, why)
		}
	}
	for _, source := range []string{`\Aend`, `end\z`, `\p{L}`, `[]a]`, `[[:alpha:]]`} {
		p, err := Compile(Config{Confirm: texts(source), RE2: true}, nil)
		if err != nil || p.Len() != 1 {
			t.Errorf("%q in RE2's own reading: %v", source, err)
		}
	}
}

// An expression that only another engine would take is never made into one that matches
// less: the entry is reported.
func TestDialectIsReported(t *testing.T) {
	var issues []Issue
	p, err := Compile(Config{Confirm: texts(`\Arm`, `deploy`)}, func(i Issue) { issues = append(issues, i) })
	if err != nil || p.Len() != 1 || len(issues) != 1 || issues[0].Kept {
		t.Errorf("%v, %v, %v", p, issues, err)
	}
	if got := issues[0].String(); !strings.Contains(got, `\A`) || !strings.Contains(got, "confirm entry 1") {
		t.Errorf("%q", got)
	}
}

// Case is folded as RE2 does, which matches more.
func TestFolding(t *testing.T) {
	p, err := Compile(Config{Confirm: texts("shred", "kill")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"SHRED", "\u017fhred", "\u212aill"} {
		if _, ok := p.First(command); !ok {
			t.Errorf("%q is not found", command)
		}
	}
}

// What is looked for first is what cannot be missing.
func TestNeed(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{`\bgit\s+push\b.*--force`, "--FORCE"},
		{`\brm\s+`, "RM"},
		{`(ab)+c?`, "AB"},
		{`(?:abc){2,}`, "ABC"},
		{`(?:abc)*d`, "D"},
		{`a|b`, ""},
		{`abc|abd`, "AB"},
		{`.*`, ""},
		{`\x{17f}k`, "SK"},
		{`x{0,3}`, ""},
		{`(?-i:ab)`, "AB"},
	} {
		if got := need(c.source); got != c.want {
			t.Errorf("need(%q) = %q, want %q", c.source, got, c.want)
		}
	}
	for _, s := range Defaults() {
		if need(s.Pattern) == "" {
			t.Errorf("%q is slow on every command", s.Pattern)
		}
	}
}

func FuzzCompile(f *testing.F) {
	for _, s := range append(Defaults(), texts(`\Aend`, `[^]a]`, `[[:alpha:]]`, `(?=x)`, `a)|(b`, `\`, `[`, `(?i`, `(a|B)+\x{17f}`, `\x{212a}`)...) {
		f.Add(s.Pattern, "rm -rf x")
		f.Add(s.Pattern, "g\u0130t \u017fhred \u212aill\xff")
	}
	f.Fuzz(func(t *testing.T, source, command string) {
		if len(source) > 100 || len(command) > 100 {
			t.Skip()
		}
		_ = differs(source)
		p, err := Compile(Config{Confirm: texts(source)}, nil)
		if (err == nil) != (p.Len() == 1 && p.set) {
			t.Fatalf("%q: %v, %v", source, p, err)
		}
		if err != nil {
			return
		}
		q, found := p.First(command)
		if _, again := p.First(command); found != again {
			t.Fatalf("%q: two answers for %q", source, command)
		}
		if slow := p.list[0].Match(command); slow != found || slow != (len(p.Matching(command)) == 1) {
			t.Fatalf("%q over %q: %v, and with %q looked for first %v", source, command, slow, q.need, found)
		}
	})
}
