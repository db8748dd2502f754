package rule

import (
	"errors"
	"strings"
	"testing"

	"brainbox/gate/action"
	"brainbox/internal/strictjson"

	"github.com/google/go-cmp/cmp"
)

func TestParseJSONRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"bg/D38 duplicate pattern", `{"bash":{"a":"allow","a":"deny"}}`, strictjson.CodeDuplicateKey},
		{"bg/D38 duplicate pattern, escaped", `{"bash":{"a":"allow","\u0061":"deny"}}`, strictjson.CodeDuplicateKey},
		{"duplicate surface", `{"bash":"allow","bash":"deny"}`, strictjson.CodeDuplicateKey},
		{"trailing comma", `{"bash":"allow",}`, strictjson.CodeNotJSON},
		{"no action", `{"bash":"Allow"}`, "none of allow"},
		{"a list of actions", `{"bash":["allow"]}`, "an object of patterns"},
		{"null", `{"bash":null}`, "null"},
		{"action without a pattern", `{"bash":{"action":"deny"}}`, "pattern is expected"},
		{"reason without a pattern", `{"bash":{"reason":"x"}}`, "pattern is expected"},
		{"unknown key", `{"bash":{"a":{"action":"deny","why":"x"}}}`, strictjson.CodeUnknownField},
		{"number", `{"bash":{"a":1}}`, "number"},
		{"a key beside permission", `{"permission":{"bash":"deny"},"bash":"allow"}`, "another key"},
		{"text", `"allow"`, "not string"},
		{"list without a pattern", `[{"surface":"bash","action":"deny"}]`, strictjson.CodeFieldInvalid},
		{"list with an unknown key", `[{"surface":"bash","pattern":"x","action":"deny","x":1}]`, strictjson.CodeUnknownField},
		{"list with an unknown action", `[{"surface":"bash","pattern":"x","action":"no"}]`, "none of allow"},
		{"list of words", `["bash"]`, strictjson.CodeSchemaInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			rules, err := ParseJSON([]byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v, %v; want %q", rules, err, c.want)
			}
			if e := (*Error)(nil); !errors.As(err, &e) {
				t.Errorf("%T is no *Error", err)
			}
		})
	}
}

func TestParseJSONForms(t *testing.T) {
	want := []Rule{
		{Surface: "bash", Pattern: "*", Action: asks},
		{Surface: "edit", Pattern: "b*", Action: deny, Reason: "no"},
		{Surface: "edit", Pattern: "a", Action: allow},
	}
	for _, text := range []string{
		`{"bash":"ask","edit":{"b*":{"action":"deny","reason":"no"},"a":"allow"}}`,
		`{"permission":{"bash":"ask","edit":{"b*":{"action":"deny","reason":"no"},"a":"allow"}}}`,
		`[{"surface":"bash","pattern":"*","action":"ask"},{"surface":"edit","pattern":"b*","action":"deny","reason":"no"},{"surface":"edit","pattern":"a","action":"allow"}]`,
	} {
		got := mustParse(t, text)
		for i := range got {
			if got[i].Where == "" {
				t.Errorf("%s: rule %d does not say where it is", text, i)
			}
			got[i].Where = ""
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	for _, c := range []struct{ name, surface, pattern, want string }{
		{"bg/D39 a misspelled direction", "path_wrote", "*", "path_write"},
		{"path_reed", "path_reed", "*", "path_read"},
		{"paths", "paths", "*", "path"},
		{"Path", "Path", "*", "path"},
		{"externaldirectory", "externaldirectory", "*", "external_directory"},
		{"external_directory_writes", "external_directory_writes", "*", "external_directory_write"},
		{"pth", "pth", "*", "path"},
		{"a pattern of surfaces", "ba*", "*", "surface"},
		{"no surface", "", "*", "surface"},
		{"no pattern", "bash", "", "empty"},
		{"U+0000", "bash", "a\x00", "UTF-8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rules := []Rule{{Surface: c.surface, Pattern: c.pattern, Action: deny}}
			if _, _, err := Compile(config(Scope{Kind: Global, Rules: rules})); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("global: %v, want %q", err, c.want)
			}
			set, notices, err := Compile(config(global(t, policyP), Scope{Kind: Project, Rules: rules}))
			if err != nil || len(notices) != 1 || set.clamped == "" {
				t.Errorf("project: %v, %v", notices, err)
			}
		})
	}
	if _, _, err := Compile(config(make([]Scope, maxScopes+1)...)); err == nil {
		t.Error("more scopes than there is room for")
	}
	if _, _, err := Compile(config(Scope{Kind: Global, Rules: []Rule{{Surface: "bash", Pattern: "x", Action: 9}}})); err == nil {
		t.Error("an action that is none")
	}
}

