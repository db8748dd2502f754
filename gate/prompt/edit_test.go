package prompt

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"brainbox/gate/action"
	"brainbox/gate/event"
)

// TestEdit is bg/D58: what a person changes is judged as a new call.
func TestEdit(t *testing.T) {
	f := bash("git push")
	f.Editable, f.Input = true, []byte(`{"command":"git push"}`)
	edited := bash("git push --dry-run")
	edited.Editable, edited.Input = true, []byte(`{"command":"git push --dry-run"}`)
	stranger := edited
	stranger.Session, stranger.Agent = "s2", "b"
	for _, c := range []struct {
		name   string
		judged Rejudged
		want   func(t *testing.T, d *desk, a *Attachment, got <-chan Outcome)
	}{
		{"the zero judgment denies", Rejudged{}, func(t *testing.T, d *desk, _ *Attachment, got <-chan Outcome) {
			out := <-got
			same(t, "resolution", out.Resolution, event.PolicyDeny)
			same(t, "approved", out.Approved, false)
			same(t, "usable", errors.Is(out.Spend(f.Digest()), ErrNotApproved), true)
		}},
		{"allowed", Rejudged{Action: action.Allow, Facts: stranger}, func(t *testing.T, d *desk, _ *Attachment, got <-chan Outcome) {
			out := <-got
			same(t, "approved", out.Approved, true)
			same(t, "edit", string(out.Edited), string(edited.Input))
			same(t, "the edit is bound", out.Digest, edited.Digest())
			same(t, "recorded", out.Verdict().Value, "git push --dry-run")
		}},
		{"asked again", Rejudged{Action: action.Ask, Facts: edited}, func(t *testing.T, d *desk, a *Attachment, got <-chan Outcome) {
			synctest.Wait()
			same(t, "shown", d.b.List()[0].Digest, edited.Digest())
			_ = d.answer(a, Answer{Decision: Approve})
			out := <-got
			same(t, "approved", out.Approved, true)
			same(t, "the edit is bound", out.Digest, edited.Digest())
		}},
		{"asked again, and denied", Rejudged{Action: action.Ask, Facts: edited}, func(t *testing.T, d *desk, a *Attachment, got <-chan Outcome) {
			synctest.Wait()
			_ = d.answer(a, Answer{})
			same(t, "denied", (<-got).Resolution, event.UserDenied)
		}},
		{"changed without end", Rejudged{Action: action.Ask, Facts: edited}, func(t *testing.T, d *desk, a *Attachment, got <-chan Outcome) {
			for range mostEdits {
				synctest.Wait()
				_ = d.answer(a, Answer{Decision: Approve, Edited: edited.Input})
			}
			same(t, "denied", (<-got).Resolution, event.PolicyDeny)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, Options{})
				a := d.attach()
				got := d.asking(Request{Facts: f, Rejudge: func(_ context.Context, in []byte) Rejudged {
					in[0] = 'x' // it has a copy
					return c.judged
				}})
				synctest.Wait()
				if err := d.answer(a, Answer{Decision: Approve, Edited: edited.Input}); err != nil {
					t.Fatal(err)
				}
				c.want(t, d, a, got)
				if told := d.told(); strings.Count(told, "decision=") != 1 {
					t.Errorf("events: %s", told)
				}
			})
		})
	}
}
