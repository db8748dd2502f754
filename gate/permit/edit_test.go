package permit

import (
	"errors"
	"strings"
	"testing"
)

func TestCheckEdit(t *testing.T) {
	const (
		rm     = `{"command":"rm -rf notes"}`
		two    = `{"command":"brain archive a && git push --force"}`
		archA  = `{"path":"a.md","status":"archived"}`
		noPath = `{"status":"archived"}`
	)
	rules := Rules{Allowed: []string{"bash", "update", "read_file"}, Shell: "bash", Update: "update"}
	for _, c := range []struct {
		id, tool, original, edited string
		says                       []string // nil: it may be applied
	}{
		{"bk/ED1", "bash", rm, `{"command":"ls notes"}`, nil},
		{"bk/ED2", "bash", rm, `{"command":"rm -rf notes","timeout":5}`, nil},
		{"bk/ED3", "bash", rm, `{"command":"rm -rf notes/old"}`, []string{"bash"}},
		{"bk/ED4", "bash", rm, `{"command":"git push --force"}`, []string{"bash", "did not run", "overwrite", "again"}},
		{"bk/ED5", "bash", rm, `{"command":"rm -rf notes && git push --force"}`, []string{"bash"}},
		{"bk/ED6", "bash", `{"command":"brain archive a"}`, `{"command":"brain archive b"}`, []string{"bash"}},
		{"bk/ED7", "bash", `{"command":"ls"}`, rm, []string{"bash"}},
		{"bk/ED8", "bash", rm, `{"command":"rm -rf notes "}`, []string{"bash"}},
		{"bk/ED9", "update", archA, `{"path":"a.md","status":"archived","summary":"s"}`, nil},
		{"bk/ED10", "update", archA, `{"path":"b.md","status":"archived"}`, []string{"update", archiveReason}},
		{"bk/ED11", "update", archA, `{"path":"a.md","status":"active"}`, nil},
		{"bk/ED12", "update", `{"path":"a.md","summary":"s"}`, archA, []string{"update"}},
		{"bk/ED13", "update", archA, `{"path":"./a.md","status":"archived"}`, []string{"update"}},
		{"bk/ED14", "bash", rm, `{"command":"ls","__proto__":{}}`, []string{"bash", "JavaScript"}},
		{"bk/ED14 any tool", "read_file", `{}`, `{"__proto__":1}`, []string{"read_file"}},
		{"bk/ED14 escaped", "read_file", `{}`, `{"_\u005fproto__":1}`, []string{"read_file"}},
		{"bk/ED14 at any depth", "ext", `{}`, `{"a":[{"b":{"__proto__":1}}]}`, []string{"ext"}},
		{"bk/ED14 though the original had it", "ext", `{"__proto__":1}`, `{"__proto__":1}`, []string{"ext"}},
		{"bk/ED14 constructor", "ext", `{}`, `{"a":{"constructor":1}}`, []string{"ext"}},
		{"bk/ED14 prototype", "ext", `{}`, `{"prototype":1}`, []string{"ext"}},
		{"bk/ED14 as a value", "ext", `{}`, `{"a":"__proto__"}`, nil},
		{"bk/ED15", "read_file", `{"path":"a"}`, `{"path":"b"}`, nil},
		{"bk/ED16 [D] a number", "bash", rm, `{"command":42}`, []string{"bash"}},
		{"bk/ED16 [D] missing", "bash", rm, `{"cmd":"rm -rf notes"}`, []string{"bash"}},
		{"bk/ED16 [D] another tool's", "read_file", rm, `{"command":42}`, nil},
		{"bk/ED17", "bash", two, `{"command":"brain archive a && git push --force","timeout":1}`, nil},
		{"bk/ED18", "update", noPath, noPath, nil},
		{"bk/ED18 no path, then one", "update", noPath, archA, []string{"update"}},
		{"bk/ED18 no path, then an empty one", "update", noPath, `{"path":"","status":"archived"}`, []string{"update"}},
		{"a path that is no string", "update", `{"path":1,"status":"archived"}`, `{"path":"1","status":"archived"}`, []string{"update"}},
		{"no object", "ext", `{}`, `[1]`, []string{"ext"}},
		{"the tool need not be on the list", "bash2", rm, rm, nil},
	} {
		t.Run(c.id, func(t *testing.T) {
			err := rules.CheckEdit(Edit{Tool: c.tool, Original: input(t, c.original), Edited: input(t, c.edited)})
			var e *EditError
			if c.says == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.As(err, &e) {
				t.Fatalf("it may be applied: %v", err)
			}
			for _, s := range c.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%q does not say %q", err, s)
				}
			}
		})
	}
	for key, refused := range map[string]bool{"constructor": false, "prototype": false, "__proto__": true} {
		err := rules.CheckEdit(Edit{Tool: "ext", Edited: input(t, `{"`+key+`":1}`), PlainKeys: true})
		if (err != nil) != refused {
			t.Errorf("a runtime that is not JavaScript, key %s: %v", key, err)
		}
	}
}

// An edit is never easier to pass than the call that it replaces was.
func FuzzCheckEdit(f *testing.F) {
	for _, s := range []string{"rm -rf notes", "ls", "git push --force", "brain archive a"} {
		f.Add("rm -rf notes", s)
	}
	rules := Rules{Allowed: []string{"bash"}, Shell: "bash"}
	f.Fuzz(func(t *testing.T, was, is string) {
		in := func(command string) Input {
			v, err := snapshot(map[string]string{"command": command}, MaxInput)
			if err != nil {
				t.Skip()
			}
			return v
		}
		original, edited := in(was), in(is)
		err := rules.CheckEdit(Edit{Tool: "bash", Original: original, Edited: edited})
		before, _ := original.String("command")
		after, _ := edited.String("command")
		if want := rules.Decide("bash", edited).None || before == after; (err == nil) != want {
			t.Fatalf("%q to %q: %v", was, is, err)
		}
	})
}
