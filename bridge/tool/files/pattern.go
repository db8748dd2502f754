package files

import (
	"context"
	"errors"
	"regexp"
	"regexp/syntax"

	"brainbox/bridge/tool"
)

// Bounds of a pattern, in instructions of its program: repetitions are written out, so 4 KiB
// of pattern may be half a million of them, each of which is tried for every character.
const (
	mostProgram = 10_000
	atOnce      = 4 << 20 // instructions times characters between two looks at the clock
	searches    = 4       // at the same time, of one set of roots: each has a file in memory
)

// compile makes the matcher of a pattern, and tells how long its program is at most.
func compile(pattern string) (*regexp.Regexp, int, error) {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		why := "it is no regular expression of RE2's syntax"
		if bad := (*syntax.Error)(nil); errors.As(err, &bad) {
			why = string(bad.Code) // one of a list, without the caller's text
		}
		return nil, 0, &tool.Refusal{Code: "pattern_invalid", Message: "pattern: " + why}
	}
	n := program(tree)
	if n > mostProgram {
		return nil, 0, &tool.Refusal{Code: "pattern_invalid", Message: "pattern: too long when its repetitions are written out"}
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, 0, &tool.Refusal{Code: "pattern_invalid", Message: "pattern: it is no regular expression of RE2's syntax"}
	}
	return re, n, nil
}

// program is an upper bound of the instructions that a part of a pattern becomes. The parser
// has bounded how deep the parts are in each other, and the product of repetitions.
func program(re *syntax.Regexp) int {
	n := 0
	for _, sub := range re.Sub {
		n += program(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune) + 1
	case syntax.OpConcat:
		return n
	case syntax.OpAlternate:
		return n + len(re.Sub)
	case syntax.OpRepeat:
		return (n + 1) * max(re.Min+1, re.Max)
	default:
		return n + 2
	}
}

// step is how many characters are matched between two looks at the clock.
func (c *grep) step() int { return max(1, atOnce/c.size) }

// enter waits until the roots have no more searches than may be.
func (rs *Roots) enter(ctx context.Context) (leave func(), err error) {
	select {
	case rs.busy <- struct{}{}:
		return func() { <-rs.busy }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