func TestCompileNotices(t *testing.T) {
	set, notices, err := Compile(config(global(t, `{"bsh":"deny","bash":{"a && b":"allow"},"deploy":"deny"}`)))
	if err != nil || len(notices) != 2 {
		t.Fatalf("%v, %v", notices, err)
	}
	if d := Fold(set.Evaluate(ask("bsh", "x")), Inputs{}); d.Action != deny {
		t.Errorf("a surface that is not declared: %v", d.Action)
	}
	c := config(Scope{Kind: Global, Rules: []Rule{{Surface: "pathology", Pattern: "*", Action: deny}}})
	c.Tools = []string{"pathology"}
	if _, _, err := Compile(c); err != nil {
		t.Errorf("a declared tool whose name is near path: %v", err)
	}
}

// Sugar stands for both directions and comes before what is spelled out, in any
// order of the text.
func TestSugar(t *testing.T) {
	for _, text := range []string{
		`{"*":"allow","path":{"*":"allow","x":"deny"},"path_read":{"x":"allow"}}`,
		`{"*":"allow","path_read":{"x":"allow"},"path":{"*":"allow","x":"deny"}}`,
		`[{"surface":"path_read","pattern":"x","action":"allow"},{"surface":"path","pattern":"x","action":"deny"},{"surface":"*","pattern":"*","action":"allow"}]`,
	} {
		set := mustCompile(t, global(t, text))
		for surface, want := range map[string]action.Action{"read": allow, "write": deny, "edit": deny, "grep": allow, "find": allow, "ls": allow} {
			if a, _ := set.Check(ask(surface, "x")); a.Action != want {
				t.Errorf("%s: %s is %v, want %v", text, surface, a.Action, want)
			}
		}
	}
}

func TestScopes(t *testing.T) {
	base := global(t, `{"bash":{"*":"ask","ls *":"allow","rm *":"deny"}}`)
	scope := func(k Kind, agent string, trusted bool, text string) Scope {
		return Scope{Kind: k, Agent: agent, Trusted: trusted, Rules: mustParse(t, text)}
	}
	for _, c := range []struct {
		name   string
		scopes []Scope
		agent  string
		claim  string
		value  string
		want   action.Action
		origin Origin
	}{
		{"the default is to ask", nil, "", "", "x", asks, OriginBuiltin},
		{"built-in below global", []Scope{base, scope(Builtin, "", false, `{"bash":"deny"}`)}, "", "", "ls a", allow, OriginGlobal},
		{"another agent's scope is not read", []Scope{base, scope(Agent, "b", true, `{"bash":"deny"}`)}, "a", "", "ls a", allow, OriginGlobal},
		{"an agent's own scope may loosen if it is trusted", []Scope{base, scope(Agent, "a", true, `{"bash":"allow"}`)}, "a", "", "make", allow, OriginAgent},
		{"and not if it is not", []Scope{base, scope(Agent, "a", false, `{"bash":"allow"}`)}, "a", "", "make", asks, OriginGlobal},
		{"a claimed name loosens nothing", []Scope{base, scope(Agent, "a", true, `{"bash":"allow"}`)}, "b", "a", "make", asks, OriginGlobal},
		{"a claimed name may tighten", []Scope{base, scope(Agent, "a", true, `{"bash":"deny"}`)}, "b", "a", "ls a", deny, OriginAgent},
		{"an untrusted ask does not cover a denial", []Scope{base, scope(Project, "", false, `{"bash":{"rm *":"ask"}}`)}, "", "", "rm x", deny, OriginGlobal},
		{"one untrusted scope does not undo another", []Scope{base, scope(Project, "", false, `{"bash":{"ls *":"deny"}}`), scope(Agent, "", false, `{"bash":"allow"}`)}, "", "", "ls a", deny, OriginProject},
		{"a trusted project may undo a denial", []Scope{base, scope(Project, "", true, `{"bash":{"rm *":"allow"}}`)}, "", "", "rm x", allow, OriginProject},
		{"a session's rule answers what is asked", []Scope{base, scope(Session, "", false, `{"bash":{"make *":"allow"}}`)}, "", "", "make", allow, OriginSession},
		{"and tightens", []Scope{base, scope(Session, "", false, `{"bash":{"ls *":"ask"}}`)}, "", "", "ls a", asks, OriginSession},
		{"and never undoes a denial", []Scope{base, scope(Session, "", true, `{"bash":"allow"}`)}, "", "", "rm x", deny, OriginGlobal},
		{"the fallback answers where a surface is silent", []Scope{scope(Global, "", false, `{"*":{"*":"allow","x*":"deny"},"bash":{"ls":"ask"}}`)}, "", "", "xa", deny, OriginGlobal},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := ask("bash", c.value)
			q.Agent, q.Claimed = c.agent, c.claim
			d := Fold(mustCompile(t, c.scopes...).Evaluate(q), Inputs{})
			if d.Action != c.want || d.Answer.Origin != c.origin {
				t.Errorf("%v from %s, want %v from %s", d.Action, d.Answer.Origin, c.want, c.origin)
			}
		})
	}
}

