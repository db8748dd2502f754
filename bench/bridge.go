package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"brainbox/bridge"
	"brainbox/bridge/audit"
	"brainbox/bridge/client"
	"brainbox/bridge/dispatch"
	"brainbox/bridge/envelope"
	"brainbox/bridge/lock"
	"brainbox/bridge/redact"
	mediated "brainbox/bridge/tool/files"
	"brainbox/dirchain"
	"brainbox/gate"
	"brainbox/gate/confirm"
	"brainbox/gate/event"
	"brainbox/gate/prompt"
	"brainbox/gate/protect"
	"brainbox/gate/rule"
	"brainbox/internal/state"
	"brainbox/internal/strictjson"
)

// bridgeSecret is masked in what is answered, as the token of a real host is.
const bridgeSecret = "tok-5b1d09c2f7e84a63"

// bridgeRules allow what is measured; everything else is asked about.
const bridgeRules = `{"*":"ask","echo":"allow","read":"allow","write":"allow","path_read":"allow",` +
	`"path_write":{"*":"allow","*.key":"deny"},"bash":{"*":"ask","git *":"allow","git push *":"deny"}}`

// host is a bridge as brainbox-host makes it, in this process: gate, judge, locks, redactor
// and the mediated tools over one root. Its limits are out of the way.
type host struct {
	dir     string // the root
	socket  string
	root    *dirchain.Root
	server  *bridge.Server
	log     *audit.Log // nil: nothing is recorded
	closers []func() error
	running sync.WaitGroup
}

// newHost serves in an empty folder. With recorded, each decision and effect is written down
// as for a run.
func newHost(dir string, recorded bool) (h *host, err error) {
	h = &host{dir: filepath.Join(dir, "root"), socket: filepath.Join(dir, "agent.sock")}
	// As brainbox-host collects its garbage.
	percent, limit := debug.SetGCPercent(400), debug.SetMemoryLimit(64<<20)
	h.closers = append(h.closers, func() error { debug.SetGCPercent(percent); debug.SetMemoryLimit(limit); return nil })
	defer func() {
		if err != nil {
			err = errors.Join(err, h.close())
		}
	}()
	if err = os.MkdirAll(h.dir, 0o755); err != nil {
		return h, err
	}
	if h.root, err = dirchain.OpenRoot(h.dir, dirchain.Options{SkipSync: true, Protect: []string{".git"}}); err != nil {
		return h, err
	}
	h.closers = append(h.closers, h.root.Close)
	roots, err := mediated.NewRoots(mediated.Root{Name: "work", Dir: h.root, Deny: mediated.RepositoryDeny, Allow: mediated.RepositoryAllow})
	if err != nil {
		return h, err
	}
	h.closers = append(h.closers, func() error { roots.Close(); return nil })
	redactor := redact.New(redact.Options{Secrets: []string{bridgeSecret}, SandboxRoots: []string{h.dir}, HostRoots: []string{dir}})
	mask := func(text string) string { return redactor.Text(text, redact.Output) }
	hub := event.New(event.Options{Session: "bench", Redact: mask})
	h.closers = append(h.closers, func() error { hub.Close(); h.running.Wait(); return nil })
	c := bridge.Config{Session: "bench", Cwd: h.dir, Hub: hub, Redact: redactor.Result, Tools: mediated.Tools(roots), Limits: unlimited}
	if err = h.gate(&c, roots); err != nil {
		return h, err
	}
	if c.Locks, err = lock.New(lock.Config{YieldAfter: lock.DefaultYieldAfter}); err != nil {
		return h, err
	}
	c.Parent = &bridge.Parent{
		Tools: map[string]bridge.ParentTool{"echo": {}},
		Dispatcher: dispatch.Func(map[string]dispatch.Handler{
			"echo": func(_ context.Context, r *envelope.Request) (*strictjson.Value, error) { return &r.Input, nil },
		}, 0),
	}
	if recorded {
		if err = h.record(filepath.Join(dir, "state"), hub, mask); err != nil {
			return h, err
		}
		c.Recorder = h
	}
	return h, h.serve(c)
}

