package bridge

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"brainbox/bridge/envelope"
	"brainbox/gate/event"
	"brainbox/internal/strictjson"
)

// What a dispatcher does wrong is a failed result without a word of its own.
func TestDispatchersThatMisbehave(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		do         func(r *envelope.Request) *envelope.Result
	}{
		{"panic", "failed/internal_error", func(*envelope.Request) *envelope.Result { panic("/home/op/secret") }},
		{"nil", "failed/internal_error", func(*envelope.Request) *envelope.Result { return nil }},
		{"zero", "failed/request_id_mismatch", func(*envelope.Request) *envelope.Result { return &envelope.Result{} }},
		{"bg/A46 another tool", "failed/tool_mismatch", func(r *envelope.Request) *envelope.Result {
			res := r.Succeed(nil)
			res.Tool = "secret"
			return res
		}},
		{"bg/A50 half an error", "failed/result_shape_invalid", func(r *envelope.Request) *envelope.Result {
			res := r.Succeed(nil)
			res.Status = envelope.Failed
			return res
		}},
		{"esc/BR-11 too much", "failed/result_too_large", func(r *envelope.Request) *envelope.Result {
			v := strictjson.Text(strings.Repeat("x", 2<<20))
			return r.Succeed(&v)
		}},
		{"bg/A52 timeout passes", "timeout/dispatch_timeout", func(r *envelope.Request) *envelope.Result {
			return r.Fail(envelope.Timeout, envelope.CodeDispatchTimeout, "")
		}},
		{"control", "succeeded", func(r *envelope.Request) *envelope.Result { return r.Succeed(nil) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStand(t)
			s.answers(func(_ context.Context, r *envelope.Request) *envelope.Result { return tt.do(r) })
			p := s.agent()
			p.send(`{"jsonrpc":"2.0","id":"1","method":"tool.call","params":` + base + "}\n")
			text := p.line()
			if strings.Contains(text, "secret") || !strings.Contains(text, `"request_id":"ptr_1"`) {
				t.Errorf("%s", text)
			}
			if got := p.call("tool.call", request(t, id("2")...)); word(got) != tt.want {
				t.Errorf("%v, want %s", got, tt.want)
			}
		})
	}
}

// esc/BR-11: what a terminal acts on is escaped on the wire.
func TestResultsHoldNoControlCharacters(t *testing.T) {
	s := newStand(t)
	s.answers(func(_ context.Context, r *envelope.Request) *envelope.Result {
		v := strictjson.Text("\x1b]0;x\x07\u202e\n")
		return r.Succeed(&v)
	})
	p := s.agent()
	p.send(`{"jsonrpc":"2.0","id":"1","method":"tool.call","params":` + base + "}\n")
	if text := p.line(); strings.ContainsAny(strings.TrimSuffix(text, "\n"), "\x1b\x07\u202e\n") || !strings.Contains(text, `\u001b]0;x`) {
		t.Errorf("%q", text)
	}
}

func TestRedaction(t *testing.T) {
	for name, f := range map[string]func(*envelope.Result) (*envelope.Result, error){
		"error":     func(*envelope.Result) (*envelope.Result, error) { return nil, errors.New("x") },
		"nothing":   func(*envelope.Result) (*envelope.Result, error) { return nil, nil },
		"panic":     func(*envelope.Result) (*envelope.Result, error) { panic("x") },
		"redaction": func(r *envelope.Result) (*envelope.Result, error) { r.Output = nil; return r, nil },
	} {
		s := newStand(t, func(c *Config) { c.Redact = f })
		s.answers(func(_ context.Context, r *envelope.Request) *envelope.Result {
			v := strictjson.Text("hunter2")
			return r.Succeed(&v)
		})
		p := s.agent()
		p.send(`{"jsonrpc":"2.0","id":"1","method":"tool.call","params":` + base + "}\n")
		text, want := p.line(), `"redaction_failed"`
		if name == "redaction" {
			want = `"succeeded"`
		}
		if strings.Contains(text, "hunter2") || !strings.Contains(text, want) {
			t.Errorf("%s: %s", name, text)
		}
		if w := s.transcripts(); len(w) != 1 || w[0].Result.Output != nil {
			t.Errorf("%s: the transcript has the output", name)
		}
	}
}

func TestTranscriptThatCannotBeWritten(t *testing.T) {
	s := newStand(t)
	s.mu.Lock()
	s.noDisk = true
	s.mu.Unlock()
	p := s.agent()
	got := p.call("tool.call", base)
	r, _ := got["result"].(object)
	d, _ := r["diagnostics"].(object)
	if a, _ := r["artifacts"].(object); word(got) != "succeeded" || d["transcript_error"] == nil || len(a["transcripts"].([]any)) != 0 { //nolint:forcetypeassert // a panic fails the test
		t.Errorf("%v", got)
	}
	if strings.Contains(d["transcript_error"].(string), "/home") { //nolint:forcetypeassert // a panic fails the test
		t.Errorf("the path of the host: %v", d)
	}
}

