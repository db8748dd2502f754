package turntemp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"brainbox/internal/strictjson"
)

func TestHandleRefuses(t *testing.T) {
	const usage, all, age = `{"operation":"usage"`, `{"operation":"purge","all":true`, "older_than_seconds"
	older := func(value string) string { return `{"operation":"purge","older_than_seconds":` + value + `}` }
	tests := []struct{ name, input, code, field, operation string }{
		{"bk/TT16 a path", all + `,"path":"/etc"}`, strictjson.CodeUnknownField, "path", OpPurge},
		{"bk/TT16 a directory", usage + `,"dir":"."}`, strictjson.CodeUnknownField, "dir", OpUsage},
		{"bk/TT16 a turn", all + `,"turn":"t-2"}`, strictjson.CodeUnknownField, "turn", OpPurge},
		{"bk/TT16 a descriptor", usage + `,"fd":3}`, strictjson.CodeUnknownField, "fd", OpUsage},
		{"another spelling of a key", `{"Operation":"usage"}`, strictjson.CodeUnknownField, "Operation", ""},
		{"a key twice", all + `,"all":false}`, strictjson.CodeDuplicateKey, "all", ""},
		{"usage with an age", usage + `,"older_than_seconds":1}`, strictjson.CodeUnknownField, age, OpUsage},
		{"neither age nor all", `{"operation":"purge"}`, strictjson.CodeFieldInvalid, "all", OpPurge},
		{"age and all", all + `,"older_than_seconds":1}`, strictjson.CodeFieldInvalid, "all", OpPurge},
		{"all false", `{"operation":"purge","all":false}`, strictjson.CodeFieldInvalid, "all", OpPurge},
		{"age zero", older("0"), strictjson.CodeFieldInvalid, age, OpPurge},
		{"age below zero", older("-1"), strictjson.CodeFieldInvalid, age, OpPurge},
		{"a fraction", older("1.5"), strictjson.CodeFieldInvalid, age, OpPurge},
		{"an age beyond all files", older("9223372036854775807"), strictjson.CodeFieldInvalid, age, OpPurge},
		{"another operation", `{"operation":"remove"}`, strictjson.CodeFieldInvalid, "operation", ""},
		{"no operation", `{}`, strictjson.CodeFieldInvalid, "operation", ""},
		{"an operation of another type", `{"operation":["purge"]}`, strictjson.CodeFieldInvalid, "operation", ""},
		{"no object", `"usage"`, strictjson.CodeSchemaInvalid, "", ""},
		{"no JSON", `usage`, strictjson.CodeNotJSON, "", ""},
		{"too long", usage + strings.Repeat(" ", maxInput) + "}", strictjson.CodeFrameTooLarge, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, sink, dir := access(t, "f")
			answer, err := a.Handle(t.Context(), turn, []byte(tt.input))
			var refusal *strictjson.Error
			if !errors.As(err, &refusal) || refusal.Code != tt.code || refusal.Field != tt.field || answer != nil {
				t.Errorf("Handle = %s, %v, want %s of %q", answer, err, tt.code, tt.field)
			}
			if got := sink.last(t); got.Outcome != RefusedRequest || got.Operation != tt.operation || got.Detail == "" {
				t.Errorf("record: %+v", got)
			}
			wantTree(t, dir, "f")
		})
	}
}

