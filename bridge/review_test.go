package bridge

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"brainbox/bridge/envelope"
	"brainbox/bridge/wire"
	"brainbox/internal/strictjson"
)

// esc/BR-12: calls of agents take no place of an operator's: who fills them all cannot keep
// a person from answering.
func TestAgentsDoNotLockOutOperators(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"places": func(c *Config) { c.Limits.InFlight, c.Limits.InFlightTotal = 4, 4 },
		"memory": func(c *Config) { c.Limits.InFlight, c.Limits.InFlightBytes = 4, 12_000 },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t, many, change)
			s.answers(func(ctx context.Context, r *envelope.Request) *envelope.Result { <-ctx.Done(); return r.Succeed(nil) })
			p, ui := s.agent(), s.ui()
			for i := range 4 {
				p.begin("tool.call", request(t, id("f"+strconv.Itoa(i))...))
			}
			eventually(t, "four are dispatched", func() bool { n, _ := s.count(); return n == 4 })
			if got := s.agent().call("tool.call", base); word(got) != "overloaded" {
				t.Errorf("the control: %v", got)
			}
			for _, m := range []string{"prompt.list", "grants.list"} {
				if got := ui.call(m, `{}`); got["result"] == nil {
					t.Errorf("%s: %v", m, got)
				}
			}
		})
	}
}

// What a frame takes in memory is not more than its values can take: a text of commas is
// one value.
func TestCommasAreNoValues(t *testing.T) {
	s := newStand(t)
	p := s.agent()
	text := strings.Repeat(",[{", 250_000)
	got := p.call("tool.call", request(t, `"README.md"`, `"`+text+`"`))
	r, _ := got["result"].(object)
	if out, _ := r["output"].(object); word(got) != "succeeded" || out["path"] != text {
		t.Errorf("%.300v", got)
	}
}

// Who leaves at once is no user interface any more: prompts do not wait for it.
func TestOperatorsThatLeaveAreGone(t *testing.T) {
	s := newStand(t)
	c := s.s.newConn(context.Background(), nil, wire.UI, Peer{PIDFD: -1})
	if _, err := c.promptList(context.Background(), params(&wire.Message{})); err != nil || c.attachment == nil {
		t.Fatalf("the control: %v", err)
	}
	c.detach()
	c = s.s.newConn(context.Background(), nil, wire.UI, Peer{PIDFD: -1})
	c.detach() // the connection is over, and then its call comes to its place
	if _, err := c.promptList(context.Background(), params(&wire.Message{})); err == nil || c.attachment != nil {
		t.Errorf("attached after the end: %v", err)
	}
	if _, err := c.promptAnswer(context.Background(), answerFor("x")); err == nil || c.attachment != nil {
		t.Errorf("attached after the end: %v", err)
	}
	if got := s.agent().call("permission.prompt", `{"surface":"bash","value":"make"}`); word(got) != "no_ui" {
		t.Errorf("%v", got)
	}
}

func answerFor(id string) *strictjson.Value {
	v := strictjson.Object(
		strictjson.Pair("requestId", strictjson.Text(id)), strictjson.Pair("decision", strictjson.Text("deny")),
		strictjson.Pair("digest", strictjson.Text(strings.Repeat("0", 64))))
	return &v
}

