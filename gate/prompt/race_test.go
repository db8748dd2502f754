package prompt

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"brainbox/gate/event"
)

// TestHundredAtOnce: prompts, cancelled callers, user interfaces that come, go, panic and
// answer twice, policies that fail to load, and subscribers that panic and block, all at
// once. Each request has exactly one decision, the one that its caller got; no goroutine
// and no descriptor is left.
func TestHundredAtOnce(t *testing.T) {
	before := descriptors(t)
	synctest.Test(t, func(t *testing.T) { // it fails when a goroutine is left
		hundred(t, time.Second)
	})
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

// TestHundredInRealTime is the same without the fake clock, which orders goroutines.
func TestHundredInRealTime(t *testing.T) {
	goroutines, before := runtime.NumGoroutine(), descriptors(t)
	hundred(t, time.Millisecond)
	for range 20000 { // those that were told to end may still be on their way
		if runtime.NumGoroutine() <= goroutines {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if now := runtime.NumGoroutine(); now > goroutines {
		t.Errorf("%d goroutines before, %d after", goroutines, now)
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

func hundred(t *testing.T, unit time.Duration) {
	d := newDesk(t, Options{neverCount: true, Denials: 1000, Pending: 200, Grace: 20 * unit})
	var mu sync.Mutex
	decided := map[string][]string{}
	stop, err := d.hub.Listen([]event.Topic{event.TopicDecision}, func(e event.Event) {
		var x struct{ RequestID, Resolution string }
		_ = json.Unmarshal([]byte(e.Data), &x)
		mu.Lock()
		defer mu.Unlock()
		decided[x.RequestID] = append(decided[x.RequestID], x.Resolution)
	})
	if err != nil {
		t.Fatal(err)
	}
	block := make(chan struct{})
	stopPanic, _ := d.hub.Listen(nil, func(event.Event) { panic("subscriber") })
	stopBlock, _ := d.hub.Listen(nil, func(event.Event) { <-block })

	work, end := context.WithCancel(context.Background())
	var others sync.WaitGroup
	for i := range 4 {
		others.Go(func() { churn(work, d, i, unit) })
	}
	others.Go(func() {
		for work.Err() == nil {
			d.hub.Publish(event.PolicyError{Origin: "project", Message: "reload"})
			time.Sleep(3 * unit)
		}
	})
	got := map[string]Outcome{}
	var asked sync.WaitGroup
	for i := range 100 {
		asked.Go(func() {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if i%5 == 0 {
				timer := time.AfterFunc(time.Duration(i)*unit, cancel)
				defer timer.Stop()
			}
			rec := d.hub.Begin(event.Request{Surface: "bash"})
			out := d.ask(ctx, Request{Record: rec, Facts: bash(fmt.Sprint(i % 70))})
			mu.Lock()
			defer mu.Unlock()
			got[rec.ID()] = out
		})
	}
	asked.Wait()
	end()
	others.Wait()
	d.b.Close()
	close(block)
	stopPanic()
	stopBlock()
	for range 20000 { // the listener is a goroutine of its own
		mu.Lock()
		n := len(decided)
		mu.Unlock()
		if n == len(got) {
			break
		}
		time.Sleep(unit)
	}
	stop()
	mu.Lock()
	defer mu.Unlock()
	if len(got) != 100 || len(decided) != 100 {
		t.Errorf("%d outcomes, %d decided", len(got), len(decided))
	}
	seen := map[string]int{}
	for id, out := range got {
		if len(decided[id]) != 1 || decided[id][0] != string(out.Resolution) || !strings.HasPrefix(id, "perm-") {
			t.Errorf("%s: decisions %q, outcome %+v", id, decided[id], out)
		}
		seen[string(out.Resolution)+string(out.Code)]++
	}
	if len(seen) < 2 {
		t.Errorf("too tame: %v", seen)
	}
}

// churn is a user interface that comes and goes.
func churn(ctx context.Context, d *desk, which int, unit time.Duration) {
	for ctx.Err() == nil {
		session, leave := context.WithTimeout(ctx, time.Duration(1+rand.IntN(20))*unit)
		_ = d.b.Serve(session, fmt.Sprint("ui", which), uiFunc(func(ctx context.Context, v View) (Answer, error) {
			switch rand.IntN(6) {
			case 0:
				panic("user interface")
			case 1:
				<-ctx.Done()
				return Answer{}, ctx.Err()
			case 2:
				return Answer{}, nil
			case 3:
				return Answer{Decision: 9}, nil
			default:
				return Answer{Decision: Approve}, nil
			}
		}))
		leave()
		time.Sleep(unit)
	}
}
