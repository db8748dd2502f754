package rule

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"brainbox/gate/action"
	"brainbox/gate/shell"
)

// The generators make small rules and calls that meet often.
var (
	genPatterns = []string{"*", "git *", "git push *", "npm *", "* npm *", "ls", "ls *", "rm -rf *", "*.env", "src/*", "/w/p/*", "/etc/*", "~/*", "g?t *", "* x*", "a | b", "sudo *", "cd *", "echo *"}
	genSurfaces = []string{"*", "bash", "bash", "bash", "read", "write", "edit", "path", "path_read", "path_write", "external_directory", "external_directory_read"}
	genWords    = []string{"git", "push", "npm", "i", "ls", "rm", "-rf", ".env", "src/a", "/etc/x", "~/y", "x", "$X", "$(npm i)", `"a b"`, "sudo", "cd", "echo", "'", "X=1", "PATH=/x", "> o.env", "< in", "*.go", "{a,b}", "{}", "\\", "../z"}
	genJoins    = []string{"; ", " && ", " || ", " | ", "\n", " & "}
)

func genRules(r *rand.Rand, kind Kind) Scope {
	sc := Scope{Kind: kind, Trusted: r.IntN(2) == 0}
	for range 1 + r.IntN(8) {
		sc.Rules = append(sc.Rules, Rule{
			Surface: genSurfaces[r.IntN(len(genSurfaces))], Pattern: genPatterns[r.IntN(len(genPatterns))],
			Action: action.Action(r.IntN(3)), //nolint:gosec // below 3
		})
	}
	return sc
}

func genScopes(r *rand.Rand) []Scope {
	scopes := []Scope{genRules(r, Global)}
	for _, k := range []Kind{Project, Agent, Session} {
		if r.IntN(3) == 0 {
			scopes = append(scopes, genRules(r, k))
		}
	}
	return scopes
}

func genCommand(r *rand.Rand) string {
	var b strings.Builder
	for i := range 1 + r.IntN(3) {
		if i > 0 {
			b.WriteString(genJoins[r.IntN(len(genJoins))])
		}
		for j := range 1 + r.IntN(4) {
			if j > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(genWords[r.IntN(len(genWords))])
		}
	}
	return b.String()
}

func genQuery(r *rand.Rand) Query {
	switch r.IntN(4) {
	case 0:
		return ask([]string{"read", "write", "edit"}[r.IntN(3)], []string{".env", "src/a", "/etc/x", "link", "out", "/h/y", "../z"}[r.IntN(7)])
	default:
		return ask("bash", genCommand(r))
	}
}

func outcome(t testing.TB, scopes []Scope, q Query) action.Action {
	t.Helper()
	return Fold(mustCompile(t, scopes...).Evaluate(q), Inputs{}).Action
}

// TestTighteningNeverLoosens: a rule that is made stricter where it stands never
// makes an answer more lenient, in any scope and at any place.
func TestTighteningNeverLoosens(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 6000 {
		scopes, q := genScopes(r), genQuery(r)
		before := outcome(t, scopes, q)
		i := r.IntN(len(scopes))
		changed := slices.Clone(scopes)
		changed[i].Rules = slices.Clone(scopes[i].Rules)
		rule := &changed[i].Rules[r.IntN(len(changed[i].Rules))]
		if rule.Action == deny {
			continue
		}
		rule.Action-- // allow, ask, deny
		if after := outcome(t, changed, q); after > before {
			t.Fatalf("%q on %s: %v became %v when %+v was tightened in %+v", q.Value, q.Surface, before, after, *rule, scopes)
		}
	}
}

// TestAddingTextNeverLoosens: what is put before or behind a command, with a
// separator, never makes the answer more lenient.
func TestAddingTextNeverLoosens(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	added := []string{"true", "npm i", "(", "'", `"`, "ls x", "$(", "`", "X=1", "cd /", "# c", "sudo x", "((", "\x01", "if a; then b; fi", "f() { x; }", "HOME=/", "{ a; }", "<<E", "time"}
	for range 8000 {
		scopes, q := genScopes(r), ask("bash", genCommand(r))
		before := outcome(t, scopes, q)
		extra := added[r.IntN(len(added))]
		if unread(q.Value) {
			continue // it would be judged as one text, and is another one then
		}
		join := genJoins[r.IntN(len(genJoins))]
		if strings.HasSuffix(q.Value, `\`) || strings.ContainsAny(q.Value, `\'"`) && unread(q.Value+join+extra) {
			continue // it takes the separator in; or quotes, which do not count in a text that cannot be read
		}
		longer := q
		longer.Value = q.Value + join + extra
		if after := outcome(t, scopes, longer); after > before {
			t.Fatalf("%q: %v, and %q: %v, under %+v", q.Value, before, longer.Value, after, scopes)
		}
		if strings.ContainsAny(extra, "('\"`#<{\x01/") || extra == "time" ||
			join == " | " && strings.Contains(q.Value, "cd") {
			continue // it changes how the rest is read
		}
		longer.Value = extra + join + q.Value
		if after := outcome(t, scopes, longer); after > before {
			t.Fatalf("%q: %v, and %q: %v, under %+v", q.Value, before, longer.Value, after, scopes)
		}
	}
}

