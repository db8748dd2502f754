package main

import (
	"strings"
	"testing"

	"brainbox/internal/supervise"
	"brainbox/launcher"
)

// Whose memory it was is said: the run's own limit is something that its caller can raise.
func TestOutOfMemory(t *testing.T) {
	r := &launcher.Result{
		Result: supervise.Result{Status: 137, OOM: true}, Plan: &launcher.Plan{Cgroup: map[string]string{"memory.max": "67108864"}},
	}
	if got := outOfMemory(r); strings.Contains(got, "memory.max") || !strings.Contains(got, "machine's") {
		t.Errorf("the machine's: %q", got)
	}
	r.OOMByLimit = true
	if got := outOfMemory(r); !strings.Contains(got, "67108864 bytes (cgroup v2 memory.max)") {
		t.Errorf("the run's: %q", got)
	}
}
