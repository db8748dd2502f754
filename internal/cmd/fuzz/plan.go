package main

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// job is one target and how long it is still to run.
type job struct {
	target
	For time.Duration
}

// plan says what is to be run: the targets that match and have not had the whole time, the
// one with the least first. Those of one package stay together where they have had the same.
func plan(all []target, s state, match *regexp.Regexp, whole time.Duration) []job {
	var jobs []job
	for _, t := range all {
		left := s[t.String()].left(whole)
		if left > 0 && (match == nil || match.MatchString(t.String())) {
			jobs = append(jobs, job{t, left})
		}
	}
	slices.SortStableFunc(jobs, func(a, b job) int { return cmp.Compare(b.For, a.For) })
	return jobs
}

// progress is what the fuzzer says of itself.
type progress struct {
	elapsed             time.Duration
	execs, found, total int64
}

var status = regexp.MustCompile(`^fuzz: elapsed: (\S+), execs: (\d+) \([^)]*\)(?:, new interesting: (\d+) \(total: (\d+)\))?`)

// parseLine reads one line of the fuzzer; false: it is another line.
func parseLine(line string) (progress, bool) {
	m := status.FindStringSubmatch(line)
	if m == nil {
		return progress{}, false
	}
	elapsed, err := time.ParseDuration(m[1])
	if err != nil {
		return progress{}, false
	}
	p := progress{elapsed: elapsed}
	for i, to := range []*int64{&p.execs, &p.found, &p.total} {
		*to, _ = strconv.ParseInt(m[i+2], 10, 64) // digits, or nothing
	}
	return p, true
}
