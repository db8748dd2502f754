package bridge

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"brainbox/bridge/tool"
	"brainbox/dirchain"
	"brainbox/gate"
	"brainbox/gate/confirm"
	"brainbox/gate/protect"
	"brainbox/gate/rule"
	"brainbox/gate/shell"
	"brainbox/internal/strictjson"
)

// file is a tool that writes one, if it wants to.
type file struct {
	do    atomic.Pointer[func() error]
	after func(*gate.Decision) // a look at what Do was given
}

type plannedFile struct {
	f    *file
	path string
}

func (f *file) Name() string    { return "file" }
func (f *file) Surface() string { return "write" }

func (f *file) Plan(input *strictjson.Value) (tool.Planned, error) {
	return &plannedFile{f, input.Get("text").Text}, nil
}

func (p *plannedFile) Reading() gate.Reading {
	return gate.Reading{Value: p.path, Targets: []gate.Target{{Path: p.path, Access: shell.WriteOnly}}}
}
func (p *plannedFile) Locks() []string { return nil }

func (p *plannedFile) Do(_ context.Context, d *gate.Decision) (*strictjson.Value, error) {
	p.f.after(d)
	return nil, (*p.f.do.Load())()
}

// Places that are held are held while the tool works, and let go of on every path.
func TestHeldPlacesAreClosed(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	root, err := dirchain.OpenRoot(dir, dirchain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	at := protect.Tree{Root: root}
	judge, _, err := protect.Compile(protect.Seat{}, protect.Options{Env: at})
	if err != nil {
		t.Fatal(err)
	}
	var held atomic.Int32
	f := &file{after: func(d *gate.Decision) {
		if len(d.Held) == 1 && d.Held[0].Target() != nil {
			held.Add(1)
		}
	}}
	s := newStand(t, func(c *Config) {
		own, err := rule.ParseJSON([]byte(rules))
		if err != nil {
			t.Fatal(err)
		}
		compiled, _, err := gate.Compile(gate.Policy{
			Rules:   rule.Config{Scopes: []rule.Scope{{Kind: rule.Global, Trusted: true, Rules: own}}, Homes: []string{"/h"}, Roots: []string{dir}},
			Confirm: confirm.Config{None: true}, AnyTool: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		if c.Gate, err = gate.New(gate.Config{Policy: compiled, Hub: c.Hub, Broker: c.Broker, Judge: judge, Resolver: gate.Places{Roots: []protect.Tree{at}}}); err != nil {
			t.Fatal(err)
		}
		c.Cwd, c.Tools = dir, []tool.Tool{f}
	})
	p := s.agent()
	before := openFDs(t)
	for i, tt := range []struct {
		path, want string
		do         func() error
	}{
		{".git/config", "unavailable/confirmation_unavailable", nil},
		{"a", "failed/internal_error", func() error { return errors.New("x") }},
		{"a", "failed/internal_error", func() error { panic("x") }},
		{"a", "succeeded", func() error { return nil }},
	} {
		f.do.Store(&tt.do)
		if got := p.call("tool.call", noteRequest(t, "n"+string(rune('0'+i)), "file", `{"text":"`+tt.path+`"}`)); word(got) != tt.want {
			t.Errorf("%s: %v, want %s", tt.path, got, tt.want)
		}
	}
	if now := openFDs(t); held.Load() != 3 || now != before {
		t.Errorf("held %d times; %d descriptors, before %d", held.Load(), now, before)
	}
}

func openFDs(t testing.TB) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}
