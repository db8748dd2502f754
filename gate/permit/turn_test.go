package permit

import (
	"context"
	"errors"
	"testing"
)

func TestPosture(t *testing.T) {
	both := Support{true, true}
	for _, c := range []struct {
		posture Posture
		support Support
		field   string
	}{
		{Posture{}, Support{}, ""},
		{Posture{EnforceAllowedTools: true}, both, ""},
		{Posture{true, true}, both, ""},
		{Posture{NoGrantSurface: true}, both, "noGrantSurface"}, // bk/T6
		{Posture{EnforceAllowedTools: true}, Support{}, "enforceAllowedTools"},
		{Posture{true, true}, Support{EnforceAllowedTools: true}, "noGrantSurface"},
		{Posture{true, true}, Support{NoGrantSurface: true}, "enforceAllowedTools"},
	} {
		err := c.posture.Check(c.support)
		var e *RequestError
		if c.field == "" && err != nil || c.field != "" && (!errors.As(err, &e) || e.Field != c.field || !errors.Is(err, errors.ErrUnsupported)) {
			t.Errorf("%+v of %+v: %v, want one on %q", c.posture, c.support, err, c.field)
		}
	}
	if turn, err := NewTurn(Config{Posture: Posture{NoGrantSurface: true}}); turn != nil || err == nil {
		t.Errorf("NewTurn = %v, %v", turn, err)
	}
}

// A remembered grant lets a tool run, and never one use of it.
func TestGranted(t *testing.T) {
	rm, ls := input(t, `{"command":"rm -rf x"}`), input(t, `{"command":"ls"}`)
	for _, c := range []struct {
		name     string
		posture  Posture
		in       Input
		asked    int
		dispatch bool
	}{
		{"granted", Posture{}, ls, 0, true},
		{"granted, and to be confirmed", Posture{}, rm, 1, false},
		{"enforced", Posture{EnforceAllowedTools: true}, ls, 1, false},
		{"nobody to ask", Posture{true, true}, ls, 0, false},
	} {
		b := &asks{}
		turn, err := NewTurn(Config{
			Rules: Rules{Shell: "bash"}, Posture: c.posture, Bridge: b,
			Granted: func(tool string) bool { return tool == "bash" },
		})
		if err != nil {
			t.Fatal(err)
		}
		ran := false
		got, err := turn.Do(t.Context(), Call{Tool: "bash", Input: c.in}, func(context.Context, Input) error {
			ran = true
			return nil
		})
		if err != nil || b.asked != c.asked || ran != c.dispatch || got.Dispatched != ran || got.Denial == "" != ran {
			t.Errorf("%s: %+v, %v, asked %d times, ran %v", c.name, got, err, b.asked, ran)
		}
	}
}