// bg/A82, esc/BR-16: the caller's end is the dispatch's.
func TestCallerGoneDuringDispatch(t *testing.T) {
	s := newStand(t)
	cancelled := make(chan struct{})
	s.answers(func(ctx context.Context, r *envelope.Request) *envelope.Result {
		<-ctx.Done()
		close(cancelled)
		return r.Fail(envelope.Timeout, envelope.CodeDispatchTimeout, "")
	})
	p := s.agent()
	p.begin("tool.call", base)
	eventually(t, "it is dispatched", func() bool { n, _ := s.count(); return n == 1 })
	_ = p.conn.Close()
	<-cancelled
	eventually(t, "the transcript is written", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.written) == 1 })
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.written[0]; !w.Cancelled || w.Result.Err == nil || w.Result.Err.Code != envelope.CodeCallerGone {
		t.Errorf("%+v", w.Result)
	}
}

func TestCancel(t *testing.T) {
	s := newStand(t)
	s.answers(func(ctx context.Context, r *envelope.Request) *envelope.Result {
		<-ctx.Done()
		return r.Fail(envelope.Failed, envelope.CodeInternalError, "")
	})
	p := s.agent()
	id := p.begin("tool.call", base)
	eventually(t, "the first is dispatched", func() bool { n, _ := s.count(); return n == 1 })
	p.send(`{"jsonrpc":"2.0","method":"cancel","params":{"id":"other"}}` + "\n")
	if got := p.call("ping", `{}`); got["result"] == nil {
		t.Fatalf("%v", got)
	}
	p.send(`{"jsonrpc":"2.0","method":"cancel","params":{"id":"` + id + `"}}` + "\n")
	if got := p.await(id); word(got) != "cancelled" {
		t.Errorf("%v", got)
	}
	s.answers(func(ctx context.Context, r *envelope.Request) *envelope.Result { <-ctx.Done(); return r.Succeed(nil) })
	id = p.begin("tool.call", request(t, `"ptr_1"`, `"ptr_2"`))
	eventually(t, "it is dispatched", func() bool { n, _ := s.count(); return n == 2 })
	p.send(`{"jsonrpc":"2.0","method":"cancel","params":{"id":"` + id + `"}}` + "\n")
	if got := p.await(id); word(got) != "succeeded" {
		t.Errorf("what was done is told: %v", got)
	}
}

// esc/BR-12: nothing is done once the session is over; what is in flight gets its time.
func TestShutdown(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		grace      time.Duration
	}{
		{"within the grace", "succeeded", time.Minute},
		{"after it", "unavailable/shutting_down", 20 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStand(t, func(c *Config) { c.Limits.Grace = tt.grace })
			release := make(chan struct{})
			s.answers(func(ctx context.Context, r *envelope.Request) *envelope.Result {
				select {
				case <-release:
					return r.Succeed(nil)
				case <-ctx.Done():
					return r.Fail(envelope.Failed, envelope.CodeInternalError, "")
				}
			})
			p := s.agent()
			first := p.begin("tool.call", base)
			eventually(t, "it is dispatched", func() bool { n, _ := s.count(); return n == 1 })
			down := make(chan error, 1)
			go func() { down <- s.s.Shutdown(context.Background()) }()
			eventually(t, "it shuts down", func() bool { s.s.mu.Lock(); defer s.s.mu.Unlock(); return s.s.closing })
			if tt.want == "succeeded" {
				if got := p.call("tool.call", request(t, id("2")...)); word(got) != "shutting_down" {
					t.Errorf("a new call: %v", got)
				}
				close(release)
			}
			if got := p.await(first); word(got) != tt.want {
				t.Errorf("%v, want %s", got, tt.want)
			}
			if got := p.read(); got["closed"] != true {
				t.Errorf("still open: %v", got)
			}
			if err := <-down; err != nil {
				t.Error(err)
			}
			if n, _ := s.count(); n != 1 {
				t.Errorf("dispatched %d times", n)
			}
		})
	}
}

// Each call is told to the operator once, whatever became of it.
func TestCallsArePublished(t *testing.T) {
	s := newStand(t)
	sub, err := s.hub.Subscribe(event.Subscribe{Topics: []event.Topic{event.TopicCall}})
	if err != nil {
		t.Fatal(err)
	}
	p := s.agent()
	p.call("tool.call", base)
	p.call("tool.call", base)
	p.call("tool.call", `{}`)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for i, want := range []string{`"status":"succeeded","error":null`, `"status":"denied","error":"request_replayed"`} {
		if e, err := sub.Next(ctx); err != nil || !strings.Contains(e.Data, want) {
			t.Errorf("event %d: %s, %v", i, e.Data, err)
		}
	}
	done, stop := context.WithCancel(context.Background())
	stop()
	if e, err := sub.Next(done); err == nil {
		t.Errorf("a third: %s", e.Data)
	}
}
