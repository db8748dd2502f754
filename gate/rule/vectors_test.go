package rule

import (
	"errors"
	"path"
	"testing"

	"brainbox/gate/action"
	"brainbox/gate/shell"
)

const policyP = `{"*":"ask","bash":{"*":"ask","git *":"allow","git push *":"deny","cd *":"allow","ls *":"allow","npm *":"deny"},
	"read":"allow","path":{"*":"allow","*.env":"deny"},"external_directory":{"*":"ask","~/cache/*":"allow"}}`

// links is a file system of names: a link's target, or "" for a file.
type links map[string]string

func (l links) Resolve(p string) (string, bool, error) {
	if p == "/w/p/out/../x" { // after the link
		return "/etc/x", true, nil
	}
	p = path.Clean(p)
	if to, ok := l[p]; ok && to != "" {
		if !path.IsAbs(to) {
			to = path.Join(path.Dir(p), to)
		}
		return to, true, nil
	} else if ok {
		return p, true, nil
	}
	if p == "/cannot" {
		return "", false, errors.New("no")
	}
	return p, false, nil
}

var files = links{"/w/p/link": ".env", "/w/p/out": "/etc/hosts", "/w/p/bin": "/usr/bin/npm", "/w/p/id_rsa": ""}

func mustParse(t testing.TB, text string) []Rule {
	t.Helper()
	rules, err := ParseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

func mustCompile(t testing.TB, scopes ...Scope) *Set {
	t.Helper()
	s, _, err := Compile(config(scopes...))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func config(scopes ...Scope) Config {
	return Config{Scopes: scopes, Homes: []string{"/h"}, Roots: []string{"/w/p"}, Tools: []string{"deploy"}}
}

func global(t testing.TB, text string) Scope {
	t.Helper()
	return Scope{Kind: Global, Rules: mustParse(t, text)}
}

func ask(surface, value string) Query {
	return Query{Surface: surface, Value: value, Dir: "/w/p", Resolver: files}
}

type vector struct {
	id, policy     string // policy: policyP if empty
	surface, value string
	want           action.Action
	on, pattern    string // surface and pattern of the answer that decides; empty: not compared
}

const (
	deny  = action.Deny
	asks  = action.Ask
	allow = action.Allow
)

// vectors are those of contract bridge-and-gate, section D.7.
func vectors() []vector {
	all := `{"bash":{"*":"allow"}}`
	return []vector{
		{"bg/D01", "", "bash", "git status", allow, "bash", "git *"},
		{"bg/D02", "", "bash", "git", allow, "bash", "git *"},
		{"bg/D03", "", "bash", "git push origin", deny, "bash", "git push *"},
		{"bg/D04", `{"bash":{"git push *":"deny","git *":"allow"}}`, "bash", "git push origin", allow, "bash", "git *"},
		{"bg/D05", "", "bash", "gitk", asks, "bash", "*"},
		{"bg/D06", "", "bash", "cd /w/p && npm i x", deny, "bash", "npm *"},
		{"bg/D07", "", "bash", "ls; ls | ls & ls", allow, "bash", "ls *"},
		{"bg/D08", "", "bash", `ls "a && npm i"`, allow, "bash", "ls *"},
		{"bg/D09", "", "bash", "ls $(npm i)", deny, "bash", "npm *"},
		{"bg/D09", "", "bash", "ls `npm i`", deny, "bash", "npm *"},
		{"bg/D09", "", "bash", "ls <(npm i)", deny, "bash", "npm *"},
		{"bg/D09", "", "bash", "(npm i)", deny, "bash", "npm *"},
		{"bg/D10", "", "bash", "ls > $(npm i)", deny, "bash", "npm *"},
		{"bg/D11", "", "bash", "cat <<EOF\n$(npm i)\nEOF\n", deny, "bash", "npm *"},
		{"bg/D11", "", "bash", "cat <<'EOF'\n$(npm i)\nEOF\n", asks, "bash", "*"},
		{"bg/D12", "", "bash", "FOO=1 npm i", deny, "bash", "npm *"},
		{"bg/D13", "", "bash", "PATH=/tmp git status", asks, "bash", ""},
		{"bg/D14", all, "bash", `bash -c "git status"`, asks, "bash", "<opaque-bash-wrapper>"},
		{"bg/D15", all, "bash", "sudo ls", asks, "bash", "<indirection-bash-wrapper>"},
		{"bg/D16", `{"bash":{"*":"allow","* npm *":"deny"}}`, "bash", "sudo npm i", deny, "bash", "* npm *"},
		{"bg/D17", "", "bash", "if true; then npm i; fi", deny, "bash", "npm *"},
		{"bg/D18", "", "bash", `ls "`, asks, "bash", "<unparseable-bash-command>"},
		{"bg/D19", "", "bash", "# hi", allow, "bash", ""},
		{"bg/D20", "", "bash", "git status\nnpm i", deny, "bash", "npm *"},
		{"bg/D21", "", "read", "src/a.go", allow, "read", "*"},
		{"bg/D22", "", "read", ".env", deny, PathRead, "*.env"},
		{"bg/D23", "", "read", "/w/p/link", deny, PathRead, "*.env"},
		{"bg/D24", "", "bash", "ls .env", deny, PathRead, "*.env"},
		{"bg/D25", "", "bash", "git log > x.env", deny, PathWrite, "*.env"},
		{"bg/D26", "", "read", "/etc/hosts", asks, ExternalRead, "*"},
		{"bg/D27", "", "read", "/h/cache/a/b", allow, "", ""},
		{"bg/D28", `{"write":"allow","external_directory_read":{"~/cache/*":"allow"}}`, "write", "/h/cache/a", asks, ExternalWrite, ""},
		{"bg/D29", "", "read", "$HOME/x", allow, "read", "*"},
		{"bg/D30", "", "bash", `cd "$D" && ls x.env`, deny, PathRead, "*.env"},
		{"bg/D40", "", "bash", "cd / && npm i", deny, "bash", "npm *"},
	}
}

func TestVectors(t *testing.T) {
	for _, v := range vectors() {
		t.Run(v.id+" "+v.value, func(t *testing.T) {
			if v.policy == "" {
				v.policy = policyP
			}
			set := mustCompile(t, global(t, v.policy))
			q := ask(v.surface, v.value)
			got, err := set.Check(q)
			if err != nil || got.Action != v.want || v.on != "" && got.Surface != v.on || v.pattern != "" && got.Pattern != v.pattern {
				t.Errorf("%v by %s %q, %v; want %v by %s %q", got.Action, got.Surface, got.Pattern, err, v.want, v.on, v.pattern)
			}
			d := Fold(set.Evaluate(q), Inputs{})
			if want := map[action.Action]Resolution{deny: PolicyDeny, asks: Unsettled, allow: PolicyAllow}[v.want]; d.Resolution != want {
				t.Errorf("resolution %q, want %q", d.Resolution, want)
			}
		})
	}
}

func TestVectorsOfConfiguration(t *testing.T) {
	decide := func(q Query, scopes ...Scope) Decision { return Fold(mustCompile(t, scopes...).Evaluate(q), Inputs{}) }
	p := global(t, policyP)
	t.Run("bg/D34 standing consent", func(t *testing.T) {
		set := mustCompile(t, p)
		if d := Fold(set.Evaluate(ask("bash", "make")), Inputs{OnAskAllow: true}); d.Action != allow || d.Resolution != AutoApproved || d.Answer.Origin != OriginYolo {
			t.Errorf("make: %v %s", d.Action, d.Resolution)
		}
		if d := Fold(set.Evaluate(ask("bash", "git push origin")), Inputs{OnAskAllow: true}); d.Action != deny || d.Resolution != PolicyDeny {
			t.Errorf("git push: %v %s", d.Action, d.Resolution)
		}
	})
	t.Run("bg/D35 a project file loosens nothing", func(t *testing.T) {
		project := Scope{Kind: Project, Rules: mustParse(t, `{"bash":"allow"}`)}
		if d := decide(ask("bash", "make"), p, project); d.Action != asks {
			t.Errorf("%v", d.Action)
		}
		project.Trusted = true
		if d := decide(ask("bash", "make"), p, project); d.Action != allow || d.Answer.Origin != OriginProject {
			t.Errorf("trusted: %v %s", d.Action, d.Answer.Origin)
		}
	})
	t.Run("bg/D36 a project file tightens", func(t *testing.T) {
		d := decide(ask("bash", "ls a"), p, Scope{Kind: Project, Rules: mustParse(t, `{"bash":{"ls *":"deny"}}`)})
		if d.Action != deny || d.Answer.Origin != OriginProject {
			t.Errorf("%v %s", d.Action, d.Answer.Origin)
		}
	})
	t.Run("bg/D37 a project file that cannot be read", func(t *testing.T) {
		_, broken := ParseJSON([]byte(`{"bash":{"ls *":"deny",}}`))
		set, notices, err := Compile(config(p, Scope{Kind: Project, Err: broken}))
		if broken == nil || err != nil || len(notices) != 1 {
			t.Fatalf("%v, %v, %v", broken, notices, err)
		}
		if d := Fold(set.Evaluate(ask("bash", "git status")), Inputs{}); d.Action != asks || d.Answer.Origin != OriginFailClosed {
			t.Errorf("allowed: %v %s", d.Action, d.Answer.Origin)
		}
		if d := Fold(set.Evaluate(ask("bash", "npm i")), Inputs{}); d.Action != deny || d.Answer.Origin != OriginGlobal {
			t.Errorf("denied: %v %s", d.Action, d.Answer.Origin)
		}
		if _, _, err := Compile(config(Scope{Kind: Global, Err: broken})); err == nil {
			t.Error("a global scope that cannot be read compiles")
		}
	})
	t.Run("bg/D41 bg/D42 surfaces that are none", func(t *testing.T) {
		set := mustCompile(t, p)
		if _, err := set.Check(ask("nope", "x")); !errors.Is(err, ErrUnknownSurface) {
			t.Errorf("bg/D41: %v", err)
		}
		if _, err := set.Check(ask("", "x")); !errors.Is(err, ErrNoSurface) {
			t.Errorf("bg/D42: %v", err)
		}
		if d := Fold(set.Evaluate(ask("nope", "x")), Inputs{}); d.Action != asks {
			t.Errorf("enforced: %v", d.Action)
		}
		if a, err := set.Check(ask("deploy", "x")); err != nil || a.Action != asks {
			t.Errorf("a declared tool: %v, %v", a.Action, err)
		}
	})
}

// TestEscapes has the rows of area N that rules can answer.
func TestEscapes(t *testing.T) {
	git := `{"bash":{"*":"ask","git *":"allow"}}`
	open := `{"bash":{"*":"allow","npx *":"deny","npm *":"deny","git push *":"deny"}}`
	for _, c := range []struct {
		id, policy, value string
		want              action.Action
	}{
		{"esc/GT-08", git, "git status $(touch X)", asks},
		{"esc/GT-08", git, "git status `touch X`", asks},
		{"esc/GT-08", git, "git diff <(touch X) a", asks},
		{"esc/GT-08", open, "git $X origin", asks},
		{"esc/GT-09", git, "X=$(touch X) git --version", asks},
		{"esc/GT-09", git, "A[$(touch X)]=1 git x", asks},
		{"esc/GT-10", git, "CI=1 git push", asks},
		{"esc/GT-10", `{"bash":{"*":"ask","git *":"allow","CI=1 git *":"allow"}}`, "CI=1 git log", allow},
		{"esc/GT-10", open, "CI=1 git push", deny},
		{"esc/GT-11", git, "git status\ntouch X", asks},
		{"esc/GT-11", git, "git status;touch X", asks},
		{"esc/GT-11", git, "git status&touch X", asks},
		{"esc/GT-11", git, "git status|touch X", asks},
		{"esc/GT-11", git, "git\tstatus", asks},
		{"esc/GT-11", git, "git status\rtouch X", asks},
		{"esc/GT-11", open, "git \\\n push", deny},
		{"esc/GT-11", open, "git push$IFS--force", asks},
		{"esc/GT-11", open, "git$IFS\"push\"", asks},
		{"esc/GT-11", open, `git $'pu\x73h'`, asks},
		{"esc/GT-11", open, `g"it" pu\sh`, deny},
		{"esc/GT-12", open, "git -C . --no-pager push", deny},
		{"esc/GT-12", open, "env npx x", deny},
		{"esc/GT-12", open, "xargs -n1 npx x", deny},
		{"esc/GT-12", open, "find . -exec ls ;", asks},
		{"esc/GT-12", open, "git -c alias.x='!y' x", asks},
		{"esc/GT-12", open, "make SHELL=/tmp/x", asks},
		{"esc/GT-13", open, "/proc/self/root/usr/bin/npx x", deny},
		{"esc/GT-13", open, "./bin i", deny},
		{"esc/GT-13", open, "/lib64/ld-linux-x86-64.so.2 /usr/bin/npx", deny},
		{"esc/GT-13", git, "/tmp/git status", asks},
		{"esc/GT-14", `{"bash":{"*":"ask","agy-delegate *":"allow"}}`, "rm x # agy-delegate", asks},
		{"esc/GT-14", `{"bash":{"*":"ask","ls *":"allow"}}`, "rm 'ls x'", asks},
	} {
		if got, err := mustCompile(t, global(t, c.policy)).Check(Query{Surface: Bash, Value: c.value, Dir: "/w/p", Resolver: everything{}}); err != nil || got.Action != c.want {
			t.Errorf("%s %q: %v by %q, want %v", c.id, c.value, got.Action, got.Pattern, c.want)
		}
	}
}

// everything has every file, so that paths do not decide, and the link bin.
type everything struct{}

func (everything) Resolve(p string) (string, bool, error) {
	if path.Clean(p) == "/w/p/bin" {
		return "/usr/bin/npm", true, nil
	}
	return "/w/p/" + path.Base(p), true, nil
}

var _ Resolver = everything{}

func TestFloorsAreNoPatterns(t *testing.T) {
	set := mustCompile(t, global(t, `{"bash":{"*":"allow"}}`))
	d := Fold(set.Evaluate(ask("bash", "sudo ls")), Inputs{})
	if d.Action != asks || len(d.Asks) != 1 || d.Asks[0].Floor != shell.Indirection || d.Asks[0].Shown() != string(shell.Indirection) {
		t.Errorf("%v %+v", d.Action, d.Asks)
	}
}
