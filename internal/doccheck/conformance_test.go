package doccheck

import (
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brainbox/policy"
)

var update = flag.Bool("update", false, "write the table of docs/spec-conformance.md")

const (
	page  = root + "/docs/spec-conformance.md"
	begin = "<!-- begin: written by go test ./internal/doccheck -update -->\n"
	end   = "<!-- end -->\n"
)

var refPattern = regexp.MustCompile("`([a-zA-Z0-9_./-]+_test\\.go)` `((?:Test|Fuzz)[A-Za-z0-9_]*)`")

// table writes one row for each id of the scope.
func table(t *testing.T, tests map[string][]ref) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| id | where it is tested, or why not |\n| --- | --- |\n")
	for _, id := range scope() {
		var words []string
		if d := declared(id); d != "" {
			words = append(words, d)
		}
		for _, r := range tests[id] {
			words = append(words, "`"+r.file+"` `"+r.test+"`")
		}
		if len(words) == 0 {
			t.Errorf("%s: no test has it, and nothing is declared", id)
		}
		b.WriteString("| " + id + " | " + strings.Join(words, "; ") + " |\n")
	}
	return b.String()
}

// TestConformance holds the table to the tests: each id of the scope is there once; each
// test that a row names has the id in its source; what has no test says why.
func TestConformance(t *testing.T) {
	tests := scan(t)
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), begin)
	rows, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no generated part", page)
	}
	if *update {
		if err := os.WriteFile(page, []byte(head+begin+table(t, tests)+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	var seen []string
	for line := range strings.Lines(rows) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		id := strings.TrimSpace(cells[0])
		if len(cells) != 2 || !idPattern.MatchString(id) {
			continue
		}
		seen = append(seen, id)
		checkRow(t, id, cells[1], tests[id])
	}
	if diff := cmp.Diff(scope(), seen); diff != "" {
		t.Errorf("the ids of the page (-scope +page); -update writes the table again:\n%s", diff)
	}
}

func checkRow(t *testing.T, id, where string, tests []ref) {
	t.Helper()
	named := refPattern.FindAllStringSubmatch(where, -1)
	for _, m := range named { // those that are declared have no id; they are looked up with all others
		if !slices.Contains(tests, ref{m[1], m[2]}) && !strings.Contains(declared(id), m[0]) {
			t.Errorf("%s: %s %s does not have it; -update writes the table again", id, m[1], m[2])
		}
	}
	if clause, ok := strings.CutPrefix(where, "open: "); ok {
		name := strings.FieldsFunc(clause, func(r rune) bool { return r == ' ' || r == ';' })[0]
		if !slices.Contains(policy.Clauses(), name) {
			t.Errorf("%s: open: %q is no clause", id, name)
		}
	}
	if len(named) == 0 && declared(id) == "" {
		t.Errorf("%s: no test, and no reason", id)
	}
}
