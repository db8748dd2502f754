package files

import (
	"context"
	"os"
	"strings"
	"testing"

	"brainbox/bridge/tool"
	"brainbox/dirchain"
	"brainbox/gate"
	"brainbox/internal/strictjson"
)

// changes are valid calls of every tool that changes something.
func changes(base string) map[string]map[string]any {
	return map[string]map[string]any{
		"write_file":   in("path", "src/new", "content", "snapshot", "base", nil),
		"edit_file":    in("path", "src/a.txt", "old_string", "two", "new_string", "snapshot", "base", base),
		"apply_staged": in("files", []any{in("path", "n/new", "content", "snapshot", "base", nil), in("path", "src/new", "content", "b", "base", nil)}),
		"mkdir":        in("path", "src/snapshot"),
		"rename":       in("from", "src/a.txt", "to", "src/snapshot"),
		"remove":       in("path", "src/a.txt"),
		"fs.write":     in("root", "work", "path", "src/new", "mode", "create", "data", "snapshot"),
	}
}

// A call that is denied, or that nobody could confirm, leaves no file; one that is allowed
// writes the exact snapshot: bk/CT20.
func TestGateDecides(t *testing.T) {
	for name, rules := range map[string]string{
		"denied":           `{"*":"allow","write":"deny","edit":"deny"}`,
		"nobody to ask":    `{"*":"allow","write":"ask","edit":"ask"}`,
		"denied by a path": `{"*":"allow","write":"allow","edit":"allow","path_write":{"*":"deny"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t, setup{rules: rules})
			base := dirchain.Sum([]byte(s.text("src/a.txt"))).String()
			for tool, input := range changes(base) {
				s.refused(tool, input, "not allowed")
			}
			s.call("read_file", in("path", "src/a.txt")).want(t, "") // the turn goes on
		})
	}
	for name := range changes("") {
		t.Run("allowed "+name, func(t *testing.T) {
			s := newShop(t, setup{})
			base := dirchain.Sum([]byte(s.text("src/a.txt"))).String()
			before := s.tree()
			s.call(name, changes(base)[name]).want(t, "")
			after := s.tree()
			if name == "remove" {
				if strings.Contains(after, "a.txt") {
					t.Error("it is there")
				}
			} else if strings.Contains(before, "snapshot") || !strings.Contains(after, "snapshot") {
				t.Errorf("not the snapshot:\n%s", after)
			}
		})
	}
}

// The surface of each call, and its targets, are those that gate.ReadTool tells.
func TestReadingAgreesWithTheGate(t *testing.T) {
	s := newShop(t, setup{})
	for name, text := range map[string]string{
		"read_file":  `{"path":"src/a.txt"}`,
		"grep":       `{"path":"src","pattern":"x"}`,
		"write_file": `{"path":"src/b","content":"","base":null}`,
		"edit_file":  `{"path":"src/b","old_string":"a","new_string":"","base":"` + never + `"}`,
	} {
		surface, want, known, err := gate.ReadTool(name, []byte(text))
		if err != nil || !known {
			t.Fatal(name, known, err)
		}
		p := plan(t, s.tools[name], text)
		got := p.Reading()
		if tool.SurfaceOf(s.tools[name]) != surface || got.Value != want.Value || len(got.Targets) != 1 ||
			got.Targets[0].Access != want.Targets[0].Access || got.Targets[0].Path != want.Targets[0].Path || got.Targets[0].Base != s.dir {
			t.Errorf("%s: %q %+v, want %q %+v", name, tool.SurfaceOf(s.tools[name]), got, surface, want)
		}
	}
	for name, input := range changes(never) {
		r := s.reading(name, input)
		if len(r.Targets) == 0 || len(r.Effect) != 32 {
			t.Errorf("%s: %+v", name, r)
		}
		for _, target := range r.Targets {
			if !target.Access.Writes() {
				t.Errorf("%s: %+v is only read", name, target)
			}
		}
	}
	if a := s.tools["write_file"]; tool.SurfaceOf(a) == tool.SurfaceOf(unsurfaced{a}) {
		t.Error("a tool without a surface has one")
	}
}

type unsurfaced struct{ tool.Tool }

func plan(t *testing.T, tl tool.Tool, text string) tool.Planned {
	t.Helper()
	v, err := strictjson.Decode([]byte(text), strictjson.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := tl.Plan(v)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A decision is for the very effect, and for a place that is held: nothing is done with
// another one, with none, or with that of a gate that holds nothing.
func TestDoNeedsTheDecision(t *testing.T) {
	s := newShop(t, setup{})
	p := plan(t, s.tools["write_file"], `{"path":"src/new","content":"x","base":null}`)
	other := plan(t, s.tools["write_file"], `{"path":"src/new","content":"y","base":null}`)
	allowed := s.gate.Decide(t.Context(), gate.Call{Surface: "write", Tool: "write_file", Reading: p.Reading()})
	defer allowed.Close()
	elsewhere, foreign := allowed, allowed
	elsewhere.Held = nil
	beside := newShop(t, setup{}) // with the same names
	there := beside.gate.Decide(t.Context(), gate.Call{Surface: "write", Tool: "write_file", Reading: beside.reading("write_file",
		in("path", "src/new", "content", "x", "base", nil))})
	defer there.Close()
	if foreign.Held = there.Held; len(there.Held) != 1 || there.Held[0].Rel() != "src/new" {
		t.Fatalf("not held: %+v", there)
	}
	for name, c := range map[string]struct {
		p    tool.Planned
		d    *gate.Decision
		code string
	}{
		"no decision":       {p, nil, "authority_revoked"},
		"the zero decision": {p, &gate.Decision{}, "authority_revoked"},
		"of another effect": {other, &allowed, "authority_revoked"},
		"held elsewhere":    {p, &foreign, "invalid_target"},
		"nothing is held":   {p, &elsewhere, "invalid_target"},
		"denied":            {p, &gate.Decision{Reading: p.Reading()}, "authority_revoked"},
	} {
		if _, err := c.p.Do(t.Context(), c.d); failed(err).code != c.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Lstat(s.dir + "/src/new"); err == nil {
		t.Error("it was written")
	}
	ctx, cancel := context.WithCancel(t.Context()) // bk/CT15, bk/F11: while it waited for its locks
	cancel()
	if _, err := p.Do(ctx, &allowed); failed(err).code != "cancelled" {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := p.Do(t.Context(), &allowed); err != nil || s.text("src/new") != "x" {
		t.Errorf("control: %v", err)
	}
}
