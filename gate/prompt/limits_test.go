package prompt

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"brainbox/gate/event"
)

// TestPendingLimit is bg/D51.
func TestPendingLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, Options{neverCount: true})
		d.attach()
		for i := range DefaultPending {
			d.asking(Request{Facts: bash(fmt.Sprint(i))})
			synctest.Wait()
		}
		from := time.Now()
		out := d.ask(context.Background(), Request{Facts: bash("one more")})
		same(t, "code", out.Code, Overloaded)
		same(t, "resolution", out.Resolution, event.ConfirmationUnavailable)
		same(t, "at once", time.Since(from), time.Duration(0))
		same(t, "pending", len(d.b.List()), DefaultPending)
		d.b.Close()
	})
}

// TestFlood is esc/GT-20: of ten thousand requests a person sees one, and how many were
// refused; each has its decision.
func TestFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 10_000
		d := newDesk(t, Options{})
		decided := 0
		stop, err := d.hub.Listen([]event.Topic{event.TopicDecision}, func(e event.Event) { decided++ })
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		a := d.attach()
		first := d.asking(Request{Facts: bash("first")})
		synctest.Wait()
		codes := map[Code]int{}
		for i := range n {
			got := d.asking(Request{Facts: bash(fmt.Sprint(i))})
			synctest.Wait()
			select {
			case out := <-got:
				codes[out.Code]++
			default:
			}
		}
		if codes[Overloaded] != n-9 || len(d.b.List()) != 10 {
			t.Errorf("refused: %v, pending: %d", codes, len(d.b.List()))
		}
		_ = d.answer(a, Answer{})
		same(t, "first", (<-first).Resolution, event.UserDenied)
		if lines := d.b.List()[0].Lines(80, false); lines[0] != " warn| 9991 requests were refused without asking" {
			t.Errorf("the next one: %q", lines)
		}
		d.b.Close()
		synctest.Wait()
		same(t, "decisions", decided, n+1)
	})
}

// TestFatigue: after ten denials in a row nothing is asked for a while, and what is pending
// goes with them; an approval starts the count again.
func TestFatigue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, Options{neverCount: true})
		a := d.attach()
		say := func(ans Answer) Outcome {
			t.Helper()
			got := d.asking(Request{Facts: bash("x")})
			synctest.Wait()
			_ = d.answer(a, ans)
			return <-got
		}
		for range 9 {
			say(Answer{})
		}
		same(t, "approved", say(Answer{Decision: Approve}).Approved, true)
		for range 9 {
			say(Answer{})
		}
		tenth := d.asking(Request{Facts: bash("tenth")})
		synctest.Wait()
		var rest []<-chan Outcome
		for i := range 3 {
			rest = append(rest, d.asking(Request{Facts: bash(fmt.Sprint(i))}))
		}
		synctest.Wait()
		_ = d.answer(a, Answer{})
		same(t, "tenth", (<-tenth).Resolution, event.UserDenied)
		for _, got := range rest {
			out := <-got
			same(t, "pending", out.Code, Cooldown)
			same(t, "resolution", out.Resolution, event.ConfirmationUnavailable)
		}
		time.Sleep(DefaultCooldown - time.Nanosecond)
		same(t, "in the cooldown", d.ask(context.Background(), Request{Facts: bash("y")}).Code, Cooldown)
		time.Sleep(time.Nanosecond)
		got := d.asking(Request{Facts: bash("z")})
		synctest.Wait()
		same(t, "refused meanwhile", d.b.List()[0].Refused, 4)
		_ = d.answer(a, Answer{Decision: Approve})
		same(t, "afterwards", (<-got).Approved, true)
	})
}

// TestCoalesce: what is identical within five seconds is one prompt with one answer; what
// differs in anything, or comes later, is not (esc/GT-22 among them).
func TestCoalesce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, Options{})
		a := d.attach()
		f := bash("ls")
		one := d.asking(Request{Facts: f})
		time.Sleep(DefaultCoalesce - time.Nanosecond)
		two := d.asking(Request{Facts: f})
		synctest.Wait()
		same(t, "pending", len(d.b.List()), 1)
		other := bash("ls")
		other.Session = "s2"
		d.asking(Request{Facts: other})
		synctest.Wait()
		same(t, "of another session", len(d.b.List()), 2)
		time.Sleep(time.Nanosecond)
		d.asking(Request{Facts: f})
		synctest.Wait()
		same(t, "after five seconds", len(d.b.List()), 3)
		_ = d.answer(a, Answer{Decision: Approve})
		same(t, "one", (<-one).Approved, true)
		same(t, "two", (<-two).Approved, true)
		if got := d.told(); strings.Count(got, "decision=user_approved") != 2 {
			t.Errorf("events: %s", got)
		}
		// answered: an identical one is asked again
		same(t, "others", len(d.b.List()), 2)
		d.b.Close()
	})
}