// Whatever a tool answers is a frame that a client reads: nothing of it ends the connection.
func TestAnswersCanBeRead(t *testing.T) {
	deep := strictjson.Text("x")
	for range 63 {
		deep = strictjson.Array(deep)
	}
	wide := strictjson.Array(make([]strictjson.Value, 50_000)...)
	keys := strictjson.Object()
	for i := range 10_001 {
		keys.Add(strconv.Itoa(i), strictjson.Null())
	}
	twice := strictjson.Object(strictjson.Pair("a", strictjson.Null()), strictjson.Pair("a", strictjson.Null()))
	for _, tt := range []struct {
		name, want string
		output     strictjson.Value
		change     func(*envelope.Result)
		noDisk     bool
	}{
		{name: "too deep", want: "failed/result_too_large", output: deep},
		{name: "too many values", want: "failed/result_too_large", output: wide},
		{name: "too many keys", want: "failed/result_too_large", output: keys},
		{name: "a key twice", want: "failed/result_duplicate_key", output: twice},
		{name: "proto", want: "succeeded", output: strictjson.Object(strictjson.Pair("__proto__", strictjson.Null()))},
		{name: "diagnosed before", want: "succeeded", noDisk: true, change: func(r *envelope.Result) {
			r.Diagnostics = strictjson.Object(strictjson.Pair("transcript_error", strictjson.Text("a lie")))
		}},
		{name: "control", want: "succeeded", output: deep.Items[0].Items[0].Items[0]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStand(t)
			s.noDisk = tt.noDisk
			s.answers(func(_ context.Context, r *envelope.Request) *envelope.Result {
				res := r.Succeed(&tt.output)
				if tt.change != nil {
					tt.change(res)
				}
				return res
			})
			p := s.agent()
			p.begin("tool.call", base)
			line := p.line()
			m, err := wire.DecodeReply([]byte(line))
			if err != nil {
				t.Fatalf("%v: %.300s", err, line)
			}
			v := *m.Result
			got := v.Get("status").Text
			if e := v.Get("error"); e != nil {
				got += "/" + e.Get("code").Text
			}
			if got != tt.want || strings.Contains(line, "a lie") {
				t.Errorf("%.300s, want %s", line, tt.want)
			}
		})
	}
}

// A transcript that panics takes nothing from the event and the record.
func TestRecordsDoNotNeedTranscripts(t *testing.T) {
	s := newStand(t, func(c *Config) { c.Transcript = panics{} })
	if got := s.agent().call("tool.call", base); word(got) != "succeeded" {
		t.Errorf("%v", got)
	}
	if n, m := s.count(); n != 1 || m != 1 || s.hub.Seq() < 2 {
		t.Errorf("dispatched %d, recorded %d, %d events", n, m, s.hub.Seq())
	}
	if r := s.recordedFirst().Result; r.Diagnostics.Get("transcript_error") == nil {
		t.Errorf("%+v", r)
	}
}

type panics struct{}

func (panics) Write(Call) (envelope.Ref, error) { panic("x") }

// An id that was refused for its session is used: its transcript is in the place of another.
func TestRefusedSessionsUseTheirID(t *testing.T) {
	s := newStand(t)
	p := s.agent()
	for range 2 {
		if got := p.call("tool.call", request(t, `"s1"`, `"s2"`)); word(got) != "denied/session_mismatch" {
			t.Errorf("%v", got)
		}
	}
	if got := p.call("tool.call", base); word(got) != "denied/request_replayed" {
		t.Errorf("%v", got)
	}
	if got := p.call("tool.call", request(t, id("ptr_2")...)); word(got) != "succeeded" {
		t.Errorf("the control: %v", got)
	}
}

// esc/BR-12: who connects anew for every call has no other rate than who stays.
func TestRatesOutliveConnections(t *testing.T) {
	const perSecond, conns = 5, 2
	s := newStand(t, func(c *Config) { c.Limits.AgentConns, c.Limits.CallsPerSecond = conns, perSecond })
	count, began := map[string]int{}, time.Now()
	for i := range 40 {
		eventually(t, "the one before is gone", func() bool { s.s.mu.Lock(); defer s.s.mu.Unlock(); return s.s.agents == 0 })
		p := s.agent()
		for j := range 20 {
			count[word(p.call("tool.call", request(t, id("r"+strconv.Itoa(i)+"-"+strconv.Itoa(j))...)))]++
		}
		_ = p.conn.Close()
	}
	most := conns * (2*perSecond + 1 + int(perSecond*time.Since(began).Seconds()))
	if count["succeeded"] < conns*2*perSecond || count["succeeded"] > most {
		t.Errorf("%v, want at most %d", count, most)
	}
}

