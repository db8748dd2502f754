package protect

import (
	"errors"
	"strings"
	"testing"

	"brainbox/dirchain"
	"brainbox/gate/action"
)

// The table of §C.7, and what clears a hit.
func TestCombine(t *testing.T) {
	hit, clear, unknown := Verdict{Outcome: Hit}, Verdict{Outcome: Clear}, Verdict{}
	all := Standing{Policy: action.Allow, Session: true, AllowAsks: true}
	for _, c := range []struct {
		id   string
		v    Verdict
		s    Standing
		want action.Action
		by   Resolution
	}{
		{"bg/C72", hit, Standing{Policy: action.Allow}, action.Ask, Unsettled},
		{"bg/C73", hit, Standing{Policy: action.Deny}, action.Deny, Unsettled},
		{"bg/C73 yolo and session", hit, Standing{Policy: action.Deny, Session: true, AllowAsks: true}, action.Deny, Unsettled},
		{"bg/C74", hit, Standing{Policy: action.Allow, AllowAsks: true}, action.Allow, AutoApproved},
		{"bg/C74 the policy asks too", hit, Standing{Policy: action.Ask, AllowAsks: true}, action.Allow, AutoApproved},
		{"bg/C75", unknown, Standing{Policy: action.Allow, AllowAsks: true}, action.Deny, Unsettled},
		{"bg/C75 and a session approval", unknown, all, action.Deny, Unsettled},
		{"an outcome that is none", Verdict{Outcome: 77}, all, action.Deny, Unsettled},
		{"bg/C76", hit, Standing{Policy: action.Allow, Session: true}, action.Allow, SessionApproved},
		{"a session approval answers no question of the policy", hit, Standing{Policy: action.Ask, Session: true}, action.Ask, Unsettled},
		{"clear leaves allow", clear, Standing{Policy: action.Allow}, action.Allow, Unsettled},
		{"clear leaves ask", clear, Standing{Policy: action.Ask, Session: true, AllowAsks: true}, action.Ask, Unsettled},
		{"clear leaves deny", clear, Standing{AllowAsks: true}, action.Deny, Unsettled},
		{"an action that is none", clear, Standing{Policy: 77}, action.Deny, Unsettled},
		{"the zero standing", hit, Standing{}, action.Deny, Unsettled},
	} {
		t.Run(c.id, func(t *testing.T) {
			if got, by := c.v.Combine(c.s); got != c.want || by != c.by {
				t.Errorf("Combine(%+v) = %v %q, want %v %q", c.s, got, by, c.want, c.by)
			}
		})
	}
}

// A session's approval is for one row and one canonical path.
func TestSessionApproval(t *testing.T) {
	v := vector{files: ".git/hooks/ .git/config plain->.git"}
	j := compiled(t, "", Options{Env: v.tree(t, dirchain.Options{})}, nil)
	key := func(path string) string {
		h, err := j.Hold(t.Context(), path, Where{Cwd: "/w/p"}, false)
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		return h.Path()
	}
	first := checked(t, j, writes(".git/config"))
	approval := Approval{first.Row, key(".git/config")}
	if approval.Path != "/w/p/.git/config" {
		t.Errorf("the approval is for %q", approval.Path)
	}
	allowed := func(id string, c Call, canonical string, want bool) {
		g := checked(t, j, c)
		s := Standing{Policy: action.Allow, Session: approval.Covers(g.Row, canonical)}
		if a, by := g.Combine(s); (a == action.Allow) != want || (by == SessionApproved) != want || !g.Mandated() {
			t.Errorf("%s: %v %q, want allowed: %v", id, a, by, want)
		}
	}
	allowed("bg/C76", writes(".git/config"), key(".git/config"), true)
	allowed("bg/C76 by another name", writes("plain/config"), checked(t, j, writes("plain/config")).Held.Path(), true)
	allowed("bg/C77", writes(".git/hooks/pre-commit"), key(".git/hooks/pre-commit"), false)
	allowed("bg/C77 the directory itself", writes(".git"), key(".git"), false)
	allowed("a place that is not held", writes(".git/config"), "", false)
	for _, a := range []Approval{{}, {Row: first.Row}, {Path: approval.Path}, {Row{".git", Basename}, approval.Path}} {
		if a.Covers(first.Row, approval.Path) || a.Covers(first.Row, "") {
			t.Errorf("%+v covers", a)
		}
	}
}

