package prompt

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"brainbox/gate/event"
)

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// TestNobodyDenies is esc/GT-19: whatever fails, the request is denied, and not by a person.
func TestNobodyDenies(t *testing.T) {
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []struct {
		name  string
		ctx   context.Context
		ui    uiFunc // nil: none
		f     Facts
		edit  func(context.Context, []byte) Rejudged
		code  Code
		res   event.Resolution
		after time.Duration
	}{
		{"bg/D43 no user interface", nil, nil, bash("ls"), nil, NoUI, event.ConfirmationUnavailable, DefaultGrace},
		{"esc/GT-19 the terminal cannot be opened", nil, func(context.Context, View) (Answer, error) {
			return Answer{Decision: Approve}, errors.New("no such device")
		}, bash("ls"), nil, NoUI, event.ConfirmationUnavailable, DefaultGrace},
		{"esc/GT-19 the user interface panics", nil, func(context.Context, View) (Answer, error) {
			panic("crash")
		}, bash("ls"), nil, NoUI, event.ConfirmationUnavailable, DefaultGrace},
		{"esc/GT-19 an answer that is none", nil, func(context.Context, View) (Answer, error) {
			return Answer{Decision: 9}, nil
		}, bash("ls"), nil, NoUI, event.ConfirmationUnavailable, DefaultGrace},
		{"an answer to another snapshot", nil, func(_ context.Context, v View) (Answer, error) {
			return Answer{ID: v.ID, Decision: Approve}, nil
		}, bash("ls"), nil, NoUI, event.ConfirmationUnavailable, DefaultGrace},
		{"bg/D47 no answer in time", nil, func(ctx context.Context, _ View) (Answer, error) {
			<-ctx.Done()
			return Answer{Decision: Approve}, nil
		}, bash("ls"), nil, Timeout, event.ConfirmationUnavailable, DefaultTimeout},
		{"the caller is gone", gone, func(ctx context.Context, _ View) (Answer, error) {
			<-ctx.Done()
			return Answer{Decision: Approve}, nil
		}, bash("ls"), nil, CallerGone, event.ConfirmationUnavailable, 0},
		{"bg/D52 the judge of an edit panics", nil, func(context.Context, View) (Answer, error) {
			return Answer{Decision: Approve, Edited: []byte("{}")}, nil
		}, Facts{Source: ToolCall, Editable: true}, func(context.Context, []byte) Rejudged { panic("crash") }, Faulty, event.GateError, 0},
		{"editable without a judge", nil, nil, Facts{Source: ToolCall, Editable: true}, nil, Faulty, event.GateError, 0},
		{"no source", nil, nil, Facts{}, nil, Faulty, event.GateError, 0},
		{"too much to show", nil, nil, bash(strings.Repeat("x", 1<<20)), nil, Faulty, event.GateError, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, Options{})
				if c.ui != nil {
					go func() { _ = d.b.Serve(context.Background(), "test", c.ui) }()
					synctest.Wait()
				}
				ctx := context.Background()
				if c.ctx != nil {
					ctx = c.ctx
				}
				from := time.Now()
				out := d.ask(ctx, Request{Facts: c.f, Rejudge: c.edit})
				same(t, "approved", out.Approved, false)
				same(t, "code", out.Code, c.code)
				same(t, "resolution", out.Resolution, c.res)
				same(t, "state", out.State(), "denied")
				same(t, "time", time.Since(from), c.after)
				same(t, "spent", errors.Is(out.Spend(c.f.Digest()), ErrNotApproved), true)
				if got := d.told(); strings.Count(got, "decision=") != 1 || !strings.HasSuffix(got, "decision="+string(c.res)) {
					t.Errorf("events: %s", got)
				}
				d.b.Close()
			})
		})
	}
}