func unread(text string) bool {
	units := shell.Read(text, shell.Env{}).Units
	return len(units) > 0 && units[0].Floor == shell.Unparsed
}

// TestUntrustedScopesNeverLoosen: a scope that is not trusted changes an answer
// for the worse only, whatever it says.
func TestUntrustedScopesNeverLoosen(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 6000 {
		scopes, q := genScopes(r), genQuery(r)
		extra := genRules(r, Project)
		extra.Trusted = false
		if r.IntN(2) == 0 {
			extra.Kind = Agent
		}
		if r.IntN(20) == 0 {
			extra.Err = flaw("", "broken")
		}
		before, after := outcome(t, scopes, q), outcome(t, append(slices.Clone(scopes), extra), q)
		if after > before {
			t.Fatalf("%q on %s: %v became %v with %+v", q.Value, q.Surface, before, after, extra)
		}
	}
}

func TestTheSameCallTwice(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range 2000 {
		set, q := mustCompile(t, genScopes(r)...), genQuery(r)
		if a, b := set.Evaluate(q), set.Evaluate(q); !reflect.DeepEqual(a, b) {
			t.Fatalf("%q: %+v, then %+v", q.Value, a, b)
		}
	}
}

// A denial by rule is met by no approval and no consent.
func TestDenialsAreFinal(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	all := Inputs{Approvals: anything{}, OnAskAllow: true, Authorizers: []Verdict{{Action: allow}}}
	for range 3000 {
		answers := mustCompile(t, genScopes(r)...).Evaluate(genQuery(r))
		bare, with := Fold(answers, Inputs{}), Fold(answers, all)
		if (bare.Action == deny) != (with.Action == deny) {
			t.Fatalf("%v became %v", bare.Action, with.Action)
		}
	}
}

type anything struct{}

func (anything) Approves(*Answer, bool) (uint64, bool) { return 1, true }

func FuzzParseJSON(f *testing.F) {
	for _, s := range []string{
		policyP, `[{"surface":"bash","pattern":"x","action":"deny"}]`, `{"permission":{"path_read":{"~/x":{"action":"deny","reason":"r"}}}}`,
		`{"a":{"b":"ask"},"a":1}`, `{}`, `[]`,
	} {
		f.Add([]byte(s), "git push .env")
	}
	f.Fuzz(func(t *testing.T, data []byte, command string) {
		rules, err := ParseJSON(data)
		if err != nil {
			return
		}
		set, _, err := Compile(config(Scope{Kind: Global, Rules: rules}))
		if err != nil {
			return
		}
		q := ask("bash", command)
		d := Fold(set.Evaluate(q), Inputs{})
		q.Value += "\nrm x"
		if more := Fold(set.Evaluate(q), Inputs{}); more.Action > d.Action && len(q.Value) < shell.MaxText {
			t.Errorf("%q loosens %q under %s", q.Value, command, data)
		}
	})
}

func manyRules(n int) []Rule {
	rules := []Rule{{Surface: "*", Pattern: "*", Action: asks}}
	for _, s := range []string{"read", "path", "external_directory", "bash"} {
		rules = append(rules, Rule{Surface: s, Pattern: "*", Action: allow})
	}
	for i := len(rules); i < n; i++ {
		s := []string{"read", "path", "external_directory", "bash"}[i%4]
		p := []string{"*.secret%d", "src/dir%d/*", "/srv/data%d/*", "tool%d run *", "* option%d *"}[i%5]
		rules = append(rules, Rule{Surface: s, Pattern: fmt.Sprintf(p, i), Action: deny})
	}
	return rules
}

// BenchmarkEvaluate is a decision against 1 000 rules.
func BenchmarkEvaluate(b *testing.B) {
	set := mustCompile(b, Scope{Kind: Global, Rules: manyRules(1000)})
	command := `cd src && CI=1 go test -run 'TestA|TestB' ./pkg/... 2>&1 | tee "$HOME/log.txt" | grep -v '^ok' && git diff --stat HEAD~1 -- pkg/a.go pkg/b.go > /tmp/diff.txt || echo "failed: $(git rev-parse HEAD)"`
	for _, q := range []Query{ask("read", "src/pkg/file.go"), ask("read", "/usr/include/stdio.h"), ask("skill", "x"), ask("bash", "git status -s"), ask("bash", command)} {
		name := q.Surface + "/" + q.Value
		b.Run(name[:min(len(name), 20)], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Fold(set.Evaluate(q), Inputs{})
			}
		})
	}
}

// A call that is no command takes few allocations, however many rules there are.
func TestAllocations(t *testing.T) {
	set := mustCompile(t, Scope{Kind: Global, Rules: manyRules(1000)})
	for _, q := range []Query{ask("read", "src/pkg/file.go"), ask("read", "/usr/include/stdio.h"), ask("skill", "x")} {
		if got := testing.AllocsPerRun(100, func() { Fold(set.Evaluate(q), Inputs{}) }); got > 10 {
			t.Errorf("%s %s: %v allocations, want at most 10", q.Surface, q.Value, got)
		}
	}
}
