package confirm

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sources, as many as there are patterns.
func texts(patterns ...string) []Source {
	var all []Source
	for _, p := range patterns {
		all = append(all, Source{Pattern: p})
	}
	return all
}

func compiled(t *testing.T, text string) (Patterns, []Issue, error) {
	t.Helper()
	c, err := Decode([]byte(text))
	if err != nil {
		t.Fatalf("Decode(%s): %v", text, err)
	}
	var issues []Issue
	p, err := Compile(c, func(i Issue) { issues = append(issues, i) })
	return p, issues, err
}

func TestAllInvalid(t *testing.T) {
	for _, text := range []string{`["(unclosed"]`, `[{"effect":"e"}]`, `[{"pattern":42}]`, `[null]`, `[[]]`, `[1, "(", {"pattern":null}]`} {
		t.Run("bk/CP5 "+text, func(t *testing.T) {
			p, issues, err := compiled(t, text)
			var e *Error
			if !errors.As(err, &e) || p.set {
				t.Fatalf("Compile = %v, %v", p, err)
			}
			if want := strings.Count(text, ",") + 1; len(issues) != want || len(e.Issues) != want {
				t.Errorf("reported %v, want %d", issues, want)
			}
			for _, want := range []string{"confirmBashPatterns", "BRAIN_UI_CONFIRM_BASH", "[]"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not name %s", err, want)
				}
			}
			if strings.Contains(text, "unclosed") && !strings.Contains(err.Error(), "(unclosed") {
				t.Errorf("%q does not name the source", err)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, text := range []string{``, `[`, `{}`, `null`, `"rm"`, `["a",]`, `[{"pattern":"a","pattern":"b"}]`} {
		t.Run("bk/CP11 [D] "+text, func(t *testing.T) {
			c, err := Decode([]byte(text))
			var e *DecodeError
			if !errors.As(err, &e) || !strings.Contains(err.Error(), "BRAIN_UI_CONFIRM_BASH") {
				t.Errorf("Decode = %+v, %v", c, err)
			}
		})
	}
}

func TestCompile(t *testing.T) {
	t.Run("bk/CP1", func(t *testing.T) {
		p, issues, err := compiled(t, `["\\bdeploy\\s+prod\\b"]`)
		q, ok := p.First("DEPLOY PROD now")
		if err != nil || len(issues) > 0 || p.Len() != 1 || !ok || q.Effect() != "" || q.Source() != `\bdeploy\s+prod\b` {
			t.Errorf("%v, %v, %v, %v", p, issues, err, q)
		}
		if _, ok = p.First("rm -rf x"); ok {
			t.Error("the table holds beside what is configured")
		}
	})
	t.Run("bk/CP2", func(t *testing.T) {
		p, _, err := compiled(t, `[{"pattern":"x","effect":" do x "}]`)
		if q, ok := p.First("x"); err != nil || !ok || q.Effect() != " do x " {
			t.Errorf("%v, %v", q, err)
		}
	})
	for _, effect := range []string{`,"effect":""`, `,"effect":"  "`, `,"effect":42`, ``} {
		t.Run("bk/CP3 "+effect, func(t *testing.T) {
			p, _, err := compiled(t, `[{"pattern":"x"`+effect+`}]`)
			if q, ok := p.First("x"); err != nil || !ok || q.Effect() != "" {
				t.Errorf("%v, %v", q, err)
			}
		})
	}
	t.Run("bk/CP4", func(t *testing.T) {
		p, issues, err := compiled(t, `["(unclosed", {"pattern":"\\bok\\b","effect":"fine"}]`)
		if err != nil || p.Len() != 1 || len(issues) != 1 || issues[0].Source != "(unclosed" || issues[0].Kept || issues[0].Reason == "" {
			t.Errorf("%v, %v, %v", p, issues, err)
		}
		if q, ok := p.First("is it ok?"); !ok || q.Effect() != "fine" {
			t.Errorf("%v, %v", q, ok)
		}
	})
	t.Run("bk/CP6", func(t *testing.T) {
		p, issues, err := compiled(t, `[]`)
		if _, ok := p.First("rm -rf /"); err != nil || p.Len() != 0 || len(issues) > 0 || ok {
			t.Errorf("%v, %v, %v", p, issues, err)
		}
	})
	t.Run("bk/CP7 [D] an empty pattern is kept, with a warning", func(t *testing.T) {
		p, issues, err := compiled(t, `[""]`)
		if _, ok := p.First("ls"); err != nil || !ok || len(issues) != 1 || !issues[0].Kept {
			t.Errorf("%v, %v, %v", p, issues, err)
		}
	})
	t.Run("bk/CP8", func(t *testing.T) {
		p, _, err := compiled(t, `["x",{"pattern":"y"},"x"]`)
		var got []string
		for _, q := range p.Matching("xy") {
			got = append(got, q.Source())
		}
		if diff := cmp.Diff([]string{"x", "y", "x"}, got); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
	})
	t.Run("bk/CP9 [D] a report that panics changes nothing", func(t *testing.T) {
		c := Config{Confirm: texts("(", "ok", ")")}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the caller's panic was swallowed")
				}
			}()
			_, _ = Compile(c, func(Issue) { panic("caller") })
		}()
		if p, err := Compile(c, nil); err != nil || p.Len() != 1 {
			t.Errorf("afterwards: %v, %v", p, err)
		}
	})
}

// bk/CP10: what is not configured selects the table.
func TestMissingSelectsTheTable(t *testing.T) {
	if len(Shared()) != 6 {
		t.Errorf("the contract's table has %d entries", len(Shared()))
	}
	for _, s := range Defaults() {
		if re, why := expression(s.Pattern, true); re == nil || strings.TrimSpace(s.Effect) == "" {
			t.Errorf("%q: effect %q, %s", s.Pattern, s.Effect, why)
		}
	}
	p, err := Compile(Config{}, func(i Issue) { t.Error(i) })
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []Patterns{p, {}} { // the zero value too
		if _, ok := p.First("git status"); ok || p.Len() != len(Defaults()) {
			t.Errorf("%d patterns, want %d", p.Len(), len(Defaults()))
		}
		if q, ok := p.First("rm -rf x"); !ok || q.Effect() != Shared()[1].Effect {
			t.Errorf("%v, %v", q, ok)
		}
	}
}
