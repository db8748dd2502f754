package bridgetest

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"brainbox/bridge"
	"brainbox/bridge/tool/files"
	"brainbox/bridge/tool/shell"
	"brainbox/bridge/wire"
	"brainbox/dirchain"
	"brainbox/gate"
	"brainbox/gate/confirm"
	"brainbox/gate/event"
	"brainbox/gate/prompt"
	"brainbox/gate/protect"
	"brainbox/gate/rule"
)

// Real is a bridge with everything that belongs to it: a gate, prompts, the tools that work
// on files in one root "repo", and bash, which is run by the caller.
type Real struct {
	Dir     string // the root
	Agent   string // the agents' socket
	UI      string // the operators'
	KeyFile string
	Server  *bridge.Server
	Hub     *event.Hub
}

// StartReal serves a real bridge in a folder of its own until the test ends. rules are the
// gate's, as JSON.
func StartReal(t testing.TB, rules string) *Real {
	t.Helper()
	return StartRealWaiting(t, rules, 100*time.Millisecond)
}

// StartRealWaiting is StartReal with another time that a prompt waits while nobody can answer.
func StartRealWaiting(t testing.TB, rules string, grace time.Duration) *Real {
	t.Helper()
	base, err := os.MkdirTemp("", "bt") //nolint:usetesting // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	if base, err = filepath.EvalSymlinks(base); err != nil {
		t.Fatal(err)
	}
	r := &Real{
		Dir: base + "/w", Agent: base + "/a/agent.sock", UI: base + "/u/ui.sock", KeyFile: base + "/key",
		Hub: event.New(event.Options{Session: "s1"}),
	}
	t.Cleanup(r.Hub.Close)
	key := wire.NewKey()
	if err := errors.Join(os.Mkdir(r.Dir, 0o755), wire.WriteKey(r.KeyFile, key)); err != nil {
		t.Fatal(err)
	}
	c := r.config(t, rules, grace)
	c.Key = key
	if r.Server, err = bridge.New(c); err != nil {
		t.Fatal(err)
	}
	r.serve(t, r.Agent, r.Server.ServeAgent)
	r.serve(t, r.UI, r.Server.ServeUI)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := r.Server.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
	return r
}

func (r *Real) config(t testing.TB, rules string, grace time.Duration) bridge.Config {
	t.Helper()
	dir, err := dirchain.OpenRoot(r.Dir, dirchain.Options{SkipSync: true})
	if err != nil {
		t.Fatal(err)
	}
	roots, err := files.NewRoots(files.Root{Name: "repo", Dir: dir, Deny: files.RepositoryDeny, Allow: files.RepositoryAllow})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { roots.Close(); _ = dir.Close() })
	own, err := rule.ParseJSON([]byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	compiled, _, err := gate.Compile(gate.Policy{
		Rules:   rule.Config{Scopes: []rule.Scope{{Kind: rule.Global, Trusted: true, Rules: own}}, Homes: []string{"/h"}, Roots: []string{r.Dir}},
		Confirm: confirm.Config{None: true}, AnyTool: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	judge, _, err := protect.Compile(protect.Seat{}, protect.Options{Env: roots})
	if err != nil {
		t.Fatal(err)
	}
	broker, err := prompt.New(prompt.Options{Hub: r.Hub, Grace: grace, PerSecond: 1000})
	if err != nil {
		t.Fatal(err)
	}
	g, err := gate.New(gate.Config{Policy: compiled, Judge: judge, Hub: r.Hub, Session: "s1", Broker: broker, Resolver: roots.Places()})
	if err != nil {
		t.Fatal(err)
	}
	roots.SetRules(g, "a")
	bash, err := shell.New(shell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return bridge.Config{
		Session: "s1", Agent: "a", Cwd: r.Dir, Gate: g, Hub: r.Hub, Broker: broker, Redact: bridge.Unredacted,
		Tools: append(files.Tools(roots), bash), Roots: []wire.Root{{Name: "repo", Path: r.Dir}},
		Limits: bridge.Limits{CallsPerSecond: 1_000_000, ChecksPerSec: 1_000_000, PromptsPerSec: 1_000_000, FramesPerSec: 1_000_000},
	}
}

func (r *Real) serve(t testing.TB, path string, serve func(context.Context, net.Listener) error) {
	t.Helper()
	l, err := bridge.Listen(filepath.Dir(path), filepath.Base(path))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := serve(context.Background(), l); !errors.Is(err, bridge.ErrClosed) {
			t.Errorf("serve %s: %v", path, err)
		}
	}()
	t.Cleanup(func() { <-done })
}
