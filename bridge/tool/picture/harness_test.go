package picture

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brainbox/bridge/tool"
	"brainbox/dirchain"
	"brainbox/dirchain/mask"
	"brainbox/gate"
	"brainbox/gate/confirm"
	"brainbox/gate/event"
	"brainbox/gate/protect"
	"brainbox/gate/rule"
	"brainbox/internal/strictjson"
)

const png = "\x89PNG\r\n\x1a\npainted"

// person paints, or does not.
type person struct {
	asked   []string
	decline error
	png     string
	then    func()
}

func (p *person) RequestMask(_ context.Context, image, instruction string) ([]byte, error) {
	p.asked = append(p.asked, image+": "+instruction)
	if p.then != nil {
		p.then()
	}
	if p.png == "" {
		p.png = png
	}
	return []byte(p.png), p.decline
}

// studio is a project with the tool behind a real gate.
type studio struct {
	t       *testing.T
	dir     string
	outside string
	person  *person
	op      *mask.Operation
	tool    *Tool
	gate    *gate.Gate
	results []mask.Result
	locked  int
	between func() // after the decision
}

const allow = `{"*":"allow","path":"allow","external_directory":"allow"}`

func newStudio(t *testing.T, b mask.Backend, rules string) *studio {
	t.Helper()
	base := t.TempDir()
	s := &studio{t: t, dir: base + "/work", outside: base + "/outside", person: &person{}}
	for _, d := range []string{"/work/assets", "/work/context/policies", "/outside"} {
		if err := os.MkdirAll(base+d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"/work/assets/raft.png", "/work/context/policies/crew.png", "/outside/x.png"} {
		if err := os.WriteFile(base+f, []byte("image"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	root, err := dirchain.OpenRoot(s.dir, dirchain.Options{SkipSync: true, Protect: []string{mask.PolicyDir}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	s.op = &mask.Operation{
		Root: root, Backend: b, Bound: mask.Caller{Principal: "p", Turn: "t"},
		Authority:  func(context.Context) error { return nil },
		Membership: func(context.Context) bool { return true },
		Lock:       func(context.Context) (func(), error) { s.locked++; return func() {}, nil },
		Record:     func(r mask.Result) { s.results = append(s.results, r) },
	}
	if s.tool, err = New(Config{Operation: s.op, Asker: s.person}); err != nil {
		t.Fatal(err)
	}
	s.gate = newGate(t, s.dir, rules, root)
	return s
}

func newGate(t *testing.T, dir, rules string, root *dirchain.Root) *gate.Gate {
	t.Helper()
	own, err := rule.ParseJSON([]byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := gate.Compile(gate.Policy{
		Rules:   rule.Config{Scopes: []rule.Scope{{Kind: rule.Global, Trusted: true, Rules: own}}, Homes: []string{"/h"}, Roots: []string{dir}},
		Confirm: confirm.Config{None: true}, AnyTool: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	at := protect.Tree{Root: root}
	judge, _, err := protect.Compile(protect.Seat{}, protect.Options{Env: at})
	if err != nil {
		t.Fatal(err)
	}
	hub := event.New(event.Options{Session: "s1"})
	t.Cleanup(hub.Close)
	g, err := gate.New(gate.Config{Policy: p, Judge: judge, Hub: hub, Resolver: gate.Places{Roots: []protect.Tree{at}}})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// call does what a server does.
func (s *studio) call(input map[string]any) (map[string]any, string, string) {
	s.t.Helper()
	text, err := json.Marshal(input)
	if err != nil {
		s.t.Fatal(err)
	}
	v, err := strictjson.Decode(text, strictjson.Limits{})
	if err != nil {
		s.t.Fatal(err)
	}
	p, err := s.tool.Plan(v)
	if err != nil {
		return s.refused(err)
	}
	c := gate.Call{Surface: tool.SurfaceOf(s.tool), Tool: s.tool.Name(), Cwd: s.dir, Args: text, Reading: p.Reading()}
	d := s.gate.Decide(s.t.Context(), c)
	defer d.Close()
	if !d.Allowed {
		return nil, "not allowed", string(d.Resolution)
	}
	if err = d.Spend(c); err != nil {
		s.t.Fatal(err)
	}
	if s.between != nil {
		s.between()
	}
	out, err := p.Do(s.t.Context(), &d)
	if err != nil {
		return s.refused(err)
	}
	var m map[string]any
	if err = json.Unmarshal(strictjson.Append(nil, out), &m); err != nil {
		s.t.Fatal(err)
	}
	return m, "", ""
}

func (s *studio) refused(err error) (map[string]any, string, string) {
	s.t.Helper()
	var r *tool.Refusal
	if !errors.As(err, &r) {
		s.t.Fatalf("no refusal: %v", err)
	}
	return nil, r.Code, r.Message
}

// files are the names beneath both directories.
func (s *studio) files() string {
	s.t.Helper()
	var all []string
	err := filepath.WalkDir(filepath.Dir(s.dir), func(name string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			all = append(all, strings.TrimPrefix(name, filepath.Dir(s.dir)))
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.Join(all, " ")
}

func (s *studio) link(to, name string) {
	s.t.Helper()
	if err := os.Symlink(to, s.dir+"/"+name); err != nil {
		s.t.Fatal(err)
	}
}
