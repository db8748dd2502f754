package main

import (
	"strings"
)

// marker is the byte that package testing writes before its own lines when it is told to
// write for test2json.
const marker = "\x16"

// verdict is what became of one test. Tests below another are counted with it.
type verdict struct {
	name, word string // PASS, SKIP or FAIL
	reason     string // the last that a skipped or failed test said
	below      int
}

// tally counts tests, those below others too.
type tally struct{ passed, skipped, failed int }

func (t *tally) add(o tally) {
	t.passed, t.skipped, t.failed = t.passed+o.passed, t.skipped+o.skipped, t.failed+o.failed
}

// verdicts reads what a test binary has printed. Every test that was skipped or has failed is
// listed, and every test that is not below another one. Only what package testing itself wrote
// counts: it has the marker in front.
func verdicts(out string) (list []verdict, sum tally) {
	said, below := map[string]string{}, map[string]int{}
	current := ""
	_, rest, _ := strings.Cut(out, marker)
	for part := range strings.SplitSeq(rest, marker) {
		head, body, _ := strings.Cut(part, "\n")
		fields := strings.Fields(head)
		switch {
		case len(fields) < 3:
			continue
		case fields[0] == "===":
			current = fields[2]
			if s := lastSaid(body); s != "" {
				said[current] = s
			}
		case fields[0] == "---" && len(fields) > 2:
			name, word := fields[2], strings.TrimSuffix(fields[1], ":")
			top, _, isBelow := strings.Cut(name, "/")
			if isBelow {
				below[top]++
			}
			count(&sum, word)
			if s := lastSaid(body); s != "" { // without a line of its own after "==="
				said[name] = s
			}
			if isBelow && word == "PASS" {
				continue
			}
			list = append(list, verdict{name: name, word: word, reason: said[name], below: below[name]})
		}
	}
	return list, sum
}

func count(t *tally, word string) {
	switch word {
	case "PASS":
		t.passed++
	case "SKIP":
		t.skipped++
	default:
		t.failed++
	}
}

// lastSaid is the last line that a test has logged, "    file.go:12: text", without the place.
func lastSaid(text string) string {
	said := ""
	for line := range strings.Lines(text) {
		trimmed, ok := strings.CutPrefix(line, "    ")
		file, rest, found := strings.Cut(trimmed, ".go:")
		if !ok || !found || strings.ContainsAny(file, " \t/") {
			continue
		}
		if _, s, ok := strings.Cut(rest, ": "); ok {
			said = strings.TrimSpace(s)
		}
	}
	return said
}
