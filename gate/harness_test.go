package gate

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"brainbox/dirchain"
	"brainbox/gate/confirm"
	"brainbox/gate/event"
	"brainbox/gate/prompt"
	"brainbox/gate/protect"
	"brainbox/gate/rule"
)

// vectorPolicy is policy P of contract bridge-and-gate, section D.7.
const vectorPolicy = `{"*":"ask","bash":{"*":"ask","git *":"allow","git push *":"deny","cd *":"allow","ls *":"allow","npm *":"deny"},` +
	`"read":"allow","path":{"*":"allow","*.env":"deny"},"external_directory":{"*":"ask","~/cache/*":"allow"}}`

// allowAll is a policy under which only the gate's own layers ask.
const allowAll = `{"*":"allow","bash":"allow","write":"allow","external_directory":"allow"}`

// compiled makes a policy of rules as JSON. Tools are not listed, nothing is confirmed.
func compiled(t testing.TB, rules string, change ...func(*Policy)) *Compiled {
	t.Helper()
	own, err := rule.ParseJSON([]byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	p := Policy{
		Rules: rule.Config{
			Scopes: []rule.Scope{{Kind: rule.Global, Trusted: true, Rules: own}},
			Homes:  []string{"/h"}, Roots: []string{"/w/p"},
		},
		Confirm: confirm.Config{None: true}, AnyTool: true,
	}
	for _, f := range change {
		f(&p)
	}
	c, _, err := Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// desk is a gate with everything around it.
type desk struct {
	t      testing.TB
	hub    *event.Hub
	broker *prompt.Broker
	sub    *event.Subscription
	g      *Gate
	asked  atomic.Int32
}

// newDesk makes a gate. What the broker, the hub and the judge are is filled in.
func newDesk(t testing.TB, c Config, o prompt.Options) *desk {
	t.Helper()
	d := &desk{t: t, hub: event.New(event.Options{Session: "s1"})}
	o.Hub = d.hub
	if o.Grace == 0 {
		o.Grace = 20 * time.Millisecond
	}
	var err error
	if d.broker, err = prompt.New(o); err != nil {
		t.Fatal(err)
	}
	c.Hub, c.Broker, c.Session = d.hub, d.broker, "s1"
	if c.Judge == nil {
		c.Unjudged = true
	}
	if d.g, err = New(c); err != nil {
		t.Fatal(err)
	}
	if d.sub, err = d.hub.Subscribe(event.Subscribe{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.broker.Close(); d.hub.Close() })
	return d
}

// uiFunc is a person.
type uiFunc func(ctx context.Context, v prompt.View) (prompt.Answer, error)

func (f uiFunc) Prompt(ctx context.Context, v prompt.View) (prompt.Answer, error) { return f(ctx, v) }

// person lets f answer, and counts.
func (d *desk) person(f uiFunc) {
	d.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	there, err := d.broker.Attach("test")
	if err != nil {
		d.t.Fatal(err)
	}
	go func() {
		defer close(done)
		_ = there.Serve(ctx, uiFunc(func(ctx context.Context, v prompt.View) (prompt.Answer, error) {
			d.asked.Add(1)
			return f(ctx, v)
		}))
	}()
	d.t.Cleanup(func() { cancel(); <-done })
}

func says(a prompt.Answer) uiFunc {
	return func(context.Context, prompt.View) (prompt.Answer, error) { return a, nil }
}

var (
	approve    = prompt.Answer{Decision: prompt.Approve}
	approveRun = prompt.Answer{Decision: prompt.Approve, Scope: prompt.Scope{Lasts: prompt.ForRun}}
	deny       = prompt.Answer{Decision: prompt.Deny}
)

// decisions are the decision events since the last call.
func (d *desk) decisions() []map[string]any {
	d.t.Helper()
	var all []map[string]any
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for {
		e, err := d.sub.Next(ctx)
		if err != nil {
			if !errors.Is(err, context.Canceled) && !errors.Is(err, event.ErrClosed) {
				d.t.Fatal(err)
			}
			return all
		}
		if e.Topic != event.TopicDecision {
			continue
		}
		var m map[string]any
		if err := json.Unmarshal([]byte(e.Data), &m); err != nil {
			d.t.Fatal(err)
		}
		all = append(all, m)
	}
}

// decide decides, and wants exactly one event that says the same.
func (d *desk) decide(c Call) Decision {
	d.t.Helper()
	d.decisions()
	got := d.g.Decide(context.Background(), c)
	d.t.Cleanup(got.Close)
	events := d.decisions()
	if len(events) != 1 || events[0]["requestId"] != got.RequestID || events[0]["resolution"] != string(got.Resolution) ||
		(events[0]["result"] == "allow") != got.Allowed || events[0]["decidedBy"] != got.DecidedBy {
		d.t.Errorf("%q: decision %v by %v, events %v", c.Value, got.Resolution, got.DecidedBy, events)
	}
	if !got.Allowed && (got.Reason == "" || len(got.Held) > 0) {
		d.t.Errorf("%q: denied as %v with reason %q, %d places held", c.Value, got.Resolution, got.Reason, len(got.Held))
	}
	return got
}

// want decides and compares the outcome with "allow policy_allow".
func (d *desk) want(c Call, want string) Decision {
	d.t.Helper()
	got := d.decide(c)
	text := "deny "
	if got.Allowed {
		text = "allow "
	}
	if text += string(got.Resolution); text != want {
		d.t.Errorf("%s %q: %s (%s), want %s", c.Surface, c.Value, text, got.Reason, want)
	}
	return got
}

func bash(command string) Call {
	args, _ := json.Marshal(map[string]string{"command": command})
	return Call{Surface: "bash", Tool: "bash", Agent: "a", Cwd: "/w/p", Args: args, Reading: Reading{Value: command}}
}

func file(tool, path string) Call {
	surface, r := ReadText(tool, path)
	args, _ := json.Marshal(map[string]string{"path": path})
	return Call{Surface: surface, Tool: tool, Agent: "a", Cwd: "/w/p", Args: args, Reading: r}
}

// editable offers an edit of a bash call.
func editable(command string) Call {
	c := bash(command)
	c.Reread = func(args json.RawMessage) (Reading, error) {
		_, r, _, err := ReadTool("bash", args)
		return r, err
	}
	return c
}

// tree is a workspace on disk with its judge and resolver.
func tree(t testing.TB) (dir string, j *protect.Judge, places Places) {
	t.Helper()
	dir = t.TempDir()
	for _, d := range []string{"/.git/hooks", "/src"} {
		if err := os.MkdirAll(dir+d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	root, err := dirchain.OpenRoot(dir, dirchain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	at := protect.Tree{Root: root}
	j, _, err = protect.Compile(protect.Seat{}, protect.Options{Env: at})
	if err != nil {
		t.Fatal(err)
	}
	return dir, j, Places{Roots: []protect.Tree{at}}
}

// rooted moves the workspace of a policy.
func rooted(dir string) func(*Policy) {
	return func(p *Policy) { p.Rules.Roots = []string{dir} }
}

// reasons are the surfaces of what was asked.
func reasons(d Decision) string {
	var all []string
	for _, a := range d.Asks {
		all = append(all, a.Surface)
	}
	return strings.Join(all, " ")
}