// Who leaves within a call, at whatever moment, leaves nothing behind.
func TestLeavingWithinCalls(t *testing.T) {
	s := newStand(t, many)
	s.answers(func(ctx context.Context, r *envelope.Request) *envelope.Result {
		if r.Operation == "wait" {
			<-ctx.Done()
		}
		return r.Succeed(&r.Input)
	})
	s.agent().call("tool.call", request(t, id("before")...))
	ui := s.ui()
	ui.call("prompt.list", `{}`) // prompts wait
	before := look(t)
	for i := range 300 {
		n := strconv.Itoa(i)
		eventually(t, "there is a place", func() bool { s.s.mu.Lock(); defer s.s.mu.Unlock(); return s.s.agents < 8 })
		p := s.agent()
		p.begin("tool.call", request(t, append(id("a"+n), `"call"`, `"wait"`)...))
		p.begin("tool.call", request(t, append(id("b"+n), toolName, `"tool":"asked"`)...))
		p.begin("permission.prompt", `{"surface":"bash","value":"make `+n+`"}`)
		if i%2 == 0 {
			p.await(p.begin("tool.call", request(t, id("c"+n)...)))
		}
		if i%3 == 0 {
			p.send(`{"jsonrpc":"2.0","method":"cancel","params":{"id":"c2"}}` + "\n")
		}
		_ = p.conn.Close()
	}
	eventually(t, "all is back", func() bool {
		now := look(t)
		s.s.mu.Lock()
		defer s.s.mu.Unlock()
		return now.fds <= before.fds && now.goroutines <= before.goroutines && s.s.places == 0 && s.s.weight == 0 &&
			len(s.s.lanes) == 7 && len(s.broker.List()) == 0
	})
	// What was still to be read when its caller left is not dispatched: of every second
	// connection at least the call whose answer was read was.
	if n, m := s.count(); m < n || n < 150 {
		t.Errorf("%d were dispatched, %d recorded", n, m)
	}
}

// A host that has more tools than can be told is served, too.
func TestManyTools(t *testing.T) {
	for n, told := range map[int]bool{wire.MostTools: true, wire.MostTools + 1: false} {
		s := newStand(t, func(c *Config) {
			c.Parent.Tools = map[string]ParentTool{"workspace.read": {}}
			for i := range n - 1 {
				c.Parent.Tools["t"+strconv.Itoa(i)] = ParentTool{}
			}
		})
		p := s.dial("agent")
		p.begin("hello", helloParams)
		m, err := wire.DecodeReply([]byte(p.line()))
		if err != nil {
			t.Fatal(err)
		}
		w, err := wire.ReadWelcome(m.Result)
		if err != nil || (w.Capabilities.Tools != nil) != told {
			t.Errorf("%d: %v, %d are told", n, err, len(w.Capabilities.Tools))
		}
		if got := p.call("tool.call", base); word(got) != "succeeded" {
			t.Errorf("%v", got)
		}
	}
}

// lateLocks hand over a lock when whoever waits for it is gone.
type lateLocks struct{ began chan struct{} }

func (l lateLocks) WithLocks(ctx context.Context, _ []string, f func() error) error {
	close(l.began)
	<-ctx.Done()
	return f()
}

// A call that was withdrawn while it waited has no effect.
func TestNoEffectAfterCancel(t *testing.T) {
	n, locks := &note{name: "note"}, lateLocks{make(chan struct{})}
	s := newStand(t, withTool(n), func(c *Config) { c.Locks = locks })
	p := s.agent()
	call := p.begin("tool.call", noteRequest(t, "x", "note", `{"text":"x"}`))
	<-locks.began
	p.send(`{"jsonrpc":"2.0","method":"cancel","params":{"id":"` + call + `"}}` + "\n")
	if got := p.await(call); word(got) != "cancelled" || n.done.Load() != 0 {
		t.Errorf("%v, done %d times", got, n.done.Load())
	}
	if _, recorded := s.count(); recorded != 1 || !s.recordedFirst().Cancelled {
		t.Errorf("%d recorded", recorded)
	}
}