// unlimited are limits that nobody meets who measures.
var unlimited = bridge.Limits{
	AgentConns: 64, CallsPerSecond: 1 << 24, ChecksPerSec: 1 << 24, PromptsPerSec: 1 << 24, FramesPerSec: 1 << 24, Replays: 1 << 24,
}

func (h *host) gate(c *bridge.Config, roots *mediated.Roots) error {
	own, err := rule.ParseJSON([]byte(bridgeRules))
	if err != nil {
		return err
	}
	policy, _, err := gate.Compile(gate.Policy{
		Rules:   rule.Config{Scopes: []rule.Scope{{Kind: rule.Global, Trusted: true, Rules: own}}, Homes: []string{"/nonexistent"}, Roots: []string{h.dir}, Tools: []string{"echo"}},
		Confirm: confirm.Config{}, AnyTool: true,
	})
	if err != nil {
		return err
	}
	judge, _, err := protect.Compile(protect.Seat{}, protect.Options{Env: roots})
	if err != nil {
		return err
	}
	if c.Broker, err = prompt.New(prompt.Options{Hub: c.Hub}); err != nil {
		return err
	}
	c.Gate, err = gate.New(gate.Config{Policy: policy, Judge: judge, Hub: c.Hub, Session: c.Session, Broker: c.Broker, Resolver: roots.Places()})
	return err
}

// record opens the record, which follows the gate.
func (h *host) record(dir string, hub *event.Hub, mask func(string) string) error {
	d, err := state.Open(dir)
	if err != nil {
		return err
	}
	if h.log, err = audit.Open(audit.Options{Dir: d, Session: "bench", SyncEvery: time.Second, Redact: mask}); err != nil {
		d.Close()
		return err
	}
	h.closers = append([]func() error{func() error { err := h.log.Close(); d.Close(); return err }}, h.closers...) // last
	h.running.Add(1)
	go func() { defer h.running.Done(); _ = h.log.Follow(context.Background(), hub, true) }()
	return nil
}

// Record writes an effect down, with the fields that brainbox-host has in it.
func (h *host) Record(c bridge.Call) error {
	sum := dirchain.Sum(strictjson.Append(nil, c.Input))
	data := strictjson.Object(
		strictjson.Pair("method", strictjson.Text(c.Method)), strictjson.Pair("request_id", strictjson.Text(c.Decision.RequestID)),
		strictjson.Pair("client_request_id", strictjson.Text(c.Request.ID)), strictjson.Pair("tool", strictjson.Text(c.Request.Tool)),
		strictjson.Pair("operation", strictjson.Text(c.Request.Operation)), strictjson.Pair("input_sha256", strictjson.Text(sum.String())),
		strictjson.Pair("status", strictjson.Text(string(c.Result.Status))), strictjson.Pair("duration_ms", strictjson.Int(c.Took.Milliseconds())))
	return h.log.Put(audit.Effect, data)
}

func (h *host) serve(c bridge.Config) (err error) {
	if h.server, err = bridge.New(c); err != nil {
		return err
	}
	l, err := net.Listen("unix", h.socket)
	if err != nil {
		return err
	}
	h.running.Add(1)
	go func() { defer h.running.Done(); _ = h.server.ServeAgent(context.Background(), l) }()
	h.closers = append(h.closers, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		return h.server.Shutdown(ctx)
	})
	return nil
}

// close ends all of it, the last first.
func (h *host) close() (err error) {
	for i := len(h.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, h.closers[i]())
	}
	return err
}

func (h *host) client() (*client.Client, error) {
	return client.Open(context.Background(), client.Options{Socket: h.socket})
}

// called is one call that has to succeed.
func called(c *client.Client, tool string, input *strictjson.Value) (*envelope.Result, error) {
	res, err := c.Call(context.Background(), tool, input)
	if err == nil && res.Status != envelope.Succeeded {
		err = fmt.Errorf("%s: %s: %+v", tool, res.Status, res.Err)
	}
	return res, err
}
