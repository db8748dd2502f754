package audit

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"brainbox/internal/state"
	"brainbox/internal/strictjson"
)

// folder is a state folder.
func folder(t testing.TB, path string) *state.Dir {
	t.Helper()
	d, err := state.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

func newFolder(t testing.TB) *state.Dir {
	t.Helper()
	return folder(t, filepath.Join(t.TempDir(), "brainbox"))
}

func open(t testing.TB, o Options) *Log {
	t.Helper()
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func value(n int) strictjson.Value {
	return strictjson.Object(strictjson.Pair("n", strictjson.Int(int64(n))))
}

func put(t testing.TB, l *Log, n int) {
	t.Helper()
	if err := l.Put(Effect, value(n)); err != nil {
		t.Fatal(err)
	}
}

func closed(t testing.TB, l *Log) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func path(d *state.Dir) string { return d.Path() + "/" + Name }

func read(t testing.TB, d *state.Dir) []byte {
	t.Helper()
	text, err := os.ReadFile(path(d))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// verified is the report of a file.
func verified(t testing.TB, text []byte, head Hash) *Report {
	t.Helper()
	r, err := Verify(bytes.NewReader(text), head)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// holds fails unless the chain of a file holds.
func holds(t testing.TB, text []byte, lines int) *Report {
	t.Helper()
	r := verified(t, text, Hash{})
	if !r.OK() || lines >= 0 && r.Lines != lines {
		t.Fatalf("%+v, want %d lines\n%.3000s", r, lines, text)
	}
	return r
}

// problems are those of a report, short.
func problems(r *Report) []string {
	var out []string
	for _, p := range r.Problems {
		out = append(out, fmt.Sprintf("%s@%d", p.Fault, p.Line))
	}
	return out
}
