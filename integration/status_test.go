package integration

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestStatusTellsTheTruth is esc/LA-19: what --status-fd declares is what the program
// is held to, and what check says.
func TestStatusTellsTheTruth(t *testing.T) {
	kernel(t)
	w := newWorld(t)
	path := filepath.Join(w.dir("O"), "status")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	must(t, err)
	cmd := boxed([]string{"--status-fd", "3"}, victim("status Seccomp NoNewPrivs CapEff")...)
	cmd.ExtraFiles = []*os.File{f}
	r := run(t, w.dir("W"), cmd)
	must(t, f.Close())
	if want := "ok CapEff=0000000000000000 NoNewPrivs=1 Seccomp=2\n"; r.status != 0 || r.out != want {
		t.Errorf("status %d, inside %q, want %q\n%s", r.status, r.out, want, r.err)
	}
	var events []string
	var open []string
	for lines := bufio.NewScanner(strings.NewReader(read(t, path))); lines.Scan(); {
		var e struct {
			Event     string   `json:"event"`
			Isolation string   `json:"isolation"`
			Degraded  []string `json:"degraded"`
			Clauses   []struct {
				Clause string `json:"clause"`
				State  string `json:"state"`
			} `json:"clauses"`
		}
		must(t, json.Unmarshal(lines.Bytes(), &e))
		events = append(events, e.Event)
		if e.Event == "started" && e.Isolation != isolation {
			t.Errorf("isolation %q", e.Isolation)
		}
		for _, c := range e.Clauses {
			if c.State == "open" {
				open = append(open, c.Clause)
			}
		}
	}
	if !slices.Equal(events, []string{"started", "exited"}) {
		t.Errorf("events %q", events)
	}
	var declared []string
	for _, c := range check(t, w.dir("W")).Clauses {
		if c.State == "open" {
			declared = append(declared, c.Clause)
		}
	}
	if !slices.Equal(open, declared) || (len(open) == 0) != inside() {
		t.Errorf("open by the status %q, by check %q", open, declared)
	}
}
