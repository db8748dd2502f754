package main

import (
	"slices"
	"testing"

	"brainbox/launcher"
)

func TestPartialScans(t *testing.T) {
	entry := func(value string, state launcher.State) launcher.Entry {
		return launcher.Entry{Value: value, Path: "/co", State: state, Note: "partial: it ended in /co/x"}
	}
	p := &launcher.Plan{Clauses: []launcher.Clause{
		{Name: "files", Entries: []launcher.Entry{entry("/co", launcher.StateOpen)}},
		{Name: "protect", Entries: []launcher.Entry{
			entry(".git", launcher.StateEnforced), entry("scan", launcher.StateOpen), entry("scan", launcher.StateEnforced),
		}},
	}}
	want := []string{"protect: /co: partial: it ended in /co/x"}
	if got := partialScans(p); !slices.Equal(got, want) {
		t.Errorf("partialScans() = %q, want %q", got, want)
	}
}
