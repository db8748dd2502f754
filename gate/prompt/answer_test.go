package prompt

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAnswerRefuses(t *testing.T) {
	f := whole()
	d := f.Digest()
	once := whole()
	once.Grant, once.Editable = "", false
	hour := Scope{Lasts: ForTime, For: time.Hour}
	for _, c := range []struct {
		name string
		a    Answer
		f    *Facts
		want error
	}{
		{"esc/GT-16 to another snapshot", Answer{Digest: Digest{1}, Decision: Approve}, &f, ErrStale},
		{"without a digest", Answer{Decision: Approve}, &f, ErrStale},
		{"a denial with a scope", Answer{Digest: d, Scope: hour}, &f, ErrInvalid},
		{"a denial with an edit", Answer{Digest: d, Edited: []byte("{}")}, &f, ErrInvalid},
		{"a very long reason", Answer{Digest: d, Reason: strings.Repeat("x", 4097)}, &f, ErrInvalid},
		{"no decision that is known", Answer{Digest: d, Decision: 7}, &f, ErrInvalid},
		{"an approval with a reason", Answer{Digest: d, Decision: Approve, Reason: "x"}, &f, ErrInvalid},
		{"no scope that is known", Answer{Digest: d, Decision: Approve, Scope: Scope{Lasts: 9}}, &f, ErrInvalid},
		{"for no time", Answer{Digest: d, Decision: Approve, Scope: Scope{Lasts: ForTime}}, &f, ErrInvalid},
		{"for too long", Answer{Digest: d, Decision: Approve, Scope: Scope{Lasts: ForTime, For: 25 * time.Hour}}, &f, ErrInvalid},
		{"a time for a run", Answer{Digest: d, Decision: Approve, Scope: Scope{Lasts: ForRun, For: 1}}, &f, ErrInvalid},
		{"once for all agents", Answer{Digest: d, Decision: Approve, Scope: Scope{WholeSession: true}}, &f, ErrInvalid},
		{"for longer than is offered", Answer{Digest: once.Digest(), Decision: Approve, Scope: hour}, &once, ErrInvalid},
		{"an edit that is not offered", Answer{Digest: once.Digest(), Decision: Approve, Edited: []byte("{}")}, &once, ErrInvalid},
		{"an edit for longer", Answer{Digest: d, Decision: Approve, Scope: hour, Edited: []byte("{}")}, &f, ErrInvalid},
		{"an empty edit", Answer{Digest: d, Decision: Approve, Edited: []byte{}}, &f, ErrInvalid},
		{"bk/RQ16 an edit that is no object", Answer{Digest: d, Decision: Approve, Edited: []byte("[1]")}, &f, ErrInvalid},
		{"bk/RQ23 an edit with __proto__", Answer{Digest: d, Decision: Approve, Edited: []byte(`{"__proto__":1}`)}, &f, ErrInvalid},
		{"an edit with a key twice", Answer{Digest: d, Decision: Approve, Edited: []byte(`{"a":1,"\u0061":2}`)}, &f, ErrInvalid},
		{"bk/RQ24 a large edit", Answer{Digest: d, Decision: Approve, Edited: []byte(`{"a":"` + strings.Repeat("x", 1<<20) + `"}`)}, &f, ErrInvalid},
		{"a denial", Answer{Digest: d}, &f, nil},
		{"once", Answer{Digest: d, Decision: Approve}, &f, nil},
		{"for this run", Answer{Digest: d, Decision: Approve, Scope: Scope{Lasts: ForRun, WholeSession: true}}, &f, nil},
		{"for an hour", Answer{Digest: d, Decision: Approve, Scope: hour}, &f, nil},
		{"bk/RQ15 with an edit", Answer{Digest: d, Decision: Approve, Edited: []byte(`{"a":1}`)}, &f, nil},
	} {
		if _, err := c.a.read(c.f, c.f.Digest()); !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

// TestSpend is bg/D57, esc/GT-15 and GT-16: an approval is used once, for what was shown.
func TestSpend(t *testing.T) {
	f := whole()
	d := f.Digest()
	s := settlement{answer: Answer{Digest: d, Decision: Approve}, by: "test"}
	if err := (Outcome{}).Spend(Digest{}); !errors.Is(err, ErrNotApproved) {
		t.Errorf("the zero outcome: %v", err)
	}
	if err := answered("perm-1", settlement{answer: Answer{Digest: d}}).Spend(d); !errors.Is(err, ErrNotApproved) {
		t.Errorf("a denial: %v", err)
	}
	changed := whole()
	changed.Content = []byte("another script")
	out := answered("perm-1", s)
	if err := out.Spend(changed.Digest()); !errors.Is(err, ErrChanged) {
		t.Errorf("a changed script: %v", err)
	}
	if err := out.Spend(d); !errors.Is(err, ErrSpent) {
		t.Errorf("after a refused use: %v", err)
	}
	out = answered("perm-1", s)
	replay := out
	if err := out.Spend(d); err != nil {
		t.Errorf("the first use: %v", err)
	}
	if err := replay.Spend(d); !errors.Is(err, ErrSpent) {
		t.Errorf("a copy, afterwards: %v", err)
	}
}

// TestBucket: twice a second's worth at once, then as many as the time gives.
func TestBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBucket(5)
		for _, c := range []struct {
			after time.Duration
			want  int
		}{{0, 10}, {0, 0}, {time.Second / 5, 1}, {time.Second, 5}, {time.Hour, 10}} {
			time.Sleep(c.after)
			n := 0
			for b.Take() {
				n++
			}
			if n != c.want {
				t.Errorf("after %v: %d, want %d", c.after, n, c.want)
			}
		}
	})
}
