package integration

import (
	"strconv"
	"strings"
)

func itoa(n int) string { return strconv.Itoa(n) }

// replaceTarget aims an attempt at another process.
func replaceTarget(attempt, target string) string {
	return strings.ReplaceAll(attempt, "{PID}", target)
}
