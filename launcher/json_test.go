package launcher

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"brainbox/internal/strictjson"

	"github.com/google/go-cmp/cmp"
)

// TestPlanJSONIsGolden holds the shape of docs/interfaces.md, byte for byte.
func TestPlanJSONIsGolden(t *testing.T) {
	text := "[filesystem]\nexec = [\"/usr\"]\nwrite = [\".\"]\nread = [\"/link\"]\nprotect = [\"./keep\"]\n[sandbox]\ndegraded = [\"protect\"]\n"
	h := host{abi: 7, uid: 1000, command: []string{"npm", "te\x1bst"}, links: map[string]string{"/link": "/srv/real\nname"}}
	for name, h := range map[string]host{
		"plan":         h,
		"plan-refused": {abi: 2, uid: 1000, absent: []string{"/link"}},
	} {
		v := planOf(t, h, text).JSON()
		got := indent(t, strictjson.AppendLine(nil, &v))
		file := "testdata/" + name + ".json"
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-golden +now):\n%s", name, diff)
		}
	}
}

func indent(t *testing.T, line []byte) []byte {
	t.Helper()
	if bytes.Count(line, []byte("\n")) != 1 || !bytes.HasSuffix(line, []byte("\n")) {
		t.Fatalf("not one line: %q", line)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, line, "", " "); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Every key that the interface names is there, in every clause and entry.
func TestPlanJSONHasTheKeysOfTheInterface(t *testing.T) {
	v := planOf(t, host{abi: 7, uid: 1000, command: []string{"true"}}, "").JSON()
	var doc map[string]json.RawMessage
	decode(t, strictjson.AppendLine(nil, &v), &doc)
	needKeys(t, "plan", doc, "schema version isolation asked fallback start sources clauses command environment cwd")
	if got := string(doc["schema"]); got != `"brainbox/plan/v1"` {
		t.Errorf("schema %s", got)
	}
	var sources, clauses, entries []map[string]json.RawMessage
	decode(t, doc["sources"], &sources)
	for _, s := range sources {
		needKeys(t, "source", s, "kind name line")
	}
	decode(t, doc["clauses"], &clauses)
	paths := 0
	for _, c := range clauses {
		needKeys(t, "clause", c, "clause state mechanism degraded requirement route entries")
		decode(t, c["entries"], &entries)
		for _, e := range entries {
			keys := "value state note optional source"
			if e["path"] != nil {
				keys += " path target right"
				paths++
			}
			needKeys(t, "entry", e, keys)
		}
	}
	if len(sources) == 0 || len(clauses) != len(clauseNames()) || paths == 0 {
		t.Errorf("%d sources, %d clauses, %d paths", len(sources), len(clauses), paths)
	}
	var command map[string]json.RawMessage
	decode(t, doc["command"], &command)
	needKeys(t, "command", command, "asked file argv")
	var env []string
	decode(t, doc["environment"], &env)
	if !slices.Contains(env, "LANG") || strings.Contains(strings.Join(env, ""), "=") {
		t.Errorf("environment %q, want names only", env)
	}
}

func decode(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}

func needKeys(t *testing.T, what string, doc map[string]json.RawMessage, keys string) {
	t.Helper()
	for k := range strings.FieldsSeq(keys) {
		if _, ok := doc[k]; !ok {
			t.Errorf("%s lacks %q in %v", what, k, doc)
		}
	}
}
