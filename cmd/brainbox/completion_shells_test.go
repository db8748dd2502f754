package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// offers is what a shell offers for each of some command lines whose last word is being
// typed, sorted.
type offers func(t *testing.T, lines ...string) [][]string

// runtimeWithSession is a XDG_RUNTIME_DIR in which one session runs.
func runtimeWithSession(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "brainbox", "00c0ffee"), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// everyFlagIsOffered types "brainbox VERB -" for each verb, "brainbox" alone and "brainbox
// policy" alone.
func everyFlagIsOffered(t *testing.T, shell offers) {
	t.Helper()
	var lines, verbs, below []string
	var want [][]string
	for _, v := range completedVerbs(t) {
		if sub, ok := strings.CutPrefix(v.name, "policy "); ok {
			below = append(below, sub)
		} else {
			verbs = append(verbs, v.name)
		}
		if len(v.flags) == 0 {
			continue
		}
		flags := []string{"--help"}
		for _, f := range v.flags {
			flags = append(flags, "--"+f.long)
			if f.short != "" {
				flags = append(flags, "-"+f.short)
			}
		}
		lines, want = append(lines, "brainbox "+v.name+" -"), append(want, flags)
	}
	lines, want = append(lines, "brainbox ", "brainbox policy "), append(want, verbs, below)
	if len(lines) < 15 {
		t.Fatalf("%q: too few to be all", lines)
	}
	for i, got := range shell(t, lines...) {
		got = slices.DeleteFunc(got, func(word string) bool { return word == "--" || word == "-" })
		slices.Sort(want[i])
		if diff := cmp.Diff(want[i], got); diff != "" {
			t.Errorf("%q (-has +offers):\n%s", lines[i], diff)
		}
	}
}

// valuesAreOffered types what is no flag, and no more than one shell can do.
func valuesAreOffered(t *testing.T, shell offers) {
	t.Helper()
	tests := []struct {
		line string
		want []string
	}{
		{"brainbox run --isolation n", []string{"namespaces"}},
		{"brainbox run --net proxy --isolation n", []string{"namespaces"}},
		{"brainbox check --allow-degraded pro", []string{"processes", "protect"}},
		{"brainbox learn --profile n", []string{"node"}},
		{"brainbox run --home k", []string{"keep"}},
		{"brainbox run --home testd", []string{"testdata"}},
		{"brainbox run --cwd completion_t", nil},
		{"brainbox run --cwd testd", []string{"testdata"}},
		{"brainbox run --seccomp de", []string{"debug", "default"}},
		{"brainbox run --seccomp completion_ta", []string{"completion_table_test.go"}},
		{"brainbox run --ro completion_ta", []string{"completion_table_test.go"}},
		{"brainbox run --deny completion_ta", []string{"completion_table_test.go"}},
		{"brainbox approve --deny completion_ta", nil},
		{"brainbox approve --session ", []string{"00c0ffee"}},
		{"brainbox run --env XDG_RUNTIME_D", []string{"XDG_RUNTIME_DIR"}},
		{"brainbox run --pids ", nil},
		{"brainbox policy v", []string{"validate"}},
		{"brainbox policy export --to s", []string{"seccomp"}},
		{"brainbox policy export --allow-gap ti", []string{"time"}},
		{"brainbox policy validate completion_ta", []string{"completion_table_test.go"}},
		{"brainbox why sys", []string{"syscall"}},
		{"brainbox why read completion_ta", []string{"completion_table_test.go"}},
		{"brainbox run ", []string{"--"}},
		{"brainbox run completion_ta", nil},
		{"brainbox run -- --isola", nil},
		{"brainbox run -- mkfif", []string{"mkfifo"}},
		{"brainbox run --net none -- cat completion_ta", []string{"completion_table_test.go"}},
		{"brainbox learn -- brainbox policy v", []string{"validate"}}, // the program's own completion
		{"brainbox rm completion_ta", []string{"completion_table_test.go"}},
		{"brainbox write --base ", nil},
		{"brainbox probe completion_t", nil},
		{"brainbox-exec mkfif", []string{"mkfifo"}},
		{"brainbox-exec brainbox policy v", []string{"validate"}},
		{"brainbox-kill 7 K", []string{"KILL"}},
	}
	lines := make([]string, len(tests))
	for i, test := range tests {
		lines[i] = test.line
	}
	for i, got := range shell(t, lines...) {
		for j := range got { // of a folder
			got[j] = strings.TrimSuffix(got[j], "/")
		}
		if diff := cmp.Diff(tests[i].want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", lines[i], diff)
		}
	}
}