// Which calls are judged follows from what they declare.
func TestMembership(t *testing.T) {
	j := compiled(t, "", Options{Env: &fake{}}, nil) // which panics when it is asked
	args := map[string]string{"path": ".npmrc", "from": "a", "read": ".git/config", "empty": ""}
	arg := func(name string) (string, bool) { s, ok := args[name]; return s, ok }
	for _, c := range []struct {
		id   string
		tool []Declared
		mine bool
	}{
		{"bg/C67", []Declared{{Arg: "read", Access: Read}}, false},
		{"bg/C68", nil, false},
		{"bg/C71", []Declared{{Arg: "absent"}}, false},
		{"bg/C71 empty", []Declared{{Arg: "empty"}}, false},
		{"bg/C69", []Declared{{Arg: "path"}}, true},
		{"bg/C69 beside what is read", []Declared{{Arg: "read", Access: Read}, {Arg: "path"}}, true},
		{"an access that is none", []Declared{{Arg: "path", Access: 77}}, true},
	} {
		t.Run(c.id, func(t *testing.T) {
			g, mine, err := j.Check(t.Context(), Call{Aims: Aims(c.tool, arg), Cwd: "/w/p"})
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			if mine != c.mine || mine && told(g.Verdict) != ".npmrc spelling" {
				t.Errorf("%s, %v", told(g.Verdict), mine)
			}
		})
	}
	t.Run("bg/C70", func(t *testing.T) {
		g := checked(t, j, writes("a", ".npmrc", ".git"))
		if told(g.Verdict) != ".npmrc spelling" || g.Worst != 1 || len(g.Each) != 3 {
			t.Errorf("%s, %d of %d", told(g.Verdict), g.Worst, len(g.Each))
		}
	})
	t.Run("bg/C80", func(t *testing.T) {
		g, _, err := j.Check(t.Context(), writes("a\x00/.git"))
		if !errors.Is(err, ErrField) || !strings.Contains(err.Error(), "field_invalid") || !g.Unresolved() {
			t.Errorf("%+v, %v", g, err)
		}
		if _, err = j.Hold(t.Context(), "a\x00", Where{}, false); !errors.Is(err, ErrField) {
			t.Errorf("Hold: %v", err)
		}
	})
	t.Run("bg/C66", func(t *testing.T) {
		j := compiled(t, `[".git",{"name":".git","kind":"basename"}]`, Options{}, nil)
		if g := checked(t, j, writes(".git")); g.Row != (Row{".git", Basename}) {
			t.Errorf("%+v", g.Row)
		}
	})
}

// The message names the tool and the row, and never the path.
func TestMessage(t *testing.T) {
	v := vector{files: ".git/ secretname->.git"}
	j := compiled(t, "", Options{Env: v.tree(t, dirchain.Options{})}, nil)
	for _, c := range []struct{ id, path, says string }{
		{"bg/C78", "secretdir/.git/secretname", "to a protected place"},
		{"bg/C78 by a link", "secretname", "a link"},
		{"bg/C78 by its target", "secretname/secretfile", "resolves"},
	} {
		t.Run(c.id, func(t *testing.T) {
			d, ok := checked(t, j, writes(c.path)).Decide("write_file")
			if !ok || d.Action != action.Ask || d.Reason != Safety {
				t.Errorf("%+v", d)
			}
			for _, s := range []string{"write_file", ".git", c.says} {
				if !strings.Contains(d.Message, s) {
					t.Errorf("%q does not say %q", d.Message, s)
				}
			}
			if strings.Contains(d.Message, "secret") || strings.Contains(d.Message, "/w") || !strings.HasSuffix(d.Message, ".") {
				t.Errorf("%q names the path", d.Message)
			}
		})
	}
	if _, ok := checked(t, j, writes("x")).Decide("write_file"); ok {
		t.Error("a clear write has a decision")
	}
}
