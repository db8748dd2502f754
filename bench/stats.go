package main

import (
	"math"
	"slices"
)

// estimate is a median and the interval that covers the true one with at least
// 95 % probability, whatever the distribution.
type estimate struct{ median, low, high float64 }

// times is the same in another unit.
func (e estimate) times(f float64) estimate { return estimate{e.median * f, e.low * f, e.high * f} }

// medianOf needs at least six values, the fewest for which an interval exists.
func medianOf(values []float64) estimate {
	s := slices.Clone(values)
	slices.Sort(s)
	n := len(s)
	k := signRank(n)
	return estimate{(s[(n-1)/2] + s[n/2]) / 2, s[k-1], s[n-k]}
}

// signRank is the largest k for which the interval from the k-th smallest to the
// k-th largest of n values misses the median with at most 5 % probability: twice
// the chance that fewer than k of n fair coins show heads. It is at least 1.
func signRank(n int) int {
	tail, k := 0.0, 0
	for {
		tail += math.Exp(logChoose(n, k) - float64(n)*math.Ln2)
		if 2*tail > 0.05 {
			return max(k, 1)
		}
		k++
	}
}

func logChoose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}

// verdict compares an interval with an upper bound.
func (e estimate) verdict(bound float64) string {
	if e.high <= bound {
		return "holds"
	}
	return "not shown"
}