// TestGrantIsNotKept is esc/GT-22: the queue remembers no answer; another session, or the
// next run, asks again.
func TestGrantIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 2 {
			d := newDesk(t, Options{})
			a := d.attach()
			for range 2 {
				got := d.asking(Request{Facts: bash("ls")})
				synctest.Wait()
				_ = d.answer(a, Answer{Decision: Approve, Scope: Scope{Lasts: ForRun}})
				same(t, "approved", (<-got).State(), "approved_for_session")
			}
			if got := d.told(); strings.Count(got, "ui_prompt") != 2 {
				t.Errorf("events: %s", got)
			}
		}
	})
}

// TestCallerGone: the last caller closes the prompt, and a late answer has no effect.
func TestCallerGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, Options{})
		a := d.attach()
		ctx, cancel := context.WithCancel(context.Background())
		got := make(chan Outcome, 1)
		go func() { got <- d.ask(ctx, Request{Facts: bash("ls")}) }()
		synctest.Wait()
		second := d.asking(Request{Facts: bash("ls")})
		synctest.Wait()
		cancel()
		same(t, "the first caller", (<-got).Code, CallerGone)
		same(t, "the prompt stays", len(d.b.List()), 1)
		_ = d.answer(a, Answer{Decision: Approve})
		same(t, "the second", (<-second).Approved, true)

		ctx, cancel = context.WithCancel(context.Background())
		go func() { got <- d.ask(ctx, Request{Facts: bash("ls")}) }()
		synctest.Wait()
		v := d.b.List()[0]
		cancel()
		same(t, "alone", (<-got).Code, CallerGone)
		if err := a.Answer(Answer{ID: v.ID, Digest: v.Digest, Decision: Approve}); !errors.Is(err, ErrStale) {
			t.Errorf("a late answer: %v", err)
		}
		if got := d.told(); !strings.HasSuffix(got, "prompt_closed=caller_gone decision=confirmation_unavailable") {
			t.Errorf("events: %s", got)
		}
	})
}

// TestWallClockDoesNotMatter: deadlines are monotonic. The wall clock jumps a year each way
// while a prompt is open and a grant runs.
func TestWallClockDoesNotMatter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wall := noon
		hub := event.New(event.Options{Now: func() time.Time { return wall }})
		b, err := New(Options{Hub: hub})
		if err != nil {
			t.Fatal(err)
		}
		a, _ := b.Attach("test")
		for _, jump := range []int{1, -2} {
			got := make(chan Outcome, 1)
			go func() {
				got <- b.Ask(context.Background(), Request{Record: hub.Begin(event.Request{}), Facts: bash("ls")})
			}()
			synctest.Wait()
			from := time.Now()
			wall = wall.AddDate(jump, 0, 0)
			time.Sleep(time.Second)
			v := b.List()
			same(t, "pending", len(v), 1)
			same(t, "deadline", v[0].Deadline.Sub(from), DefaultTimeout)
			same(t, "code", (<-got).Code, Timeout)
			same(t, "after", time.Since(from), DefaultTimeout)
		}
		a.Detach()
		b.Close()
	})
}

// TestOneCallOnePrompt is bg/D55: all reasons of a call are in one prompt.
func TestOneCallOnePrompt(t *testing.T) {
	f := bash("cat /etc/hosts | deploy")
	f.Reasons = []Reason{{Surface: "bash", Pattern: "deploy *"}, {Surface: "external_directory_read", Pattern: "/etc/hosts"}}
	text := strings.Join(view("perm-1", &f, f.Digest(), noon).Lines(100, false), "\n")
	for _, want := range []string{"reason  bash: deploy *", "reason  external_directory_read: /etc/hosts"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
}
