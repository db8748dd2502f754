package main

import (
	"fmt"
	"strings"
)

// report is the state of the targets as text. Targets never run are listed with zeros.
func report(all []target, s state, version, goVersion string) string {
	var b strings.Builder
	var sum done
	failed, never := 0, 0
	for _, t := range all {
		d := s[t.String()]
		sum.Seconds, sum.Execs, sum.Found = sum.Seconds+d.Seconds, sum.Execs+d.Execs, sum.Found+d.Found
		if d.Failed != "" {
			failed++
		}
		if d.Seconds == 0 {
			never++
		}
	}
	fmt.Fprintf(&b, "Fuzzing, written by make fuzz. %s, %s.\n", version, goVersion)
	fmt.Fprintf(&b, "%d targets, %d never run, %d failed; %.0f s, %d executions, %d inputs found.\n\n",
		len(all), never, failed, sum.Seconds, sum.Execs, sum.Found)
	fmt.Fprintf(&b, "%-52s %8s %12s %7s %7s  %-10s  %s\n", "target", "seconds", "execs", "new", "corpus", "last", "result")
	for _, t := range all {
		d := s[t.String()]
		result := "held"
		switch {
		case d.Failed != "":
			result = "failed: " + d.Failed
		case d.Seconds == 0:
			result = "not run"
		}
		fmt.Fprintf(&b, "%-52s %8.0f %12d %7d %7d  %-10s  %s\n", t, d.Seconds, d.Execs, d.Found, d.Corpus, d.Last, result)
	}
	return b.String()
}
