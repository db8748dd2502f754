package bridge

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"brainbox/bridge/envelope"
	"brainbox/bridge/wire"
	"brainbox/gate"
	"brainbox/gate/confirm"
	"brainbox/gate/event"
	"brainbox/gate/prompt"
	"brainbox/gate/rule"
)

// rules: what the tests call is allowed but what they say is not.
const rules = `{"*":"ask","workspace.read":"allow","jobs":{"*":"allow","delete":"deny"},"note":"allow","write":"allow","asked":"ask",` +
	`"forbidden":"deny","external_directory":"allow","read":"allow","bash":{"*":"ask","ls *":"allow","npm *":"deny"}}`

// stand is a server with everything around it.
type stand struct {
	t      testing.TB
	s      *Server
	hub    *event.Hub
	broker *prompt.Broker
	dir    string

	mu         sync.Mutex
	dispatched []*envelope.Request
	calls      []Call // recorded
	written    []Call // transcripts
	noDisk     bool
	noRecord   bool // Record fails
	do         func(ctx context.Context, r *envelope.Request) *envelope.Result
}

func (s *stand) Dispatch(ctx context.Context, r *envelope.Request) *envelope.Result {
	s.mu.Lock()
	s.dispatched = append(s.dispatched, r)
	do := s.do
	s.mu.Unlock()
	if do != nil {
		return do(ctx, r)
	}
	return r.Succeed(&r.Input)
}

func (s *stand) Write(c Call) (envelope.Ref, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.noDisk {
		return envelope.Ref{}, errors.New("no space on /home/op/secret")
	}
	s.written = append(s.written, c)
	return envelope.Ref{Kind: "tool-call-transcript", Path: "files/parent-tools/x.json"}, nil
}

func (s *stand) Record(c Call) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.noRecord {
		return errors.New("no space on /home/op/secret")
	}
	s.calls = append(s.calls, c)
	return nil
}

func (s *stand) count() (dispatched, recorded int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.dispatched), len(s.calls)
}

// recorded and transcripts are what was written down so far.
func (s *stand) recorded() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

func (s *stand) transcripts() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.written)
}

// recordedFirst is the first call that was recorded.
func (s *stand) recordedFirst() Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[0]
}

func (s *stand) answers(do func(ctx context.Context, r *envelope.Request) *envelope.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.do = do
}

// many are limits under which a test may call as often as it likes.
func many(c *Config) {
	c.Limits.CallsPerSecond, c.Limits.ChecksPerSec, c.Limits.PromptsPerSec, c.Limits.FramesPerSec = 1_000_000, 1_000_000, 1_000_000, 1_000_000
}

func newStand(t testing.TB, change ...func(*Config)) *stand {
	t.Helper()
	return newStandFor(t, time.Minute, change...)
}

// newStandFor is newStand with another time for answers to prompts.
func newStandFor(t testing.TB, patience time.Duration, change ...func(*Config)) *stand {
	t.Helper()
	st := &stand{t: t, hub: event.New(event.Options{Session: "s1"})}
	own, err := rule.ParseJSON([]byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	compiled, _, err := gate.Compile(gate.Policy{
		Rules:   rule.Config{Scopes: []rule.Scope{{Kind: rule.Global, Trusted: true, Rules: own}}, Homes: []string{"/h"}, Roots: []string{"/w"}},
		Confirm: confirm.Config{None: true}, AnyTool: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if st.broker, err = prompt.New(prompt.Options{Hub: st.hub, Grace: 50 * time.Millisecond, Timeout: patience, PerSecond: 1000}); err != nil {
		t.Fatal(err)
	}
	g, err := gate.New(gate.Config{Policy: compiled, Hub: st.hub, Session: "s1", Broker: st.broker, Unjudged: true})
	if err != nil {
		t.Fatal(err)
	}
	c := Config{
		Session: "s1", Agent: "a", Cwd: "/w", Gate: g, Hub: st.hub, Broker: st.broker, Redact: Unredacted,
		Parent: &Parent{
			Tools: map[string]ParentTool{
				"workspace.read": {}, "asked": {}, "forbidden": {},
				"jobs": {Capability: "read", Operations: []string{"call", "delete"}},
			},
			Dispatcher: st,
		},
		Transcript: st, Recorder: st, Key: wire.Key{1},
	}
	for _, f := range change {
		f(&c)
	}
	if st.s, err = New(c); err != nil {
		t.Fatal(err)
	}
	if st.dir, err = os.MkdirTemp("", "bb"); err != nil { //nolint:usetesting // the path of a socket is short
		t.Fatal(err)
	}
	st.serve("agent", st.s.ServeAgent)
	st.serve("ui", st.s.ServeUI)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := st.s.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		_ = os.RemoveAll(st.dir)
	})
	return st
}

func (s *stand) serve(name string, serve func(context.Context, net.Listener) error) {
	s.t.Helper()
	l, err := Listen(filepath.Join(s.dir, name), name+".sock")
	if err != nil {
		s.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := serve(context.Background(), l); !errors.Is(err, ErrClosed) {
			s.t.Errorf("serve %s: %v", name, err)
		}
	}()
	s.t.Cleanup(func() { <-done })
}
