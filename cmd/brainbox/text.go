package main

import (
	"strconv"

	"brainbox/internal/visible"
)

// quote shows a name so that no byte of it reaches the terminal raw.
func quote(s string) string { return strconv.Quote(s) }

// oneLine makes every control and formatting character of a message visible: a path in
// it must not move the cursor or forge a second line.
func oneLine(s string) string { return visible.Line(s) }