// TestAnswers are the answers a person can give.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name  string
		a     Answer
		state string
		res   event.Resolution
	}{
		{"bg/D44 once", Answer{Decision: Approve}, "approved", event.UserApproved},
		{"bg/D45 for the session", Answer{Decision: Approve, Scope: Scope{Lasts: ForRun, WholeSession: true}}, "approved_for_session", event.UserApprovedForSession},
		{"for an hour", Answer{Decision: Approve, Scope: Scope{Lasts: ForTime, For: time.Hour}}, "approved_for_session", event.UserApprovedForSession},
		{"bg/D46 denied with a reason", Answer{Reason: "not today"}, "denied_with_reason", event.UserDenied},
		{"denied", Answer{}, "denied", event.UserDenied},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, Options{})
				a := d.attach()
				f := bash("ls")
				got := d.asking(Request{Facts: f})
				synctest.Wait()
				if err := d.answer(a, c.a); err != nil {
					t.Fatal(err)
				}
				out := <-got
				same(t, "state", out.State(), c.state)
				same(t, "resolution", out.Resolution, c.res)
				same(t, "who", out.By, "test")
				same(t, "reason", out.Reason, c.a.Reason)
				same(t, "scope", out.Scope, c.a.Scope)
				same(t, "usable", out.Spend(f.Digest()) == nil, c.a.Decision == Approve)
				if c.a.Scope.For != 0 {
					same(t, "until", time.Until(out.Expires), time.Hour)
				}
				same(t, "events", d.told(), "ui_prompt=ls prompt_closed=answered decision="+string(c.res))
			})
		})
	}
}

// TestOneAtATime is bg/D48: the second waits, and is announced when it is shown.
func TestOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, Options{})
		a := d.attach()
		first := d.asking(Request{Facts: bash("one")})
		synctest.Wait()
		second := d.asking(Request{Facts: bash("two")})
		synctest.Wait()
		same(t, "at first", d.told(), "ui_prompt=one")
		all := d.b.List()
		same(t, "pending", len(all), 2)
		if err := a.Answer(Answer{ID: all[1].ID, Digest: all[1].Digest, Decision: Approve}); !errors.Is(err, ErrStale) {
			t.Errorf("an answer to what nobody has seen: %v", err)
		}
		_ = d.answer(a, Answer{Decision: Approve})
		same(t, "first", (<-first).State(), "approved")
		synctest.Wait()
		same(t, "then", d.told(), "prompt_closed=answered ui_prompt=two decision=user_approved")
		_ = d.answer(a, Answer{})
		same(t, "second", (<-second).State(), "denied")
		same(t, "at last", d.told(), "prompt_closed=answered decision=user_denied")
	})
}

// TestUIGrace is bg/D49.
func TestUIGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, Options{})
		a := d.attach()
		got := d.asking(Request{Facts: bash("ls")})
		synctest.Wait()
		a.Detach()
		a.Detach()
		if err := a.Answer(Answer{}); !errors.Is(err, ErrClosed) {
			t.Errorf("a detached one answers: %v", err)
		}
		time.Sleep(DefaultGrace - time.Millisecond)
		a = d.attach() // it reconnects, and finds the prompt
		time.Sleep(time.Hour / 10)
		same(t, "pending", len(d.b.List()), 1)
		a.Detach()
		from := time.Now()
		out := <-got
		same(t, "code", out.Code, NoUI)
		same(t, "after", time.Since(from), DefaultGrace)
		same(t, "events", d.told(), "ui_prompt=ls prompt_closed=no_ui decision=confirmation_unavailable")

		// One that comes within the grace is asked, and the prompt is announced then.
		got = d.asking(Request{Facts: bash("late")})
		time.Sleep(time.Second)
		same(t, "before", d.told(), "")
		a = d.attach()
		same(t, "after", d.told(), "ui_prompt=late")
		_ = d.answer(a, Answer{Decision: Approve})
		same(t, "late", (<-got).Approved, true)
	})
}

