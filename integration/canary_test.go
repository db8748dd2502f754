package integration

import (
	"fmt"
	"os/exec"
	"testing"
)

// canary is a process outside brainbox, of the same user, that attempts are aimed at.
type canary struct {
	*side
	pid     int
	address uint64 // of its secret
}

// newCanary starts a canary; it ends with the test.
func newCanary(t testing.TB) *canary {
	t.Helper()
	cmd := exec.Command(program("victim"), "canary")
	cmd.Env = []string{"CANARY_SECRET=environment"}
	c := &canary{side: open(t, cmd)}
	if _, err := fmt.Sscanf(c.line(t, "canary"), "ready %d %d", &c.pid, &c.address); err != nil {
		t.Fatal(err)
	}
	return c
}

// state is all of the canary that others could change.
func (c *canary) state(t testing.TB) string {
	t.Helper()
	return c.ask(t, "state")
}

// unharmed is what a fresh canary says of itself.
func unharmed(t testing.TB) string {
	t.Helper()
	return newCanary(t).state(t)
}
