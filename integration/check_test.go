package integration

import (
	"encoding/json"
	"os/exec"
	"testing"
)

// plan is what check --json prints, as far as these tests read it.
type plan struct {
	Schema  string `json:"schema"`
	Start   bool   `json:"start"`
	Clauses []struct {
		Clause    string `json:"clause"`
		State     string `json:"state"`
		Mechanism string `json:"mechanism"`
		Entries   []struct {
			Value  string `json:"value"`
			Path   string `json:"path"`
			Target string `json:"target"`
			Right  string `json:"right"`
			State  string `json:"state"`
			Note   string `json:"note"`
		} `json:"entries"`
	} `json:"clauses"`
}

// check asks brainbox what it would hold for a start in dir.
func check(t testing.TB, dir string, flags ...string) plan {
	t.Helper()
	cmd := exec.Command(program("brainbox"), append([]string{"check", "--json", "--isolation", isolation}, flags...)...)
	cmd.Dir, cmd.Env = dir, environ(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("brainbox check: %v\n%s", err, out)
	}
	var p plan
	must(t, json.Unmarshal(out, &p))
	if p.Schema != "brainbox/plan/v1" || !p.Start {
		t.Fatalf("brainbox check: schema %q, start %v", p.Schema, p.Start)
	}
	return p
}

// state of one clause.
func (p plan) state(clause string) string {
	for _, c := range p.Clauses {
		if c.Clause == clause {
			return c.State
		}
	}
	return ""
}

// mechanism of one clause.
func (p plan) mechanism(clause string) string {
	for _, c := range p.Clauses {
		if c.Clause == clause {
			return c.Mechanism
		}
	}
	return ""
}
