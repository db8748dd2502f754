package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSignRank(t *testing.T) {
	// Ranks of the two-sided 5 % sign test, as in tables of the binomial
	// distribution.
	for n, want := range map[int]int{6: 1, 8: 1, 9: 2, 10: 2, 20: 6, 30: 10, 40: 14, 50: 18, 100: 40} {
		if got := signRank(n); got != want {
			t.Errorf("signRank(%d) = %d, want %d", n, got, want)
		}
	}
}

func TestMedianOf(t *testing.T) {
	values := []float64{10, 1, 9, 2, 8, 3, 7, 4, 6, 5}
	got := medianOf(values)
	if want := (estimate{5.5, 2, 9}); got != want {
		t.Errorf("medianOf = %v, want %v", got, want)
	}
	if diff := cmp.Diff([]float64{10, 1, 9}, values[:3]); diff != "" {
		t.Errorf("the values were reordered (-want +got):\n%s", diff)
	}
}

func TestVerdict(t *testing.T) {
	e := estimate{0.5, 0.4, 0.6}
	for bound, want := range map[float64]string{0.59: "not shown", 0.6: "holds", 0.3: "not shown", 1: "holds"} {
		if got := e.verdict(bound); got != want {
			t.Errorf("verdict(%v) = %q, want %q", bound, got, want)
		}
	}
}
