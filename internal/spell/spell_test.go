package spell

import (
	"strings"
	"testing"
)

func TestDistance(t *testing.T) {
	long := strings.Repeat("a", Most+1)
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"abc", "abc", 0},
		{"deny", "dney", 2},
		{"write", "writ", 1},
		{"read", "reads", 1},
		{"kitten", "sitting", 3},
		{long, long, Most},
	} {
		if got, back := Distance(tt.a, tt.b), Distance(tt.b, tt.a); got != tt.want || back != tt.want {
			t.Errorf("%q, %q: %d and %d, want %d", tt.a, tt.b, got, back, tt.want)
		}
	}
}
