package turn

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"brainbox/bridge/tool"
	"brainbox/dirchain/turntemp"
	"brainbox/gate"
	"brainbox/internal/strictjson"
)

// ledger keeps receipts.
type ledger struct {
	all  []turntemp.PurgeRecord
	down error
}

func (l *ledger) Ready(context.Context) error { return l.down }

func (l *ledger) Record(_ context.Context, r turntemp.PurgeRecord) error {
	l.all = append(l.all, r)
	return nil
}

func newTemp(t *testing.T) (*Temp, *turntemp.Access, *ledger, string) {
	t.Helper()
	dir := t.TempDir()
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l := &ledger{}
	access, err := turntemp.New(f, turntemp.Config{Turn: "t-1", Principal: "p", Backend: "b", Sink: l})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = access.Close() })
	for _, name := range []string{"/a", "/b"} {
		if err := os.WriteFile(dir+name, []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return New(access), access, l, dir
}

func call(t *testing.T, tl *Temp, input string) (map[string]any, string) {
	t.Helper()
	v, err := strictjson.Decode([]byte(input), strictjson.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := tl.Plan(v)
	if err == nil {
		d := gate.Decision{Allowed: true, Reading: p.Reading()}
		var out *strictjson.Value
		if out, err = p.Do(t.Context(), &d); err == nil {
			var m map[string]any
			if err := json.Unmarshal(strictjson.Append(nil, out), &m); err != nil {
				t.Fatal(err)
			}
			return m, ""
		}
	}
	var r *tool.Refusal
	if !errors.As(err, &r) {
		t.Fatalf("no refusal: %v", err)
	}
	return nil, r.Code
}

// No call names a place, every refusal leaves a receipt: bk/TT8, bk/TT13, bk/TT16.
func TestTemp(t *testing.T) {
	tl, access, l, dir := newTemp(t)
	for _, input := range []string{
		`{"operation":"purge","all":true,"path":"/"}`, `{"operation":"usage","path":"x"}`, `{"operation":"purge"}`, `{}`,
		`{"operation":"purge","all":true,"older_than_seconds":1}`, `{"operation":"usage","all":true}`, `{"operation":"chmod"}`,
	} {
		n := len(l.all)
		if out, code := call(t, tl, input); code != "invalid_request" || len(l.all) != n+1 {
			t.Errorf("%s: %q %v, %d receipts", input, code, out, len(l.all)-n)
		}
	}
	if _, code := call(t, tl, `[]`); code != "invalid_request" {
		t.Errorf("a list: %q", code)
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 2 {
		t.Errorf("%v, %v", all, err)
	}
	if out, code := call(t, tl, `{"operation":"usage"}`); code != "" || out["files"] != 2.0 {
		t.Errorf("%v, %q", out, code)
	}
	l.down = errors.New("no")
	if _, code := call(t, tl, `{"operation":"purge","all":true}`); code != "no_receipt" {
		t.Errorf("without a sink: %q", code)
	}
	l.down = nil
	if out, code := call(t, tl, `{"operation":"purge","all":true}`); code != "" {
		t.Errorf("%v, %q", out, code)
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
	if err := access.Close(); err != nil {
		t.Fatal(err)
	}
	if _, code := call(t, tl, `{"operation":"usage"}`); code != "shutting_down" {
		t.Errorf("after the turn: %q", code)
	}
}

// The lock is the turn's, the decision that of this call, and without access there is no
// tool: bk/TT9.
func TestPlanned(t *testing.T) {
	tl, _, l, dir := newTemp(t)
	v := strictjson.Object(strictjson.Pair("operation", strictjson.Text("purge")), strictjson.Pair("all", strictjson.Bool(true)))
	p, err := tl.Plan(&v)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(p.Locks(), " "); got != "turn-temp:t-1" {
		t.Errorf("locks %q", got)
	}
	usage := strictjson.Object(strictjson.Pair("operation", strictjson.Text("usage")))
	other, err := tl.Plan(&usage)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx context.Context
		d   *gate.Decision
	}{
		"none": {t.Context(), nil}, "zero": {t.Context(), &gate.Decision{}},
		"of usage": {t.Context(), &gate.Decision{Allowed: true, Reading: other.Reading()}},
		"given up": {ctx, &gate.Decision{Allowed: true, Reading: p.Reading()}},
	} {
		if _, err := p.Do(c.ctx, c.d); err == nil {
			t.Errorf("%s: it was done", name)
		}
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 2 || len(l.all) != 0 {
		t.Errorf("%v, %v, %v", all, err, l.all)
	}
	if other.Reading().Value != "usage" || p.Reading().Value != "purge" {
		t.Error("the gate is not told what is done")
	}
	none := New(nil)
	if _, err := none.Plan(&v); err == nil || none.Offered() || !tl.Offered() {
		t.Errorf("without access: %v", err)
	}
}
