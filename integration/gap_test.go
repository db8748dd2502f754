package integration

import "testing"

// gap reports a finding that is on the list of known gaps, and fails for any other.
func gap(t testing.TB, name, found string) {
	t.Helper()
	if why, known := knownGaps[name]; known {
		t.Logf("known gap %q: %s: %s", name, why, found)
		return
	}
	t.Errorf("%s: %s", name, found)
}

// closed fails when something that is on the list of known gaps is held after all.
func closed(t testing.TB, name string) {
	t.Helper()
	if _, known := knownGaps[name]; known {
		t.Errorf("gap %q is closed: take it off the list", name)
	}
}