// TestStale is bg/D50: what is closed cannot be answered, and the first answer counts.
func TestStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, Options{})
		a, other := d.attach(), d.attach()
		got := d.asking(Request{Facts: bash("ls")})
		synctest.Wait()
		v := d.b.List()[0]
		no := Answer{ID: v.ID, Digest: v.Digest}
		yes := Answer{ID: v.ID, Digest: v.Digest, Decision: Approve}
		if err := a.Answer(Answer{ID: v.ID, Digest: Digest{1}, Decision: Approve}); !errors.Is(err, ErrStale) {
			t.Errorf("another snapshot: %v", err)
		}
		if err := a.Answer(Answer{ID: v.ID, Digest: v.Digest, Decision: 7}); !errors.Is(err, ErrInvalid) {
			t.Errorf("no answer: %v", err)
		}
		same(t, "the first", a.Answer(no), nil)
		if err := other.Answer(yes); !errors.Is(err, ErrStale) {
			t.Errorf("the second: %v", err)
		}
		same(t, "outcome", (<-got).Resolution, event.UserDenied)
		if err := a.Answer(Answer{ID: "perm-never", Decision: Approve}); !errors.Is(err, ErrStale) {
			t.Errorf("never asked: %v", err)
		}
		same(t, "events", d.told(), "ui_prompt=ls prompt_closed=answered decision=user_denied")
	})
}

// TestReplay is esc/GT-16: a record is asked once, and not after it is decided.
func TestReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, Options{})
		a := d.attach()
		rec := d.hub.Begin(event.Request{Surface: "bash", Value: "ls"})
		got := d.asking(Request{Record: rec, Facts: bash("ls")})
		synctest.Wait()
		_ = d.answer(a, Answer{Decision: Approve})
		same(t, "first", (<-got).Approved, true)
		out := d.b.Ask(context.Background(), Request{Record: rec, Facts: bash("ls")})
		same(t, "again", out.Code, Replayed)
		same(t, "no record", d.b.Ask(context.Background(), Request{Facts: bash("ls")}).Code, Faulty)
		same(t, "events", d.told(), "ui_prompt=ls prompt_closed=answered decision=user_approved")
	})
}

// TestShutdown: what is pending was denied by nobody.
func TestShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, Options{})
		served := make(chan error, 1)
		go func() {
			served <- d.b.Serve(context.Background(), "test", uiFunc(func(ctx context.Context, _ View) (Answer, error) {
				<-ctx.Done()
				return Answer{}, ctx.Err()
			}))
		}()
		one := d.asking(Request{Facts: bash("one")})
		synctest.Wait()
		two := d.asking(Request{Facts: bash("two")})
		synctest.Wait()
		d.b.Close()
		d.b.Close()
		for _, got := range []<-chan Outcome{one, two} {
			out := <-got
			same(t, "code", out.Code, ShuttingDown)
			same(t, "resolution", out.Resolution, event.ConfirmationUnavailable)
		}
		same(t, "later", d.ask(context.Background(), Request{Facts: bash("late")}).Code, ShuttingDown)
		if err := <-served; !errors.Is(err, ErrClosed) {
			t.Errorf("Serve = %v", err)
		}
		if _, err := d.b.Attach("late"); !errors.Is(err, ErrClosed) {
			t.Errorf("Attach = %v", err)
		}
		got := d.told()
		if strings.Count(got, "prompt_closed=shutting_down") != 2 || strings.Count(got, "decision=confirmation_unavailable") != 3 || strings.Count(got, "ui_prompt") != 1 {
			t.Errorf("events: %s", got)
		}
	})
}

func TestNewRefuses(t *testing.T) {
	hub := event.New(event.Options{})
	for name, o := range map[string]Options{
		"no hub": {}, "999 ms": {Hub: hub, Timeout: 999 * time.Millisecond}, "a negative time": {Hub: hub, Grace: -1},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if b, err := New(Options{Hub: hub, Timeout: time.Second}); err != nil || b.o.Grace != 2*time.Second || b.o.Pending != 32 {
		t.Errorf("New = %+v, %v", b, err)
	}
}
