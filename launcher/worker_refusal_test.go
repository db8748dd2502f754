package launcher

import "testing"

// No refusal of a worker speaks of a weaker one.
func TestWorkerRefusalsOfferNothingWeaker(t *testing.T) {
	for _, c := range []struct{ hint, want string }{
		{hintLandlock, "m"},
		{"a route; " + hintLandlock, "m (a route)"},
		{"a route", "m (a route)"},
		{"", "m"},
	} {
		if got := requirementOf(&Refusal{Message: "m", Hint: c.hint}); got != c.want {
			t.Errorf("%q: %q, want %q", c.hint, got, c.want)
		}
	}
}
