package shell

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"brainbox/bridge/run"
	"brainbox/bridge/tool"
	"brainbox/gate"
	"brainbox/gate/confirm"
	"brainbox/gate/event"
	"brainbox/gate/rule"
	"brainbox/internal/strictjson"
)

// inside runs commands as a launcher's host would, in a directory of the test.
type inside struct {
	dir string
	ran []Command
}

func (i *inside) Run(ctx context.Context, c Command) (*run.Result, error) {
	i.ran = append(i.ran, c)
	return run.Run(ctx, run.Command{Argv: c.Argv, Dir: i.dir, Env: []string{"PATH=/usr/bin:/bin"}}, run.Limits{Time: c.Timeout, Kill: 100 * time.Millisecond})
}

// newGate is a real gate with the table of patterns that confirm, and nobody to ask.
func newGate(t *testing.T, rules string) *gate.Gate {
	t.Helper()
	own, err := rule.ParseJSON([]byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := gate.Compile(gate.Policy{
		Rules:   rule.Config{Scopes: []rule.Scope{{Kind: rule.Global, Trusted: true, Rules: own}}, Homes: []string{"/h"}, Roots: []string{"/w"}},
		Confirm: confirm.Config{}, AnyTool: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	hub := event.New(event.Options{Session: "s1"})
	t.Cleanup(hub.Close)
	g, err := gate.New(gate.Config{Policy: p, Hub: hub, Unjudged: true})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

const allow = `{"*":"allow","bash":"allow","path":"allow","external_directory":"allow"}`

// call does what a server does.
func call(ctx context.Context, t *testing.T, g *gate.Gate, b *Bash, input map[string]any) (map[string]any, string) {
	t.Helper()
	text, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	v, err := strictjson.Decode(text, strictjson.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := b.Plan(v)
	if err != nil {
		return nil, code(t, err)
	}
	c := gate.Call{Surface: tool.SurfaceOf(b), Tool: b.Name(), Cwd: "/w", Args: text, Reading: p.Reading()}
	d := g.Decide(t.Context(), c)
	defer d.Close()
	if !d.Allowed {
		return nil, "not allowed: " + string(d.Resolution)
	}
	if err = d.Spend(c); err != nil {
		t.Fatal(err)
	}
	out, err := p.Do(ctx, &d)
	if err != nil {
		return nil, code(t, err)
	}
	var m map[string]any
	if err = json.Unmarshal(strictjson.Append(nil, out), &m); err != nil {
		t.Fatal(err)
	}
	return m, ""
}

func code(t *testing.T, err error) string {
	t.Helper()
	var r *tool.Refusal
	if !errors.As(err, &r) {
		t.Fatalf("no refusal: %v", err)
	}
	return r.Code
}

func newBash(t *testing.T, c Config) *Bash {
	t.Helper()
	b, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What is no command, and what overrides how one runs: bk/CT17, esc/BR-08.
func TestInput(t *testing.T) {
	in := &inside{dir: t.TempDir()}
	b := newBash(t, Config{Runner: in, Most: time.Minute})
	g := newGate(t, allow)
	for name, input := range map[string]map[string]any{
		"U+0000": {"command": "echo a\x00b"}, "none": {}, "empty": {"command": " \n"}, "no text": {"command": 1},
		"too long": {"command": strings.Repeat("x", MaxCommand+1)}, "no time": {"command": "true", "timeout_ms": 0},
		"too much time": {"command": "true", "timeout_ms": 60_001}, "half a time": {"command": "true", "timeout_ms": 1.5},
		"variables": {"command": "true", "env": map[string]string{"LD_PRELOAD": "/x"}}, "a directory": {"command": "true", "cwd": "/"},
		"an input": {"command": "true", "stdin": "x"}, "a shell": {"command": "true", "shell": "zsh"}, "arguments": {"command": "true", "argv": []string{"sh"}},
	} {
		want := "invalid_request"
		if name == "too long" {
			want = "payload_too_large"
		}
		if out, got := call(t.Context(), t, g, b, input); got != want {
			t.Errorf("%s: %q, %v", name, got, out)
		}
	}
	if len(in.ran) != 0 {
		t.Errorf("ran %v", in.ran)
	}
	out, got := call(t.Context(), t, g, b, map[string]any{"command": strings.Repeat(" ", MaxCommand-7) + "echo hi"}) // positive control
	if got != "" || len(in.ran) != 1 || text(out) != "hi\n" {
		t.Errorf("%q, %v", got, out)
	}
}

func text(out map[string]any) string {
	s := ""
	list, _ := out["output"].([]any)
	for _, c := range list {
		part, _ := c.(map[string]any)["text"].(string)
		s += part
	}
	return s
}

// The gate's patterns and rules: what is denied, or cannot be confirmed, is not run, and
// the turn goes on: bk/CT20, contract brainkit §3.2.
func TestGate(t *testing.T) {
	in := &inside{dir: t.TempDir()}
	b := newBash(t, Config{Runner: in})
	g := newGate(t, `{"*":"allow","bash":{"*":"allow","touch denied*":"deny"},"path":"allow","external_directory":"allow"}`)
	for command, want := range map[string]string{
		"touch denied":                   "not allowed: policy_deny",
		"git reset --hard":               "not allowed: confirmation_unavailable",
		"touch marker; git push --force": "not allowed: confirmation_unavailable",
	} {
		if _, got := call(t.Context(), t, g, b, map[string]any{"command": command}); got != want {
			t.Errorf("%q: %q, want %q", command, got, want)
		}
	}
	if all, err := os.ReadDir(in.dir); err != nil || len(all) > 0 || len(in.ran) > 0 {
		t.Errorf("%v, %v, ran %v", all, err, in.ran)
	}
	if _, got := call(t.Context(), t, g, b, map[string]any{"command": "touch marker"}); got != "" { // positive control
		t.Error(got)
	}
	if _, err := os.Lstat(in.dir + "/marker"); err != nil {
		t.Error(err)
	}
}

// A run as the caller is told it, and a host that cannot run: nothing runs on it.
func TestAnswer(t *testing.T) {
	in := &inside{dir: t.TempDir()}
	g := newGate(t, allow)
	b := newBash(t, Config{Runner: in})
	out, got := call(t.Context(), t, g, b, map[string]any{"command": "printf 'a\\377'; sleep 0.1; echo b >&2; exit 3"})
	want := `{"cause":"","dropped":0,"exit":3,"held":false,"output":[{"data":"Yf8=","stream":"stdout"},{"stream":"stderr","text":"b\n"}],"signal":"","truncated":false}`
	if is, err := json.Marshal(out); err != nil || got != "" || string(is) != want {
		t.Errorf("%s, %q, %v", is, got, err)
	}
	out, got = call(t.Context(), t, g, b, map[string]any{"command": "sleep 300", "timeout_ms": 100})
	if got != "" || out["cause"] != "timeout" || out["signal"] != "SIGTERM" {
		t.Errorf("%v, %q", out, got)
	}
	marker := t.TempDir() + "/marker"
	out, got = call(t.Context(), t, g, newBash(t, Config{}), map[string]any{"command": "touch " + marker, "timeout_ms": 5})
	if got != "" || out["place"] != "sandbox" || out["command"] != "touch "+marker || out["timeout_ms"] != 5.0 {
		t.Errorf("%v, %q", out, got)
	}
	if _, err := os.Lstat(marker); err == nil {
		t.Error("it ran on the host")
	}
	if _, got = call(t.Context(), t, g, newBash(t, Config{Runner: broken{}}), map[string]any{"command": "true"}); got != "command_start_failed" {
		t.Errorf("%q", got)
	}
}

type broken struct{}

func (broken) Run(context.Context, Command) (*run.Result, error) {
	return nil, errors.New("/secret/path")
}

// Given up before the lock or while it waited for it: never started. While it runs: ended.
// bk/CT15, bk/F11.
func TestCancelled(t *testing.T) {
	in := &inside{dir: t.TempDir()}
	g := newGate(t, allow)
	b := newBash(t, Config{Runner: in, LockKey: func(c string) string { return strings.TrimPrefix(c, "true") }})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, got := call(ctx, t, g, b, map[string]any{"command": "true"}); got != "cancelled" || len(in.ran) != 0 {
		t.Errorf("%q, ran %v", got, in.ran)
	}
	ctx, cancel = context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			if _, err := os.Stat(in.dir + "/runs"); err == nil {
				return
			}
		}
	}()
	began := time.Now()
	if _, got := call(ctx, t, g, b, map[string]any{"command": "touch runs; sleep 300"}); got != "cancelled" || len(in.ran) != 1 || time.Since(began) > time.Minute {
		t.Errorf("%q, ran %v", got, in.ran)
	}
	for command, want := range map[string]string{"true": "", "true repo-git": " repo-git"} {
		v := strictjson.Object(strictjson.Pair("command", strictjson.Text(command)))
		p, err := b.Plan(&v)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(p.Locks(), " "); got != want {
			t.Errorf("%q takes %q", command, got)
		}
		for name, d := range map[string]*gate.Decision{"none": nil, "zero": {}, "another": {Allowed: true, Reading: gate.Reading{Value: "false"}}} {
			if _, err := p.Do(t.Context(), d); code(t, err) != "authority_revoked" {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if _, err := New(Config{Most: MaxTimeout + 1}); err == nil {
		t.Error("a time without a bound")
	}
}

// FuzzPlan: whatever is planned is what the gate is told.
func FuzzPlan(f *testing.F) {
	f.Add(`{"command":"echo hi","timeout_ms":5}`)
	f.Add(`{"command":"a\u0000"}`)
	b, err := New(Config{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := strictjson.Decode([]byte(text), strictjson.Limits{})
		if err != nil {
			return
		}
		p, err := b.Plan(v)
		if err != nil {
			code(t, err)
			return
		}
		if r := p.Reading(); r.Value != v.Get("command").Text || len(r.Effect) != 32 || strings.Contains(r.Value, "\x00") {
			t.Errorf("%+v", r)
		}
	})
}
