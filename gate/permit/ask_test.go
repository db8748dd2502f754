package permit

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"
)

// asks is a bridge that only answers.
type asks struct {
	answer Answer
	err    error
	asked  int
}

func (b *asks) RequestPermission(context.Context, Request) (Answer, error) {
	b.asked++
	return b.answer, b.err
}

// reports is one that also takes events.
type reports struct {
	asks
	events []Denied
	fail   func() error
}

func (b *reports) ReportActivity(d Denied) error {
	b.events = append(b.events, d)
	if b.fail != nil {
		return b.fail()
	}
	return nil
}

// checks is one that also keeps a record.
type checks struct {
	reports
	durable bool
	failed  error
	order   []string
}

func (b *checks) CheckpointPermission(Request) (bool, error) {
	b.order = append(b.order, "checkpoint after "+string(rune('0'+len(b.events)))+" events")
	return b.durable, b.failed
}

func ask(t *testing.T, b Bridge, r Request, o Options) Decision {
	t.Helper()
	d, err := Ask(t.Context(), b, r, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

var (
	errThrown = errors.New("thrown")
	nobody    = Options{NoGrantSurface: true}
	someTool  = Request{Call: Call{ID: "u1", Tool: "ext"}}
)

func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		id, answer string
		want       Decision
	}{
		{"bk/RQ1", `{"behavior":"allow"}`, Decision{Allow: true}},
		{"bk/RQ2", `{"behavior":"deny","message":"no"}`, Decision{Message: "no"}},
		{"bk/RQ3", `{"behavior":"deny"}`, Decision{Message: deniedWord}},
		{"bk/RQ3 a number", `{"behavior":"deny","message":42}`, Decision{Message: deniedWord}},
		{"bk/RQ4", `{"behavior":"maybe"}`, Decision{Message: deniedWord}},
		{"bk/RQ4 empty", `{"behavior":""}`, Decision{Message: deniedWord}},
		{"bk/RQ4 upper case", `{"behavior":"ALLOW"}`, Decision{Message: deniedWord}},
		{"bk/RQ4 a list", `{"behavior":["allow"]}`, Decision{Message: deniedWord}},
		{"bk/RQ4 another key", `{"Behavior":"allow"}`, Decision{Message: deniedWord}},
		{"bk/RQ4 with an edit", `{"behavior":"maybe","updatedInput":{}}`, Decision{Message: deniedWord}},
	} {
		t.Run(c.id, func(t *testing.T) {
			a, err := DecodeAnswer([]byte(c.answer))
			if err != nil {
				t.Fatal(err)
			}
			if got := ask(t, &asks{answer: a}, someTool, Options{}); got != c.want {
				t.Errorf("%s: %+v, want %+v", c.answer, got, c.want)
			}
		})
	}
	for _, text := range []string{``, `[]`, `"allow"`, `{"behavior":"deny","behavior":"allow"}`} {
		if a, err := DecodeAnswer([]byte(text)); err == nil || a.Behavior != "" {
			t.Errorf("DecodeAnswer(%s) = %+v, %v", text, a, err)
		}
	}
	t.Run("bk/RQ5", func(t *testing.T) {
		if got := ask(t, nil, someTool, Options{}); got.Allow || !strings.Contains(got.Message, "ext") || !strings.Contains(got.Message, "no turn is active") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("bk/RQ14", func(t *testing.T) {
		d, err := Ask(t.Context(), &asks{answer: Answer{Behavior: "allow"}, err: errThrown}, someTool, Options{})
		if !errors.Is(err, errThrown) || d.Allow {
			t.Errorf("%+v, %v", d, err)
		}
	})
	t.Run("an answer after the end of the turn is none", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if d, err := Ask(ctx, &asks{answer: Answer{Behavior: "allow"}}, someTool, Options{}); err == nil || d.Allow {
			t.Errorf("%+v, %v", d, err)
		}
	})
}

// Where nobody can answer nobody is asked.
func TestNoGrantSurface(t *testing.T) {
	denied := func(t *testing.T, d Decision) {
		t.Helper()
		if d.Allow || !strings.Contains(d.Message, "ext") || !strings.HasSuffix(d.Message, ".") {
			t.Errorf("%+v", d)
		}
	}
	for _, c := range []struct {
		id   string
		kind Kind
	}{{"bk/RQ7", Tool}, {"bk/RQ8", Command}, {"bk/RQ9 the kind that is absent", Kind(0)}} {
		t.Run(c.id, func(t *testing.T) {
			b := &reports{asks: asks{answer: Answer{Behavior: "allow"}}}
			r := someTool
			r.Kind = c.kind
			d := ask(t, b, r, nobody)
			denied(t, d)
			if want := (Denied{"u1", c.kind, d.Message}); b.asked != 0 || len(b.events) != 1 || b.events[0] != want {
				t.Errorf("asked %d times, events %+v, want %+v", b.asked, b.events, want)
			}
			want := `{"type":"permission_denied","toolUseId":"u1","requestKind":"` + c.kind.String() + `","reason":"`
			if got, err := json.Marshal(b.events[0]); err != nil || !strings.HasPrefix(string(got), want) {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
	t.Run("bk/RQ6", func(t *testing.T) { denied(t, ask(t, nil, someTool, nobody)) })
	for name, fail := range map[string]func() error{
		"an error": func() error { return errThrown }, "a panic": func() error { panic(errThrown) },
	} {
		t.Run("bk/RQ10 "+name, func(t *testing.T) { denied(t, ask(t, &reports{fail: fail}, someTool, nobody)) })
	}
	t.Run("bk/RQ11", func(t *testing.T) {
		b := &asks{answer: Answer{Behavior: "allow"}}
		denied(t, ask(t, b, someTool, nobody))
		if b.asked != 0 {
			t.Error("it was asked")
		}
	})
	for _, c := range []struct {
		id      string
		failed  error
		durable bool
		want    error
	}{
		{"bk/RQ12", errThrown, true, errThrown},
		{"bk/RQ13 it answers later", nil, false, ErrCheckpoint},
		{"a checkpoint that is durable", nil, true, nil},
	} {
		t.Run(c.id, func(t *testing.T) {
			b := &checks{failed: c.failed, durable: c.durable}
			d, err := Ask(t.Context(), b, someTool, nobody)
			if !errors.Is(err, c.want) || d.Allow || b.asked != 0 {
				t.Errorf("%+v, %v, want %v", d, err, c.want)
			}
			if len(b.order) != 1 || b.order[0] != "checkpoint after 0 events" || len(b.events) == 1 != (c.want == nil) {
				t.Errorf("%v, %d events", b.order, len(b.events))
			}
		})
	}
}

// custom has a serialiser of its own, which answers otherwise each time.
type custom struct {
	calls *int
	panic bool
}

func (c custom) MarshalJSON() ([]byte, error) {
	if *c.calls++; c.panic {
		panic("accessor")
	}
	return []byte(`{"command":"call ` + string(rune('0'+*c.calls)) + `"}`), nil
}

// partial has a field that is not there.
type partial struct {
	A int  `json:"a"`
	B *int `json:"b,omitempty"`
}

func TestEdits(t *testing.T) {
	cycle := map[string]any{}
	cycle["self"] = cycle
	calls := 0
	for _, c := range []struct {
		id   string
		edit any
		want string // empty: denied
	}{
		{"bk/RQ15", map[string]any{"a": 1}, `{"a":1}`},
		{"bk/RQ16 a list", []int{1}, ""},
		{"bk/RQ16 a string", "x", ""},
		{"bk/RQ16 a number", 1, ""},
		{"bk/RQ16 true", true, ""},
		{"bk/RQ16 null", nil, ""},
		{"bk/RQ16 null text", json.RawMessage(`null`), ""},
		{"bk/RQ16 a function", func() {}, ""},
		{"bk/RQ16 a date", time.Unix(0, 0), ""},
		{"bk/RQ17 a cycle", cycle, ""},
		{"bk/RQ17 a big integer", big.NewInt(1), ""},
		{"bk/RQ17 a serialiser that panics", custom{new(int), true}, ""},
		{"bk/RQ18", custom{new(int), false}, `{"command":"call 1"}`},
		{"bk/RQ19", custom{&calls, false}, `{"command":"call 1"}`},
		{"bk/RQ20", partial{A: 1}, `{"a":1}`},
		{"bk/RQ21 [D]", map[string]any{"a": math.NaN()}, ""},
		{"bk/RQ23", json.RawMessage(`{"__proto__":{"x":1}}`), `{"__proto__":{"x":1}}`},
		{"bk/RQ24 [D]", map[string]any{"a": strings.Repeat("x", 50<<20)}, ""},
		{"bk/RQ24 [D] one byte over", json.RawMessage(`{"a":"` + strings.Repeat("x", MaxEdit-7) + `"}`), ""},
		{"bk/RQ25 [D]", json.RawMessage(`{"n":9007199254740993,"f":1.0,"e":1e400}`), `{"n":9007199254740993,"f":1.0,"e":1e400}`},
		{"a duplicate key", json.RawMessage(`{"a":1,"a":2}`), ""},
		{"no JSON", json.RawMessage(`{`), ""},
		{"bytes that are no text", json.RawMessage("{\"a\":\"\xff\"}"), ""},
	} {
		t.Run(c.id, func(t *testing.T) {
			d := ask(t, &asks{answer: Answer{Behavior: "allow", Edit: c.edit, Edited: true}}, someTool, Options{})
			if c.want == "" {
				if d.Allow || !strings.Contains(d.Message, "ext") || len(d.Message) > 300 {
					t.Errorf("%+v", d)
				}
				return
			}
			if !d.Allow || !d.Edited || string(d.Edit.JSON()) != c.want {
				t.Errorf("%+v %s, want %s", d, d.Edit.JSON(), c.want)
			}
		})
	}
	if calls != 1 {
		t.Errorf("bk/RQ19: it was read %d times", calls)
	}
	whole := `{"a":"` + strings.Repeat("x", MaxEdit-8) + `"}`
	if d := ask(t, &asks{answer: Answer{Behavior: "allow", Edit: json.RawMessage(whole)}}, someTool, Options{}); !d.Allow {
		t.Errorf("control: an edit of %d bytes: %s", len(whole), d.Message)
	}
}

// bk/RQ22: what the bridge does with its object afterwards changes nothing, and what is
// read from the snapshot is a copy.
func TestSnapshot(t *testing.T) {
	own := map[string]any{"n": json.Number("9007199254740993")}
	d := ask(t, &asks{answer: Answer{Behavior: "allow", Edit: own}}, someTool, Options{})
	own["n"] = 1
	for range 2 {
		var m map[string]any
		if err := d.Edit.Decode(&m); err != nil || m["n"] != json.Number("9007199254740993") {
			t.Errorf("%v, %v", m, err)
		}
		m["n"] = 2
		text := d.Edit.JSON()
		text[1] = 'x'
	}
	raw := json.RawMessage(`{"n":1}`)
	d = ask(t, &asks{answer: Answer{Behavior: "allow", Edit: raw}}, someTool, Options{})
	copy(raw, `{"m":2}`)
	if got := string(d.Edit.JSON()); got != `{"n":1}` {
		t.Errorf("%s", got)
	}
}
