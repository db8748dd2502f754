package explain

import (
	"testing"

	"brainbox/internal/needs"
)

// Without time left it is not known whether only the host has a name, which is not the same as
// that nothing was denied.
func TestNoTimeLeftIsTold(t *testing.T) {
	needs.Kernel(t)
	dir := realTemp(t)
	put(t, dir, "in/")
	for left, want := range map[bool]string{true: "", false: "read none unknown"} {
		w := newWatch(t, Config{Judge: grants{below: []string{dir + "/in"}}, Inside: true})
		if !left {
			w.budget.left.Store(0)
		}
		if got := words(w.call("openat", 0, dir+"/none", 0), dir); got != want {
			t.Errorf("time left: %v: got %q, want %q", left, got, want)
		}
	}
}
