package files

import (
	"regexp/syntax"
	"strings"
	"testing"
)

// The bound of a pattern's program is none below what it becomes.
func FuzzPattern(f *testing.F) {
	for _, p := range []string{
		"a{1000}$", "(.?){700}(.?){700}b", "(a|bc|[x-z]){3,50}", "((a{10}){10,}){2}", "x*y+?z??(?i:foo)", "(a{2,}){0,5}",
		"(?:a{0}){5}", "(|a|)(b*)*", `\pL{3}\b^$[^a]`, "(?:){9}", "((((a?){9}){9})*)+", "(.?){1000}(.?){1000}(.?){1000}",
	} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		if len(p) > MaxPattern {
			return
		}
		re, n, err := compile(p)
		if err != nil {
			return
		}
		tree, err := syntax.Parse(p, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		prog, err := syntax.Compile(tree.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		const ends = 3 // of every program: fail, match, and an empty one
		if len(prog.Inst) > n+ends || n > mostProgram {
			t.Errorf("%q: %d instructions, at most %d were expected", p, len(prog.Inst), n)
		}
		re.MatchString(strings.Repeat("ab ", 16))
	})
}
