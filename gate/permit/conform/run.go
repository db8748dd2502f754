package conform

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"brainbox/gate/permit"
)

// Scenario is one turn with one call, for a backend to run.
type Scenario struct {
	Posture permit.Posture
	Rules   permit.Rules
	Bridge  permit.Bridge
	Call    permit.Call
	// Shortcut is what the runtime would let run by itself, without a decision.
	Shortcut func(tool string) bool
	// Acquire stands for the runtime: it is called once, before the call is looked at.
	Acquire func() error
	// Tool is the tool's body. Nothing else stands for running it.
	Tool func(ctx context.Context, in permit.Input) error
}

// Backend runs one scenario. It gives the error result for the model, or an error that
// rejects the turn.
type Backend func(ctx context.Context, s Scenario) (denial string, err error)

// Failure is what a backend does otherwise than it must.
type Failure struct {
	ID      string // of the scenario: T1 to T10
	Receipt bool   // a file tells it, not a word
	Text    string
}

// String begins with the scenario and, if a file tells it, "receipt:".
func (f Failure) String() string {
	if f.Receipt {
		return f.ID + ": receipt: " + f.Text
	}
	return f.ID + ": " + f.Text
}

// prompt is how long a denial without a question may take.
const prompt = time.Second

// Run runs every scenario in a directory of its own beneath dir.
func Run(ctx context.Context, dir string, b Backend) []Failure {
	var all []Failure
	for i, c := range scenarios() {
		r := &run{want: c, dir: filepath.Join(dir, fmt.Sprint(i))}
		if err := os.Mkdir(r.dir, 0o700); err != nil {
			return append(all, Failure{ID: c.id, Text: err.Error()})
		}
		all = append(all, r.run(ctx, b)...)
	}
	return all
}

// run is one scenario under way.
type run struct {
	want expected
	dir  string

	mu     sync.Mutex
	asked  []permit.Request
	events []permit.Denied
}

const (
	receipt  = "executed.json"
	acquired = "acquired"
)

func (r *run) run(ctx context.Context, b Backend) []Failure {
	s := r.want.scenario
	s.Bridge = host{r}
	s.Shortcut = func(tool string) bool { return r.want.shortcut && tool == s.Call.Tool }
	s.Acquire = func() error { return r.write(acquired, nil) }
	s.Tool = func(_ context.Context, in permit.Input) error { return r.write(receipt, in.JSON()) }
	start := time.Now()
	denial, err := b(ctx, s)
	return r.judge(denial, err, time.Since(start))
}

// write adds to a file: a tool that runs twice leaves two receipts.
func (r *run) write(name string, text []byte) error {
	f, err := os.OpenFile(filepath.Join(r.dir, name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// read gives a file, or says that it is not there.
func (r *run) read(name string) string {
	text, err := os.ReadFile(filepath.Join(r.dir, name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return absent
	case err != nil:
		return err.Error()
	}
	return string(text)
}

const absent = "no file"

// judge looks at the files first, and when they tell enough at nothing else.
func (r *run) judge(denial string, err error, took time.Duration) []Failure {
	want := r.want
	if got := r.read(receipt); got != want.receipt {
		return []Failure{{want.id, true, fmt.Sprintf("%s holds %s, want %s", receipt, got, want.receipt)}}
	}
	if got := r.read(acquired) != absent; got == want.rejected {
		return []Failure{{want.id, true, fmt.Sprintf("a runtime was acquired: %v, want %v", got, !want.rejected)}}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Failure
	fail := func(format string, args ...any) {
		all = append(all, Failure{ID: want.id, Text: fmt.Sprintf(format, args...)})
	}
	var request *permit.RequestError
	if rejected := errors.As(err, &request); rejected != want.rejected || err != nil && !rejected {
		fail("the turn ended with %v, rejected: want %v", err, want.rejected)
	}
	if (denial == "") != (want.receipt != absent || want.rejected) {
		fail("the error result is %q", denial)
	}
	if want.denial != "" && denial != want.denial {
		fail("the error result is %q, want %q", denial, want.denial)
	}
	if len(r.asked) != want.asked {
		fail("asked %d times, want %d", len(r.asked), want.asked)
	}
	for _, q := range r.asked {
		if q.Outside != want.outside {
			fail("the request is marked as outside the enforced list: %v, want %v", q.Outside, want.outside)
		}
	}
	if len(r.events) != want.events {
		fail("%d activity events, want %d", len(r.events), want.events)
	}
	if want.events > 0 && took > prompt {
		fail("the denial took %v", took)
	}
	return all
}

// host is the bridge of a scenario.
type host struct{ r *run }

// RequestPermission gives the scenario's answer.
func (h host) RequestPermission(_ context.Context, q permit.Request) (permit.Answer, error) {
	h.r.mu.Lock()
	defer h.r.mu.Unlock()
	h.r.asked = append(h.r.asked, q)
	return h.r.want.answer, nil
}

// ReportActivity counts.
func (h host) ReportActivity(d permit.Denied) error {
	h.r.mu.Lock()
	defer h.r.mu.Unlock()
	h.r.events = append(h.r.events, d)
	return nil
}
