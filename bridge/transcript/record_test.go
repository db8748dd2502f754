package transcript

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brainbox/bridge/envelope"
	"brainbox/bridge/redact"
	"brainbox/internal/strictjson"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const secret = "tk-Zq9xx7-4711"

func redactor() *redact.Redactor { return redact.New(redact.Options{Secrets: []string{secret}}) }

// record is a call whose every part has a secret, a token of a known shape or a path in it.
func record(t testing.TB) Record {
	t.Helper()
	value := func(text string) strictjson.Value {
		v, err := strictjson.Decode([]byte(text), strictjson.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		return *v
	}
	req := &envelope.Request{
		ID: "ptr_1", Tool: "workspace.read", Operation: "call",
		Input:      value(`{"path":"README.md","password":"hunter2","x":"` + secret + `"}`),
		Session:    envelope.Session{ID: "s1", Caller: "job " + secret, Task: "task_789"},
		Capability: "read", Metadata: strictjson.Object(),
	}
	output := value(`{"state":"open","token":"hunter2","x":["` + secret + `","/home/op/x"]}`)
	res := req.Succeed(&output)
	res.Diagnostics = value(`{"stderr":"Cookie: hunter2"}`)
	res.Metadata = value(`{"` + secret + `":1.50}`)
	res.Evidence = []envelope.Ref{{Kind: "evidence", URI: "https://u:hunter2@h/"}}
	return Record{
		Request: req, Result: res, Took: 1500 * time.Millisecond,
		Started: time.Date(2026, 1, 2, 3, 4, 5, 600e6, time.FixedZone("", 3600)),
	}
}

func mustEncode(t testing.TB, r Record) string {
	t.Helper()
	text, err := r.encode(redactor())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestGolden(t *testing.T) {
	got := mustEncode(t, record(t))
	path := filepath.Join("testdata", "golden", "succeeded.json")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got  %swant %s", got, want)
	}
}

// No layer is left out, wherever a secret stands.
func TestNothingLeaks(t *testing.T) {
	r := record(t)
	failed := r
	failed.Result = r.Request.Fail(envelope.Failed, "x", secret+" in /home/op/x")
	details, _ := strictjson.Decode([]byte(`{"apiKey":"hunter2"}`), strictjson.Limits{})
	failed.Result.Err.Details = details
	for name, r := range map[string]Record{"succeeded": r, "failed": failed} {
		text := mustEncode(t, r)
		for _, bad := range []string{secret, "hunter2", "/home/op"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s: %s in %s", name, bad, text)
			}
		}
		if !strings.Contains(text, `"path":"README.md"`) || strings.Count(text, `"policy":"`+redact.Policy+`"`) != 2 {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func TestStatusWords(t *testing.T) {
	for status, want := range map[envelope.Status]string{
		envelope.Succeeded: "succeeded", envelope.Failed: "failed", envelope.Unavailable: "failed",
		envelope.Timeout: "timed_out", envelope.Denied: "skipped",
	} {
		r := record(t)
		if status != envelope.Succeeded {
			r.Result = r.Request.Fail(status, "some_code", "because")
		}
		if text := mustEncode(t, r); !strings.Contains(text, `"status":"`+want+`"`) {
			t.Errorf("%s: %s", status, text)
		}
		r.Cancelled = true
		text := mustEncode(t, r)
		if !strings.Contains(text, `"status":"cancelled"`) || !strings.Contains(text, `"code":"caller_gone"`) ||
			strings.Contains(text, "some_code") {
			t.Errorf("%s, cancelled: %s", status, text)
		}
	}
}

// What is too long loses what went in and came out first, then what was added to it.
func TestTooLong(t *testing.T) {
	long := strictjson.Text(strings.Repeat("a", MaxBytes))
	r := record(t)
	r.Result.Output = &long
	text := mustEncode(t, r)
	if len(text) > 4096 || strings.Contains(text, `"output":`) || strings.Contains(text, "README") {
		t.Errorf("%d bytes", len(text))
	}
	for _, want := range []string{`"output_sha256":"`, `"input_sha256":"`, `"truncated":true`, `"diagnostics":{"stderr"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
	r.Result.Diagnostics = strictjson.Object(strictjson.Pair("x", long))
	if text = mustEncode(t, r); strings.Contains(text, "diagnostics") || !strings.Contains(text, `"truncated":true`) {
		t.Errorf("%d bytes: %.300s", len(text), text)
	}
	for range 40_000 {
		r.Result.Evidence = append(r.Result.Evidence, envelope.Ref{Kind: "evidence", ID: "0123456789"})
	}
	if _, err := r.encode(redactor()); !errors.Is(err, ErrTooLong) {
		t.Errorf("got %v", err)
	}
}

func TestFileName(t *testing.T) {
	seen := map[string]string{}
	for id, want := range map[string]string{
		"ptr_123":                      "ptr_123.json",
		"a.b:c-d":                      "a=2eb=3ac-d.json",
		"a..":                          "a=2e=2e.json",
		"..":                           "=2e=2e.json", // no id; still no path
		"../x":                         "=2e=2e=2fx.json",
		"-x":                           "=2dx.json",
		"a\x00":                        "a=00.json",
		"PTR_123":                      "PTR_123.json",
		strings.Repeat("a", 128):       strings.Repeat("a", 128) + ".json",
		"":                             "",
		"x" + secret:                   "",
		"a" + strings.Repeat(".", 127): "",
		"a" + strings.Repeat(":", 127): "",
	} {
		got := fileName(redactor(), id)
		if want != "" && got != want || want == "" && !strings.HasPrefix(got, "=sha256-") {
			t.Errorf("%q is in %s, want %q", id, got, want)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%q and %q are both in %s", id, other, got)
		}
		seen[got] = id
		if !envelope.RefPath(Folder+"/"+got) || strings.Contains(got, secret) || strings.Contains(got, "/") {
			t.Errorf("%q gives the name %s", id, got)
		}
	}
}