func TestHandle(t *testing.T) {
	a, _, dir := access(t, "d/f")
	past := time.Unix(1_000_000_000, 0)
	if err := os.Chtimes(dir+"/d/f", past, past); err != nil {
		t.Fatal(err)
	}
	a.now = func() time.Time { return time.Unix(1_800_000_000, 0) }
	answer := func(input string) string {
		t.Helper()
		out, err := a.Handle(t.Context(), turn, []byte(input))
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	u, err := a.Usage(t.Context(), turn)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`{"bytes":10,"block_bytes":%d,"files":1,"directories":1,`+
		`"oldest_mtime":"2001-09-09T01:46:40Z","unread":0,"truncated":false}`, u.BlockBytes)
	if got := answer(`{"operation":"usage"}`); got != want {
		t.Errorf("usage:\n%s\nwant\n%s", got, want)
	}
	id := a.root.Identity()
	head := `{"turn":"t-1","principal":"p","backend":"b","time":"2027-01-15T08:00:00Z","operation":"purge",`
	where := fmt.Sprintf(`"outcome":"done","directory":{"dev":%d,"ino":%d},`, id.Dev, id.Ino)
	tail := `"skipped":0,"failed":0,"entries":[],"unnamed":0,"truncated":false,"recorded":true}`
	want = head + `"older_than_seconds":315360000,` + where +
		`"removed":{"files":1,"links":0,"directories":0,"others":0,"bytes":10,` +
		fmt.Sprintf(`"block_bytes":%d},`, u.BlockBytes) + tail
	if got := answer(`{"operation":"purge","older_than_seconds":315360000}`); got != want {
		t.Errorf("purge by age:\n%s\nwant\n%s", got, want)
	}
	want = head + `"all":true,` + where +
		`"removed":{"files":0,"links":0,"directories":1,"others":0,"bytes":0,"block_bytes":0},` + tail
	if got := answer(`{"operation":"purge","all":true}`); got != want {
		t.Errorf("purge:\n%s\nwant\n%s", got, want)
	}
	want = `{"bytes":0,"block_bytes":0,"files":0,"directories":0,"oldest_mtime":null,"unread":0,"truncated":false}`
	if got := answer(`{"operation":"usage"}`); got != want { // bk/TT1
		t.Errorf("usage:\n%s\nwant\n%s", got, want)
	}
}

func TestNamesAreEscaped(t *testing.T) {
	a, sink, dir := access(t)
	long := strings.Repeat("\x01", 255)
	names := map[string]string{ // bk/TT15
		"a\nfake: line":   `a\u{a}fake: line`,
		"b\x1b[2Jc":       `b\u{1b}[2Jc`,
		"c\xff\xfe":       `c\x{ff}\x{fe}`,
		`d\n`:             `d\u{5c}n`,
		"e\u202etxt":      `e\u{202e}txt`,
		"f " + long[:200]: "f " + strings.Repeat(`\u{1}`, 200),
		"g" + long[1:]:    ("g" + strings.Repeat(`\u{1}`, 255))[:maxShown] + "...",
	}
	plant(t, dir+"/..", "outside")
	for name := range names {
		if err := os.Link(dir+"/../outside", dir+"/"+name); err != nil {
			t.Fatal(err)
		}
	}
	rec := purge(t, a)
	got := map[string]bool{}
	for _, n := range sink.last(t).Named {
		got[n.Path] = true
	}
	for name, want := range names {
		if !got[want] {
			t.Errorf("bk/TT15 %q is not named as %q: %v", name, want, got)
		}
	}
	v := rec.Value()
	text := strictjson.Append(nil, &v)
	if !json.Valid(text) || bytes.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		t.Errorf("bk/TT15 the record as JSON: %q", text)
	}
}

func TestManyNames(t *testing.T) {
	a, sink, dir := access(t)
	plant(t, dir+"/..", "outside")
	for i := range MaxNames + 7 {
		if err := os.Link(dir+"/../outside", fmt.Sprintf("%s/%03d", dir, i)); err != nil {
			t.Fatal(err)
		}
	}
	purge(t, a)
	got := sink.last(t)
	if len(got.Named) != MaxNames || got.Skipped != MaxNames+7 {
		t.Errorf("%d names, %d skipped", len(got.Named), got.Skipped)
	}
	v := got.Value()
	if n := v.Get("unnamed"); n == nil || n.Text != "7" {
		t.Errorf("unnamed: %+v", n)
	}
}

