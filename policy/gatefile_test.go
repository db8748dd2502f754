package policy

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseGateRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"version = 1\n[filesystem]\nwrite = [\".\"]\n":                 "g:2:2: a gate file holds",
		"version = 1\n[bridge]\nenvelope = \"x\"\n":                    "g:2:2: a gate file holds",
		"[gate]\nallowed_tools = [\"bash\"]\n":                         "version is missing",
		`{"bash": {"git *": "maybe"}}`:                                 "maybe",
		"{\"bash\": {\n \"git *\": \"deny\",\n \"git *\": \"allow\"}}": "g:3:2: permissions as JSON",
		`{"bash": {"action": "deny"}}`:                                 "stands where a pattern is expected",
		`{"bash": {"*": {"reason": "no"}}}`:                            "without action",
		`{"bash": {"*": {"action": "deny", "because": "no"}}}`:         "because",
		`{"bash": 1}`:                        "neither an action",
		`{"permission": {}, "bash": "deny"}`: "beside",
		`[{"surface": "bash", "pattern": "*", "action": "deny", "tool": "x"}]`:     "tool",
		`[{"surface": "bash", "action": "deny"}]`:                                  "without pattern",
		`[{"surface": "bash", "pattern": "*", "action": "deny", "reason": ["x"]}]`: "no string",
		`[["bash"]]`: "a rule is an object",
		`[{"surface": "bash", "pattern": "*", "action": "deny",}]`:                        "permissions as JSON",
		"version = 1\n[[gate.rule]]\nsurface = \"bash\"\npattern = \"*\"\naction = \"x\"": "g:5:10",
	} {
		l, err := ParseGate("g", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v, want %q", text, l, err, want)
		}
		var one *Error
		if !errors.As(err, &one) || one.Source.Name != "g" {
			t.Errorf("%s: %v has no place", text, err)
		}
	}
}

// The three forms say the same.
func TestParseGateReads(t *testing.T) {
	want := []Rule{
		{Surface: "*", Pattern: "*", Action: "ask"},
		{Surface: "bash", Pattern: "git *", Action: "allow"},
		{Surface: "bash", Pattern: "git push *", Action: "deny", Reason: "ask a person"},
	}
	for _, text := range []string{
		`{"*": "ask", "bash": {"git *": "allow", "git push *": {"action": "deny", "reason": "ask a person"}}}`,
		`{"permission": {"*": "ask", "bash": {"git *": {"action": "allow"}, "git push *": {"action": "deny", "reason": "ask a person"}}}}`,
		` [{"surface": "*", "pattern": "*", "action": "ask"}, {"surface": "bash", "pattern": "git *", "action": "allow"},
		 {"surface": "bash", "pattern": "git push *", "action": "deny", "reason": "ask a person"}]`,
		"version = 1\n[[gate.rule]]\nsurface = \"*\"\npattern = \"*\"\naction = \"ask\"\n[[gate.rule]]\nsurface = \"bash\"\npattern = \"git *\"\naction = \"allow\"\n" +
			"[[gate.rule]]\nsurface = \"bash\"\npattern = \"git push *\"\naction = \"deny\"\nreason = \"ask a person\"\n",
		"[gate]\nrule = [{ surface = \"*\", pattern = \"*\", action = \"ask\" }, { surface = \"bash\", pattern = \"git *\", action = \"allow\" }," +
			" { surface = \"bash\", pattern = \"git push *\", action = \"deny\", reason = \"ask a person\" }]\n",
	} {
		if strings.HasPrefix(text, "[gate]") {
			text = "# a header is no list\n" + text
			text = strings.Replace(text, "[gate]", "version = 1\n[gate]", 1)
		}
		l, err := ParseGate("g", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		p, err := Resolve(Input{}, l)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := p.Gate.Rules
		for i := range got {
			if s := p.Sources[got[i].Source]; s.Name != "g" || s.Line == 0 {
				t.Errorf("%s: rule %d is from %+v", text, i, s)
			}
			got[i].Source = 0
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	for _, text := range []string{"{}", "[]", `{"permission": {}}`} { // nothing is said: nothing is allowed either
		if l, err := ParseGate("g", []byte(text)); err != nil || len(l.Policy.Gate.Rules) != 0 {
			t.Errorf("%s: %+v, %v", text, l, err)
		}
	}
}

func FuzzParseGate(f *testing.F) {
	f.Add([]byte(`{"bash": {"git *": {"action": "deny", "reason": "x"}}}`))
	f.Add([]byte(`[{"surface": "*", "pattern": "*", "action": "ask"}]`))
	f.Add([]byte("version = 1\n[[gate.rule]]\nsurface = \"*\"\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := ParseGate("g", text)
		if (l == nil) == (err == nil) {
			t.Fatalf("%+v, %v", l, err)
		}
		if err != nil {
			return
		}
		for _, r := range l.Policy.Gate.Rules {
			if r.Surface == "" || r.Pattern == "" || r.Action != "allow" && r.Action != "ask" && r.Action != "deny" {
				t.Errorf("%q gives the rule %+v", text, r)
			}
		}
		if p := &l.Policy; len(p.Grants) > 0 || p.Bridge.Envelope != nil || len(p.Bridge.Roots) > 0 {
			t.Errorf("%q gives more than rules", text)
		}
	})
}
