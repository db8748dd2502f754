package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// again is how often a failed test must pass, alone, to be called unsteady.
const again = 3

// attacks are the tests in which one success in many is the fault that they look for: they are
// judged by their first run.
var attacks = regexp.MustCompile(`Matrix|Escape|Race|Attack|Outside|Inside|Refuse|Leak`)

// unsteady lists the tests that failed in a test binary's output, if all that went wrong is
// that they did, and each may be run again: nil if the binary crashed, was ended, or a test
// failed whose first failure counts.
func unsteady(out string) []string {
	var failed []string
	_, rest, _ := strings.Cut(out, marker)
	for part := range strings.SplitSeq(rest, marker) {
		name, is := strings.CutPrefix(part, "--- FAIL: ")
		if !is {
			continue
		}
		name, _, _ = strings.Cut(name, " ")
		if attacks.MatchString(name) {
			return nil
		}
		failed = append(failed, name)
	}
	if strings.Contains(out, "\npanic: ") || strings.Contains(out, "\nfatal error: ") || !strings.HasSuffix(out, "FAIL\n") {
		return nil
	}
	return slices.Compact(failed)
}

// onlyThese are the arguments that run the tests again.
func onlyThese(failed []string) []string {
	return []string{"-test.run=^(" + strings.Join(failed, "|") + ")$", "-test.count=" + strconv.Itoa(again)}
}
