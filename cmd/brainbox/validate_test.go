package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"brainbox/launcher"
)

// judged is a profile of which something is said, with a name that is a terminal's command.
func judged(severity string) *launcher.Lint {
	return &launcher.Lint{
		Form: "oci", Judged: "brainbox",
		Findings: []launcher.LintFinding{
			{Rule: "clone3", Severity: severity, Place: "syscalls[0]\x1b[2J", Message: "clone3 runs", Why: "why", Remedy: "do"},
			{Rule: "clone3", Severity: severity, Message: "again", Why: "why", Remedy: "do"},
			{Rule: "flag", Severity: "note", Place: "flags[0]", Message: "m", Why: "w", Remedy: "r"},
		},
		Wider:    []launcher.LintChange{{Call: "ioctl", Some: true, Example: "0x0, 0x5412"}},
		Narrower: make([]launcher.LintChange, shown+1),
	}
}

func TestValidatedPrints(t *testing.T) {
	for name, tt := range map[string]struct {
		v         validated
		diff      bool
		out, errs string
	}{
		"a sound policy": {v: validated{file: "p.toml"}, out: "p.toml: valid\n"},
		"a bad policy":   {v: validated{file: "p.toml", errs: []error{errors.New("one"), errors.New("two")}}, errs: "brainbox: one\nbrainbox: two\n"},
		"warnings": {
			v: validated{file: "p.toml", profile: "p.json", lint: judged("warning")},
			out: `p.json: syscalls[0]\x1b[2J: warning: clone3: clone3 runs
  why: why
  hint: do
p.json: warning: clone3: again
p.json: flags[0]: note: flag: m
  why: w
  hint: r
p.json: wider than the default filter by 1 call: ioctl
p.json: narrower than the default filter by 13 calls:             … (--diff shows all)
p.toml: valid, 2 warnings, 1 note
`,
		},
		"errors": {
			v: validated{file: "p.json", profile: "p.json", lint: &launcher.Lint{
				Findings: judged("error").Findings[:1], Wider: judged("").Wider, Partial: []string{"socket"},
			}}, diff: true,
			out: `p.json: syscalls[0]\x1b[2J: error: clone3: clone3 runs
  why: why
  hint: do
p.json: not tried with all kinds of arguments: socket
p.json: wider than the default filter by 1 call:
  + ioctl(0x0, 0x5412) and the like
p.json: 1 error
`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			tt.v.print(&out, &errs, tt.diff)
			if out.String() != tt.out || errs.String() != tt.errs {
				t.Errorf("printed\n%q\n%q, want\n%q\n%q", out.String(), errs.String(), tt.out, tt.errs)
			}
			if want := !strings.Contains(tt.out, "error") && tt.errs == ""; tt.v.valid() != want {
				t.Errorf("valid = %v", tt.v.valid())
			}
		})
	}
}

func TestValidatedJSON(t *testing.T) {
	v := validated{file: "p.toml", profile: "/p.json", lint: judged("error"), errs: []error{errors.New("one")}}
	v.lint.Findings, v.lint.Narrower = v.lint.Findings[2:], nil
	const want = `{"schema":"brainbox/validate/v1","file":"p.toml","valid":false,"errors":["one"],"warnings":[],` +
		`"profile":{"file":"/p.json","form":"oci","judged":"brainbox","findings":[{"rule":"flag","severity":"note","place":"flags[0]","message":"m","why":"w","hint":"r"}],` +
		`"wider":[{"call":"ioctl","some":true,"example":"0x0, 0x5412"}],"narrower":[],"partial":[]}}` + "\n"
	if got := string(v.JSON()); got != want {
		t.Errorf("JSON = %s, want %s", got, want)
	}
	v.lint, v.errs = nil, nil
	if got := string(v.JSON()); !strings.Contains(got, `"valid":true,"errors":[],"warnings":[],"profile":null`) {
		t.Errorf("JSON = %s", got)
	}
}
