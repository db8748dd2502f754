package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"brainbox/launcher"
	"brainbox/policy"
)

// A user without an entry in /etc/passwd has no home, and may ask all the same:
// brainbox-host refuses a folder that is not absolute.
func TestGateRequestWithoutAHome(t *testing.T) {
	p := &policy.Policy{}
	if diff := cmp.Diff([]string{}, gateRequest(p, &launcher.Place{Cwd: "/src"}).Homes); diff != "" {
		t.Errorf("without (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"/nonexistent/ada"}, gateRequest(p, &launcher.Place{Cwd: "/src", Home: "/nonexistent/ada"}).Homes); diff != "" {
		t.Errorf("with (-want +got):\n%s", diff)
	}
}
