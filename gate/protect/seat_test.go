package protect

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestSeatRefuses(t *testing.T) {
	for id, texts := range map[string][]string{
		"bg/C16": {`[{"name":"\u200c","kind":"segment"}]`, `["\u200c"]`, `["a/\u200d/b"]`},
		"bg/C62": {
			`["~/x"]`, `["~"]`, `[""]`, `["/etc"]`, `["a//b"]`, `["a/../b"]`, `["*.pem"]`, `[5]`, `null`,
			`{}`, `".git"`, `[null]`, `[[]]`, `["  "]`, `["."]`, `["a/."]`, `["a/"]`, `["a?"]`, `["[ab]"]`, `["a\u0000"]`, `["a\n"]`, `["\u0085x"]`,
			`[`, ``, `[".git",]`, `["` + strings.Repeat("x", 256) + `"]`, `["a/` + strings.Repeat("é", 128) + `"]`,
			`[` + strings.Repeat(`"a",`, 1024) + `"a"]`, `[{"name":".git"}]`, `[{"kind":"segment"}]`, `[{"name":".git","kind":"segment","x":1}]`,
			`[{"name":".git","name":".idea","kind":"segment"}]`, `[{"name":1,"kind":"segment"}]`,
		},
		"bg/C63": {`[{"name":"x","kind":"glob"}]`, `[{"name":"x","kind":""}]`, `[{"name":"x","kind":"Segment"}]`},
		"bg/C64": {`[{"name":"a/b","kind":"segment"}]`, `[{"name":"a/b","kind":"basename"}]`},
	} {
		for _, text := range texts {
			t.Run(fmt.Sprintf("%s %.40s", id, text), func(t *testing.T) {
				s, err := ParseSeat([]byte(text))
				var e *SeatError
				if !errors.As(err, &e) || !strings.Contains(err.Error(), "write_protected_paths") {
					t.Errorf("ParseSeat = %v, %v", s, err)
				}
			})
		}
	}
	for _, s := range []Seat{
		{Set: true, Entries: []Entry{{"a\xff", ""}}},
		{Set: true, Entries: []Entry{{"a", "glob"}}},
		{Entries: []Entry{{Name: ".git"}}}, // forgotten to set
	} {
		if rows, err := Resolve(s); err == nil {
			t.Errorf("Resolve(%+v) = %v", s, rows)
		}
		if j, mounted, err := Compile(s, Options{}); err == nil || mounted || j != nil {
			t.Errorf("Compile(%+v) = %v, %v", s, j, mounted)
		}
	}
	if _, _, err := Compile(Seat{}, Options{DataRoot: "data"}); err == nil {
		t.Error("a data root that is relative")
	}
}

func TestSeat(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []Row
	}{
		{"a name is a segment", `[".git"]`, []Row{{".git", Segment}}},
		{"a name with a slash is a run", `["a/b"]`, []Row{{"a/b", SegmentRun}}},
		{"kinds are spelled", `[{"name":"x","kind":"basename"},{"name":"y","kind":"segment-run"}]`, []Row{{"x", Basename}, {"y", SegmentRun}}},
		{"bg/C65 a row twice is one row", `[".git",".git"]`, []Row{{".git", Segment}}},
		{"another kind is another row", `[".git",{"name":".git","kind":"basename"}]`, []Row{{".git", Segment}, {".git", Basename}}},
		{"~ inside is a name", `["a/~/b","~x"]`, []Row{{"a/~/b", SegmentRun}, {"~x", Segment}}},
		{"none", `[]`, []Row{}},
	} {
		s, err := ParseSeat([]byte(c.text))
		if err != nil || !s.Set {
			t.Errorf("%s: %v, %v", c.name, s, err)
		}
		if got, err := Resolve(s); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v, want %v", c.name, got, err, c.want)
		}
	}
	rows, err := Resolve(Seat{})
	if err != nil || len(rows) != 47 {
		t.Errorf("the default table has %d rows, %v, want 47", len(rows), err)
	}
	var own Seat // additions are written after a copy of the default table
	own.Set = true
	for _, r := range rows {
		own.Entries = append(own.Entries, Entry{r.Name, r.Kind.String()})
	}
	if got, err := Resolve(own); err != nil || !slices.Equal(got, rows) {
		t.Errorf("a copy of the default table is %v, %v", got, err)
	}
}

func FuzzSeat(f *testing.F) {
	for _, s := range []string{
		`[]`, `null`, `[".git","a/b",{"name":"x","kind":"basename"}]`, `["~/x"]`, `["\u200c"]`, `[{"name":"a/b","kind":"segment"}]`, `[5]`, `["a/../b"]`,
	} {
		f.Add([]byte(s), "a/b/.git/c")
	}
	f.Fuzz(func(t *testing.T, text []byte, path string) {
		s, err := ParseSeat(text)
		if err != nil {
			if len(s.Entries) > 0 && s.Set {
				if _, again := Resolve(s); again == nil {
					t.Fatalf("%q: refused, and its entries resolve", text)
				}
			}
			return
		}
		j, mounted, err := Compile(s, Options{})
		if err != nil || mounted != (len(s.Entries) > 0) {
			t.Fatalf("%q: %v, %v", text, mounted, err)
		}
		if !mounted {
			return
		}
		for _, r := range j.Rows() { // a row meets the path that is its own name
			if _, ok := j.Match(r.Name, "/w"); !ok {
				t.Fatalf("%q: %+v does not meet itself", text, r)
			}
		}
		_, _ = j.Match(path, "/w/p")
	})
}
