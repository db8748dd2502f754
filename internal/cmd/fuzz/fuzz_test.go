package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseLine(t *testing.T) {
	for line, want := range map[string]progress{
		"fuzz: elapsed: 3s, execs: 325017 (108336/sec), new interesting: 11 (total: 202)": {3 * time.Second, 325017, 11, 202},
		"fuzz: elapsed: 1m3s, execs: 12 (0/sec)":                                          {63 * time.Second, 12, 0, 0},
	} {
		if got, ok := parseLine(line); !ok || got != want {
			t.Errorf("%q: %+v, %v", line, got, ok)
		}
	}
	for _, line := range []string{"", "PASS", "fuzz: elapsed: 0s, gathering baseline coverage: 0/192 completed", "fuzz: elapsed: x, execs: 1 (1/sec)"} {
		if got, ok := parseLine(line); ok {
			t.Errorf("%q: %+v", line, got)
		}
	}
}

// The target with the least time goes first, for what it lacks; one that has it all is left out.
func TestPlanGoesOn(t *testing.T) {
	all := []target{{"a", "FuzzA"}, {"a", "FuzzB"}, {"b", "FuzzA"}, {"c", "FuzzC"}}
	s := state{"a FuzzA": {Seconds: 40}, "a FuzzB": {Seconds: 60}, "c FuzzC": {Seconds: 10.4}}
	want := []job{{all[2], time.Minute}, {all[3], 50 * time.Second}, {all[0], 20 * time.Second}}
	if got := plan(all, s, nil, time.Minute); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := plan(all, s, regexp.MustCompile("^a "), time.Minute); !slices.Equal(got, want[2:]) {
		t.Errorf("of a: %v", got)
	}
}

// What is written is read, and what was done adds up.
func TestState(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "state")
	s, err := readState(path)
	if err != nil || len(s) != 0 {
		t.Fatalf("%v, %v", s, err)
	}
	s["x FuzzX"] = s["x FuzzX"].plus(progress{3 * time.Second, 100, 2, 9}, "2026-01-02").plus(progress{elapsed: time.Second, execs: 1}, "2026-01-03")
	if err := s.write(path); err != nil {
		t.Fatal(err)
	}
	got, err := readState(path)
	if want := (done{Seconds: 4, Execs: 101, Found: 2, Corpus: 9, Last: "2026-01-03"}); err != nil || got["x FuzzX"] != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	text := report([]target{{"x", "FuzzX"}, {"x", "FuzzY"}}, got, "v1", "go1")
	if !strings.Contains(text, "2 targets, 1 never run, 0 failed; 4 s, 101 executions") || !strings.Contains(text, "not run") {
		t.Error(text)
	}
}

func TestFind(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"p/a_test.go":          "package p\n\nfunc FuzzOne(f *testing.F) {\n}\n\nfunc TestFuzz(t *testing.T) {}\n",
		"p/testdata/b_test.go": "package p\n\nfunc FuzzNot(f *testing.F) {\n}\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := find(root); err != nil || !slices.Equal(got, []target{{"p", "FuzzOne"}}) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := find(filepath.Join(root, "p", "testdata")); err != nil {
		t.Error("a folder that is given is looked into:", err)
	}
	if _, err := find(t.TempDir()); err == nil {
		t.Error("no target is no error")
	}
}

// An input is kept for what it reaches and no other does, unless it names this machine.
func TestChoice(t *testing.T) {
	one := parseProfile("mode: count\np/a.go:1.2,3.4 1 7\np/a.go:5.2,6.4 1 0\n")
	seen := map[string]bool{}
	if !adds(seen, one) || adds(seen, one) || len(seen) != 1 {
		t.Errorf("seen %v", seen)
	}
	if !adds(seen, parseProfile("p/a.go:1.2,3.4 1 70\n")) {
		t.Error("ten times as often is nothing new")
	}
	got := usable([]input{{"a", []byte("/home/x/secret")}, {"b", []byte("ok")}, {"c", make([]byte, maxBytes)}}, []string{"/home/x"})
	if len(got) != 1 || got[0].name != "b" {
		t.Errorf("usable: %v", got)
	}
}