func TestSink(t *testing.T) {
	t.Run("bk/TT13 a sink that is down refuses the purge [D]: nothing is done unseen", func(t *testing.T) {
		a, sink, dir := access(t, "f")
		sink.down = errors.New("disk full")
		rec, err := a.Purge(t.Context(), turn, Purge{All: true})
		if !errors.Is(err, ErrSink) || !errors.Is(err, sink.down) || rec.Outcome != RefusedSink {
			t.Errorf("Purge = %+v, %v", rec, err)
		}
		if got := sink.last(t); got.Outcome != RefusedSink {
			t.Errorf("record: %+v", got)
		}
		wantTree(t, dir, "f")
		if u, err := a.Usage(t.Context(), turn); err != nil || u.Files != 1 {
			t.Errorf("usage: %+v, %v", u, err)
		}
		sink.down = nil
		purge(t, a)
		wantTree(t, dir)
	})
	t.Run("without a sink nothing is removed", func(t *testing.T) {
		a, _, dir := access(t, "f")
		a.cfg.Sink = nil
		if _, err := a.Purge(t.Context(), turn, Purge{All: true}); !errors.Is(err, ErrSink) {
			t.Errorf("Purge: %v", err)
		}
		wantTree(t, dir, "f")
	})
	t.Run("bk/TT13 a receipt that is lost is told, and the result stands", func(t *testing.T) {
		a, sink, dir := access(t, "f")
		var log bytes.Buffer
		a.cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
		sink.fails = errors.New("broken pipe")
		rec := purge(t, a)
		if rec.Removed.Files != 1 || !errors.Is(rec.Lost, sink.fails) || rec.Outcome != Done {
			t.Errorf("record: %+v", rec)
		}
		if v := rec.Value(); v.Get("recorded").Bool {
			t.Error("the answer says that it was recorded")
		}
		if !strings.Contains(log.String(), "broken pipe") || !strings.Contains(log.String(), "turn=t-1") {
			t.Errorf("log: %q", log.String())
		}
		wantTree(t, dir)
	})
	t.Run("a cancelled purge is recorded", func(t *testing.T) {
		a, sink, dir := access(t, "a", "b", "c")
		ctx, cancel := context.WithCancel(t.Context())
		once(a, "visit", "b", func() error { cancel(); return nil })
		rec, err := a.Purge(ctx, turn, Purge{All: true})
		if !errors.Is(err, context.Canceled) || rec.Outcome != Failed || rec.Removed.Files != 2 {
			t.Errorf("Purge = %+v, %v", rec, err)
		}
		if got := sink.last(t); got.Outcome != Failed || got.Detail == "" || got.Removed.Files != 2 {
			t.Errorf("record: %+v", got)
		}
		wantTree(t, dir, "c")
	})
}

func TestCallsAtOnce(t *testing.T) {
	a, sink, dir := access(t)
	lock := &locked{Sink: sink}
	a.cfg.Sink = lock
	for i := range 200 {
		plant(t, dir, fmt.Sprintf("d%d/f%d", i%20, i))
	}
	var all sync.WaitGroup
	removed := make([]int, 4)
	for i := range removed {
		all.Go(func() {
			rec, err := a.Purge(context.Background(), turn, Purge{All: true})
			if err != nil {
				t.Errorf("purge: %v", err)
			}
			removed[i] = rec.Removed.Files
		})
		all.Go(func() {
			if _, err := a.Usage(context.Background(), turn); err != nil {
				t.Errorf("usage: %v", err)
			}
		})
	}
	all.Wait()
	wantTree(t, dir)
	if sum := removed[0] + removed[1] + removed[2] + removed[3]; sum != 200 || len(sink.records) != 4 {
		t.Errorf("removed %v, %d receipts", removed, len(sink.records))
	}
}

// locked is a sink for several calls at once.
type locked struct {
	Sink
	mu sync.Mutex
}

func (l *locked) Record(ctx context.Context, rec PurgeRecord) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Sink.Record(ctx, rec)
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"operation":"usage"}`, `{"operation":"purge","all":true}`, `{"operation":"purge","older_than_seconds":60}`,
		`{"operation":"purge","all":true,"path":"/"}`, `{"operation":7}`, `[]`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		c, err := decode(input)
		if err != nil {
			return
		}
		if c.operation != OpUsage && (c.operation != OpPurge || !c.purge.valid()) {
			t.Errorf("decode(%q) = %+v", input, c)
		}
		for _, word := range []string{"path", "dir"} {
			if bytes.Contains(input, []byte(`"`+word+`"`)) {
				t.Errorf("a call with %q is accepted: %q", word, input)
			}
		}
	})
}