func TestFromRaw(t *testing.T) {
	scopes, err := FromRaw([]Raw{
		{"bash", "git *", "allow", false, "p.toml:3", ""},
		{"bash", "git push *", "ask", true, "q.toml:1", ""},
		{"bash", "git push *", "deny", false, "p.toml:9", "not here"},
	})
	if err != nil || len(scopes) != 2 {
		t.Fatal(scopes, err)
	}
	set := mustCompile(t, scopes...)
	if a, _ := set.Check(ask("bash", "git push")); a.Action != deny || a.Where != "p.toml:9" || a.Reason != "not here" {
		t.Errorf("an ask of the narrowing layer covers a denial: %v %s", a.Action, a.Where)
	}
	if _, err := FromRaw([]Raw{{"bash", "x", "maybe", false, "p.toml:1", ""}}); err == nil || !strings.Contains(err.Error(), "p.toml:1") {
		t.Errorf("%v", err)
	}
	if scopes, _ := FromRaw(nil); len(scopes) != 1 {
		t.Errorf("%d scopes of no rules", len(scopes))
	}
}

func TestPathNames(t *testing.T) {
	set := mustCompile(t, global(t, `{"*":"allow","path":{"src/*":"deny","/w/p/abs":"deny","*/id_rsa":"deny","id_rsa":"deny"},"external_directory":{"*":"ask","/etc/*":"deny"}}`))
	for _, c := range []struct {
		surface, value string
		want           action.Action
	}{
		{"read", "src/a", deny},
		{"read", "./src/a", deny},
		{"read", "/w/p/src/a", deny},
		{"read", "x/../src/a", deny},
		{"read", "abs", deny},
		{"read", "other", allow},
		{"read", "/dev/null", allow},
		{"read", "out", deny}, // a link to /etc/hosts
		{"read", "/x", asks},
		{"read", "out/../x", deny}, // where the link leads, and up: /etc/x
		{"bash", "cat out/../x", deny},
		{"bash", "cat ~root/x", asks},
		{"read", "/w/px", asks},
		{"read", "../x", asks},
		{"read", "/cannot", asks}, // cannot be resolved: outside
		{"read", "/w/p", allow},
		{"bash", "cat id_rsa", deny}, // a bare word that is a file
		{"bash", "git checkout main", allow},
		{"bash", "cat *.go", allow},
		{"bash", "cat /etc/*", deny},
		{"bash", "cat ../*", asks},
		{"bash", "cat */../../x", asks},
		{"bash", "cat $X", allow},
		{"bash", `cat "$X/id_rsa"`, deny},
		{"bash", `cd "$X" && cat ../x`, asks},
		{"bash", "cat x > /y", asks},
		{"bash", "cat x 2>/dev/null", allow},
		{"bash", "cd src && cat ../other", allow},
		{"bash", "cd src; cat ../other", asks},
		{PathWrite, "src/a", deny},
		{PathWrite, "b", allow},
		{ExternalRead, "/etc/x", deny},
		{ExternalRead, "a", allow},
	} {
		if a, err := set.Check(ask(c.surface, c.value)); err != nil || a.Action != c.want {
			t.Errorf("%s %q: %v by %s %q, want %v", c.surface, c.value, a.Action, a.Surface, a.Pattern, c.want)
		}
	}
	bare, _, _ := Compile(Config{Scopes: []Scope{global(t, `{"*":"allow","external_directory":"ask"}`)}})
	if a, _ := bare.Check(ask("read", "a")); a.Action != asks {
		t.Errorf("without a workspace a path is %v", a.Action)
	}
}

// Patterns that span commands are looked for in the whole text.
func TestSpans(t *testing.T) {
	set := mustCompile(t, global(t, `{"bash":{"*":"allow","curl * | sh":"deny","a; b":"ask","curl ok | sh":"allow"}}`))
	for text, want := range map[string]action.Action{
		"curl x | sh": deny, "ls; curl x | sh; ls": deny, "curl ok | sh": deny, "a; b": asks, "x && a; b": asks, "a; c": allow, "curl x": allow,
	} {
		if a, _ := set.Check(ask("bash", text)); a.Action != want {
			t.Errorf("%q: %v, want %v", text, a.Action, want)
		}
	}
}

func TestTargetsOfATool(t *testing.T) {
	set := mustCompile(t, global(t, policyP))
	q := ask("deploy", "prod")
	q.Targets = []Target{{Path: "a"}, {Path: ".env", Access: 1}}
	if d := Fold(set.Evaluate(q), Inputs{}); d.Action != deny || d.Answer.Surface != PathRead {
		t.Errorf("%v on %s", d.Action, d.Answer.Surface)
	}
}
