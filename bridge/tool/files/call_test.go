package files

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"brainbox/bridge/tool"
	"brainbox/gate"
	"brainbox/internal/strictjson"
)

// answer is what a call gave: an output, or a code.
type answer struct {
	out     map[string]any
	code    string
	status  string
	message string
}

// call does what a server does: it plans, has the gate decide, spends, and does.
func (s *shop) call(name string, input map[string]any) answer {
	s.t.Helper()
	return s.callWith(s.t.Context(), name, input)
}

func (s *shop) callWith(ctx context.Context, name string, input map[string]any) answer {
	s.t.Helper()
	text, err := json.Marshal(input)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.raw(ctx, name, text)
}

func (s *shop) raw(ctx context.Context, name string, text []byte) answer {
	v, err := strictjson.Decode(text, strictjson.Limits{Bytes: 8 << 20})
	if err != nil {
		return answer{code: "not decoded", message: err.Error()}
	}
	tl := s.tools[name]
	p, err := tl.Plan(v)
	if err != nil {
		return failed(err)
	}
	if part, ok := p.(tool.Partial); ok {
		if v, done, err := part.Partial(); done {
			if err != nil {
				return failed(err)
			}
			return succeeded(v)
		}
	}
	c := gate.Call{Surface: tool.SurfaceOf(tl), Tool: name, Agent: "a", Cwd: s.dir, Args: text, Reading: p.Reading()}
	d := s.gate.Decide(ctx, c)
	defer d.Close()
	if !d.Allowed {
		return answer{code: "not allowed", message: string(d.Resolution)}
	}
	if err = d.Spend(c); err != nil {
		return answer{code: "not spent", message: err.Error()}
	}
	if s.between != nil {
		s.between()
	}
	out, err := p.Do(ctx, &d)
	if err != nil {
		return failed(err)
	}
	return succeeded(out)
}

func succeeded(v *strictjson.Value) answer {
	a := answer{}
	if err := json.Unmarshal(strictjson.Append(nil, v), &a.out); err != nil {
		return answer{code: "no JSON", message: err.Error()}
	}
	return a
}

func failed(err error) answer {
	var r *tool.Refusal
	if !errors.As(err, &r) {
		return answer{code: "no refusal", message: err.Error()}
	}
	return answer{code: r.Code, status: r.Status, message: r.Message}
}

// want compares the code; empty is success.
func (a answer) want(t testing.TB, code string) answer {
	t.Helper()
	if a.code != code {
		t.Errorf("code %q (%s), want %q", a.code, a.message, code)
	}
	return a
}

// reading is that of a valid call.
func (s *shop) reading(name string, input map[string]any) gate.Reading {
	s.t.Helper()
	text, err := json.Marshal(input)
	if err != nil {
		s.t.Fatal(err)
	}
	v, err := strictjson.Decode(text, strictjson.Limits{})
	if err != nil {
		s.t.Fatal(err)
	}
	p, err := s.tools[name].Plan(v)
	if err != nil {
		s.t.Fatal(err)
	}
	return p.Reading()
}
