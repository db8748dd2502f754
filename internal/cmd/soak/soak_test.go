package main

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A step follows from its seed and number, whatever was planned before; and every kind,
// fault, feature and program is met.
func TestStepsFollowFromTheSeed(t *testing.T) {
	seen := map[string]int{}
	for n := range 4000 {
		s := planStep(7, n, true)
		if again := planStep(7, n, true); !reflect.DeepEqual(s, again) {
			t.Fatalf("step %d is %+v, and %+v", n, s, again)
		}
		for word := range strings.FieldsSeq(s.words()) {
			seen[word]++
		}
		if user := planStep(7, n, false); !user.User {
			t.Fatalf("step %d is root's, and there is none", n)
		}
	}
	if reflect.DeepEqual(planStep(7, 3, true), planStep(8, 3, true)) {
		t.Error("two seeds have the same step")
	}
	var want []string
	for _, k := range kinds {
		want = append(want, k.name)
	}
	for _, f := range faults {
		want = append(want, "fault:"+f.name)
	}
	for _, f := range features {
		want = append(want, "with:"+f.name)
	}
	want = append(want, sortedKeys(table)...)
	for _, word := range want {
		if seen[word] == 0 && word != "shared" {
			t.Errorf("%s is never planned", word)
		}
	}
}

// What is wrong is found, and what may be is not.
func TestJudge(t *testing.T) {
	run := step{Kind: "run", Program: "exit", Status: "soon", Isolation: "landlock"}
	with := func(change func(*step)) step {
		s := run
		change(&s)
		return s
	}
	whole := []string{"started", "exited"}
	for name, c := range map[string]struct {
		s    step
		o    outcome
		want string // part of the first complaint; empty: none
	}{
		"as it should be":        {run, outcome{Status: 7, Lines: whole}, ""},
		"another status":         {run, outcome{Status: 6, Lines: whole}, "status 6"},
		"no last line":           {run, outcome{Status: 7, Lines: whole[:1]}, "status lines"},
		"two last lines":         {run, outcome{Status: 7, Lines: []string{"refused", "exited"}}, "not the last"},
		"a line that is none":    {run, outcome{Status: 7, Lines: whole, BadLines: []string{"{"}}, "status line"},
		"a reader that has gone": {with(func(s *step) { s.Status = "closed" }), outcome{Status: 7}, ""},
		"it hung":                {run, outcome{Hung: true}, "hung"},
		"a race":                 {run, outcome{Status: 7, Lines: whole, Said: "WARNING: DATA RACE\n"}, "DATA RACE"},
		"a race, short of it":    {with(func(s *step) { s.Fault = "nofile" }), outcome{Status: 7, Lines: whole, Said: "WARNING: DATA RACE\n"}, "data race"},
		"a panic":                {run, outcome{Status: 7, Lines: whole, Said: "panic: x"}, "panic"},
		"the canary":             {run, outcome{Status: 7, Lines: whole, Canary: "changed"}, "canary"},
		"the program wrote":      {run, outcome{Status: denied, Lines: whole}, "wrote outside"},
		"a file was written":     {run, outcome{Status: 7, Lines: whole, Wrote: []string{"/denied.txt"}}, "denied.txt"},
		"something is left":      {run, outcome{Status: 7, Lines: whole, Left: []string{"sh"}}, "left running"},
		"its signal": {
			with(func(s *step) { s.Program, s.Signal = "signal", 15 }), outcome{Status: 143, Lines: whole}, "",
		},
		"another signal": {
			with(func(s *step) { s.Program, s.Signal = "signal", 15 }), outcome{Status: 130, Lines: whole}, "status 130",
		},
		"killed": {
			with(func(s *step) { s.Target, s.Kill = "supervisor", syscall.SIGKILL }),
			outcome{Status: -1, Signal: syscall.SIGKILL, Disturb: true, Lines: whole[:1]},
			"",
		},
		"ended by TERM before the start": {
			with(func(s *step) { s.Target, s.Kill = "supervisor", syscall.SIGTERM }),
			outcome{Status: -1, Signal: syscall.SIGTERM, Disturb: true},
			"",
		},
		"ended by TERM after the start": {
			with(func(s *step) { s.Target, s.Kill = "supervisor", syscall.SIGTERM }),
			outcome{Status: -1, Signal: syscall.SIGTERM, Disturb: true, Lines: whole[:1]},
			"after the start",
		},
		"QUIT before the start": {
			with(func(s *step) { s.Target, s.Kill = "supervisor", syscall.SIGQUIT }),
			outcome{Status: 2, Disturb: true, Said: "SIGQUIT: quit\n"},
			"",
		},
		"QUIT after the start": {
			with(func(s *step) { s.Target, s.Kill = "supervisor", syscall.SIGQUIT }),
			outcome{Status: 2, Disturb: true, Said: "SIGQUIT: quit\n", Lines: whole[:1]},
			"status 2",
		},
		"a signal from nowhere": {run, outcome{Status: -1, Signal: syscall.SIGTERM, Lines: whole}, "terminated"},
	} {
		t.Run(name, func(t *testing.T) {
			got := judge(c.s, c.o)
			if c.want == "" && len(got) > 0 || c.want != "" && !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, c.want) }) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// What has grown is said; what has slack, and what became less, is not.
func TestGrown(t *testing.T) {
	before := tally{"mounts": 30, "fds": 10, "root's host fds": 10, "files": 5}
	now := tally{"mounts": 31, "fds": 12, "root's host fds": 40, "files": 4}
	if got := grown(before, now); len(got) != 2 || !strings.HasPrefix(got[0], "mounts: 31") || !strings.HasPrefix(got[1], "root's host fds: 40") {
		t.Errorf("%q", got)
	}
}

func TestParseLines(t *testing.T) {
	events, bad := parseLines([]byte("{\"event\":\"started\"}\n{\"x\":1}\n{\"event\":\"exited\"}"))
	if !slices.Equal(events, []string{"started"}) || len(bad) != 2 {
		t.Errorf("%q, %q", events, bad)
	}
}

func TestUnswept(t *testing.T) {
	run := t.TempDir() + "/brainbox-0/0123456789abcdef"
	if err := os.MkdirAll(run+"/home", 0o700); err != nil {
		t.Fatal(err)
	}
	group := t.TempDir() + "/brainbox-0123456789abcdef"
	if err := os.Mkdir(group, 0o700); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for path, want := range map[string]bool{run: true, group: true, filepath.Dir(group): false, run + "/home": true, run + "0/none": true, filepath.Dir(run): false, "": false} {
		if got := unswept(path, now); got != want || got && unswept(path, now.Add(2*sweepTime)) {
			t.Errorf("%q: %v, want %v and in time false", path, got, want)
		}
	}
}

func TestStanding(t *testing.T) {
	for path, want := range map[string]bool{
		"/tmp/brainbox-61000": true, "/s/state/brainbox": true, "/tmp/brainbox-exec-0/tmp": true, "/tmp/brainbox-exec-0": true,
		"/tmp/brainbox-61000/left": false, "/tmp/brainbox-exec-0/tmp/left": false, "/run/brainbox/x.sock": false, "/tmp/brainbox-host-1a": false,
	} {
		if got := standing.MatchString(path); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}
