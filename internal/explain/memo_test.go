package explain

import (
	"strconv"
	"testing"

	"brainbox/launcher"
)

// What is asked again is judged once, and what a program makes up fills no memory.
func TestMemo(t *testing.T) {
	asked := 0
	m := memo{ask: func(op launcher.Operation) launcher.Judgement {
		asked++
		return launcher.Judgement{Verdict: launcher.Refused, Place: op.Path}
	}}
	for range 3 {
		for _, op := range []launcher.Operation{{Path: "/a"}, {Path: "/b"}, {Path: "/a", Op: launcher.OpWrite}} {
			if j := m.judge(op); j.Place != op.Path || j.Verdict != launcher.Refused {
				t.Errorf("%+v: %+v", op, j)
			}
		}
	}
	if asked != 3 {
		t.Errorf("judged %d times, want once each", asked)
	}
	for i := range 2 * keptDenials {
		if path := "/" + strconv.Itoa(i); m.judge(launcher.Operation{Path: path}).Place != path {
			t.Fatal(path)
		}
	}
	if len(m.kept) != keptDenials {
		t.Errorf("%d are kept, want %d", len(m.kept), keptDenials)
	}
}
