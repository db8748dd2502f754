package gate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"brainbox/gate/event"
	"brainbox/gate/grant"
	"brainbox/gate/prompt"
)

// descriptors counts those of this process.
func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// settles waits until a number is at most what it was: what ends, ends soon.
func settles(t *testing.T, what string, now func() int, want int) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); now() > want; {
		if time.Now().After(end) {
			t.Errorf("%d %s, were %d", now(), what, want)
			return
		}
		runtime.Gosched()
		time.Sleep(time.Millisecond)
	}
}

// A hundred calls at once, while people answer, come and go, callers leave, the policy
// changes and grants are revoked: each has exactly one decision and one event that says
// the same, what the newest policy denies never passes, and nothing is left.
func TestRace(t *testing.T) {
	goroutines := runtime.NumGoroutine()
	dir, judge, places := tree(t)
	fds := descriptors(t)
	func() {
		open, shut := compiled(t, `{"*":"allow","bash":"allow","path":{"*.env":"deny"}}`, rooted(dir)), compiled(t, vectorPolicy, rooted(dir))
		hub := event.New(event.Options{Session: "s1"})
		broker, err := prompt.New(prompt.Options{Hub: hub, Grace: 5 * time.Millisecond, PerSecond: 1 << 20, Coalesce: time.Nanosecond, Denials: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		g, err := New(Config{Policy: shut, Hub: hub, Broker: broker, Session: "s1", Judge: judge, Resolver: places})
		if err != nil {
			t.Fatal(err)
		}
		sub, err := hub.Subscribe(event.Subscribe{Topics: []event.Topic{event.TopicDecision}})
		if err != nil {
			t.Fatal(err)
		}
		stop, helpers := disturb(g, broker, open, shut)
		var calls sync.WaitGroup
		got := make([]Decision, 100)
		for i := range got {
			calls.Go(func() {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				if i%5 == 0 {
					time.AfterFunc(time.Duration(i)*100*time.Microsecond, cancel)
				}
				got[i] = g.Decide(ctx, raceCall(dir, i))
				got[i].Close()
			})
		}
		calls.Wait()
		stop()
		helpers.Wait()
		broker.Close()
		hub.Close()
		seen := recorded(t, sub)
		if len(seen) != len(got) {
			t.Errorf("%d decisions of %d calls", len(seen), len(got))
		}
		for i, d := range got {
			if seen[d.RequestID] != string(d.Resolution) || d.Resolution.Allowed() != d.Allowed {
				t.Errorf("call %d: %v, recorded %q", i, d.Resolution, seen[d.RequestID])
			}
			if i%4 == 3 && d.Allowed {
				t.Errorf("call %d is denied by both policies, and passed as %v", i, d.Resolution)
			}
		}
	}()
	settles(t, "goroutines", runtime.NumGoroutine, goroutines)
	settles(t, "descriptors", func() int { return descriptors(t) }, fds)
}

// recorded are the decisions of a hub that is closed: the resolution of each request.
func recorded(t *testing.T, sub *event.Subscription) map[string]string {
	t.Helper()
	seen := map[string]string{}
	for {
		e, err := sub.Next(context.Background())
		if errors.Is(err, event.ErrClosed) {
			return seen
		}
		if err != nil {
			t.Fatal(err)
		}
		id := member(e.Data, "requestId")
		if seen[id] != "" {
			t.Errorf("two decisions of %s", id)
		}
		seen[id] = member(e.Data, "resolution")
	}
}

func member(data, name string) string {
	_, rest, _ := strings.Cut(data, `"`+name+`":"`)
	text, _, _ := strings.Cut(rest, `"`)
	return text
}

func raceCall(dir string, i int) Call {
	switch i % 4 {
	case 0:
		return bash(fmt.Sprintf("make t%d", i))
	case 1:
		return written(dir, fmt.Sprintf(".git/hooks/h%d", i))
	case 2:
		return written(dir, fmt.Sprintf("src/f%d", i))
	}
	return written(dir, "src/x.env")
}

// disturb changes everything that can change, until it is stopped.
func disturb(g *Gate, broker *prompt.Broker, open, shut *Compiled) (stop func(), helpers *sync.WaitGroup) {
	ctx, cancel := context.WithCancel(context.Background())
	helpers = &sync.WaitGroup{}
	var n atomic.Int32
	loop := func(f func(i int)) {
		helpers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				f(i)
				time.Sleep(200 * time.Microsecond)
			}
		})
	}
	loop(func(i int) {
		switch i % 4 {
		case 0:
			_ = g.Swap(open)
		case 1:
			g.Keep("project", errors.New("gone"))
		default:
			_ = g.Swap(shut)
		}
	})
	loop(func(int) { // people who come and go
		some, leave := context.WithTimeout(ctx, 3*time.Millisecond)
		defer leave()
		_ = broker.Serve(some, "test", uiFunc(func(context.Context, prompt.View) (prompt.Answer, error) {
			switch n.Add(1) % 4 {
			case 0:
				return deny, nil
			case 1:
				return approveRun, nil
			case 2:
				panic("ui")
			}
			return approve, nil
		}))
	})
	loop(func(int) {
		for _, e := range g.Grants() {
			g.Revoke(e.ID)
		}
		_, _ = g.book.Add(grant.Grant{Surface: "bash", Pattern: "make *", Whole: true}, grant.Once())
	})
	return cancel, helpers
}
