package prompt

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// whole has something in every field.
func whole() Facts {
	return Facts{
		Session: "s1", Agent: "planner", Source: ToolCall, Surface: "bash", Tool: "bash", Value: "sh ./x.sh",
		Reasons: []Reason{{Surface: "bash", Pattern: "sh *", Origin: "project", Text: "scripts"}},
		Cwd:     "/w/a", Env: []string{"PATH=/tmp"}, Programs: []string{"sh"}, Hosts: []string{"example.com"},
		Targets: []Target{{Path: "x.sh", Canonical: "/w/a/x.sh", Access: "read"}},
		Input:   []byte(`{"command":"sh ./x.sh"}`), Content: []byte("sum"), Size: 7, Effect: []byte("effect"),
		Message: "please", Label: "all scripts", Grant: "sh *", Editable: true,
	}
}

// change gives the field another value.
func change(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "'")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes(append(slices.Clone(v.Bytes()), 'x'))
			return
		}
		v.Set(reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, 2), v))
		change(t, v.Index(0))
	case reflect.Struct:
		for i := range v.NumField() {
			change(t, v.Field(i))
		}
	default:
		t.Fatalf("a field of kind %v", v.Kind())
	}
}

// TestDigestBindsEveryField is esc/GT-16 (and GT-15, by Content, Input and Effect): what was approved for
// one directory, environment, agent or content is not approved for another.
func TestDigestBindsEveryField(t *testing.T) {
	base := whole()
	want := base.Digest()
	if same := whole(); same.Digest() != want {
		t.Fatal("equal facts have different digests")
	}
	typ := reflect.TypeFor[Facts]()
	for i := range typ.NumField() {
		other := whole()
		change(t, reflect.ValueOf(&other).Elem().Field(i))
		if other.Digest() == want {
			t.Errorf("%s is not bound", typ.Field(i).Name)
		}
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[Reason](), reflect.TypeFor[Target]()} {
		for i := range typ.NumField() {
			other := whole()
			item := reflect.ValueOf(&other.Reasons[0]).Elem()
			if typ.Name() == "Target" {
				item = reflect.ValueOf(&other.Targets[0]).Elem()
			}
			change(t, item.Field(i))
			if other.Digest() == want {
				t.Errorf("%s.%s is not bound", typ.Name(), typ.Field(i).Name)
			}
		}
	}
}

// TestDigestSeesBoundaries: text that moves from one field or item to the next is other text.
func TestDigestSeesBoundaries(t *testing.T) {
	seen := map[Digest]int{}
	for i, f := range []Facts{
		{Session: "ab", Agent: "c"},
		{Session: "a", Agent: "bc"},
		{Env: []string{"a", "b"}},
		{Env: []string{"ab"}},
		{Env: []string{"a"}, Programs: []string{"b"}},
		{Programs: []string{"a", "b"}},
		{Reasons: []Reason{{Surface: "a", Pattern: "b"}}},
		{Reasons: []Reason{{Surface: "a"}, {Surface: "b"}}},
		{Targets: []Target{{Path: "a"}, {Path: "b"}}},
		{Message: "1", Label: ""},
		{Message: "", Label: "1"},
	} {
		if other, twice := seen[f.Digest()]; twice {
			t.Errorf("%d and %d have the same digest", i, other)
		}
		seen[f.Digest()] = i
	}
}

func TestSnapshotIsACopy(t *testing.T) {
	f := whole()
	c := f.clone()
	want := c.Digest()
	f.Env[0], f.Reasons[0].Text, f.Targets[0].Path, f.Input[0], f.Content[0], f.Effect[0] = "X=1", "x", "y", '[', 'x', 'x'
	f.Programs[0], f.Hosts[0] = "rm", "evil"
	if c.Digest() != want {
		t.Error("the snapshot changed with the caller's facts")
	}
}

func TestParseDigest(t *testing.T) {
	f := whole()
	d := f.Digest()
	if got, err := ParseDigest(d.String()); err != nil || got != d {
		t.Errorf("ParseDigest = %v, %v", got, err)
	}
	for _, s := range []string{"", "ab", strings.ToUpper(d.String()), d.String() + "00", strings.Repeat("g", 64)} {
		if _, err := ParseDigest(s); err == nil {
			t.Errorf("%q is accepted", s)
		}
	}
}

// TestViewShowsEveryField: nothing that the digest binds is kept from the person.
func TestViewShowsEveryField(t *testing.T) {
	f := whole()
	got := strings.Join(view("perm-1", &f, f.Digest(), noon).Lines(100, false), "\n")
	want := `  ask| agent  planner
  ask| tool  bash
  ask| bash  sh ./x.sh
  ask| reason  bash: sh * from project: scripts
  ask| in  /w/a
  ask| sets  PATH=/tmp
  ask| runs  sh
  ask| host  example.com
  ask| read  x.sh -> /w/a/x.sh
  ask| content  7 bytes, sha256 73756d
  ask| input  {"command":"sh ./x.sh"}
  ask| effect  656666656374
  ask| for longer  sh *
agent| label  all scripts
  ask| the agent says:
agent| please`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	f.Earlier = 5 // the input has the rest
	got = strings.Join(view("perm-1", &f, f.Digest(), noon).Lines(100, false), "\n")
	if !strings.Contains(got, "ask| not shown  the first 5 bytes of the content") {
		t.Errorf("got:\n%s", got)
	}
}

// TestViewCannotBeForged is esc/GT-01, GT-02, GT-04, GT-05 and GT-06 on the way that a prompt
// takes to a person.
func TestViewCannotBeForged(t *testing.T) {
	f := Facts{
		Source: RPCPrompt, Surface: "bash", Tool: "b\u0430sh", Programs: []string{"g\u0456t"}, Hosts: []string{"xn--pple-43d.com"},
		Value:   "ls\x1b[2K\r" + strings.Repeat(" ", 4096) + "rm -rf ~ \u202e",
		Message: "ok\n  ask| approved by the operator\x1b[1A", Label: "x\ny",
	}
	for range 40 {
		f.Targets = append(f.Targets, Target{Path: "p\n", Access: "write"})
	}
	v := view("perm-1", &f, f.Digest(), noon)
	got := v.Lines(60, false)
	for _, line := range got {
		if strings.ContainsAny(line, "\x1b\r\n\u202e") {
			t.Errorf("raw: %q", line)
		}
		if !strings.HasPrefix(line, mark) && !strings.HasPrefix(line, warnMark) && !strings.HasPrefix(line, "agent| ") {
			t.Errorf("a row without its mark: %q", line)
		}
	}
	text := strings.Join(got, "\n")
	for _, want := range []string{
		"agent| bash  ls\\x1b[2K\\r \\{4096 times}rm -rf ~ \\u{202e}", "\nagent|   ask| approved by the operator\\x1b[1A",
		`tool  b\u{430}sh`, `runs  g\u{456}t`, ` warn| tool: not plain ASCII: \u{430} (Cyrillic)`, ` warn| host xn--pple-43d.com: `,
		`write  \{25 more rows}`, `agent| label  x\ny`, "permits nothing by itself",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
	if n := strings.Count(text, `write  p\n`); n != 15 {
		t.Errorf("%d targets are shown", n)
	}
	if n := strings.Count(strings.Join(v.Lines(60, true), "\n"), `write  p\n`); n != 40 {
		t.Errorf("%d targets are shown when opened", n)
	}
}

// TestWarnings: what may be read in another order than it is, is told of every row that the
// sandbox can write, and that the list of doubts is not whole, too.
func TestWarnings(t *testing.T) {
	for name, f := range map[string]Facts{
		"value": {Value: "rm א x"}, "target": {Targets: []Target{{Path: "א"}}}, "canonical": {Targets: []Target{{Path: "x", Canonical: "/א"}}},
		"cwd": {Cwd: "/א"}, "env": {Env: []string{"A=א"}}, "input": {Input: []byte(`{"a":"א"}`)},
	} {
		if got := strings.Join(warnings(&f), "|"); !strings.Contains(got, "right to left") {
			t.Errorf("%s: %q", name, got)
		}
	}
	f := Facts{Value: "rm א x"}
	for n := range 40 {
		f.Programs = append(f.Programs, "é"+strings.Repeat("x", n))
	}
	got := warnings(&f)
	if all := strings.Join(got, "|"); len(got) != mostWarnings+1 || !strings.Contains(all, "right to left") || !strings.Contains(all, "more that is doubtful") {
		t.Errorf("%d warnings: %q", len(got), got)
	}
	f = whole()
	if got := warnings(&f); len(got) != 0 {
		t.Errorf("control: %q", got)
	}
}

// TestManyRows: a list cannot push the command off the screen, whatever its rows are called.
func TestManyRows(t *testing.T) {
	f := Facts{Source: ToolCall, Surface: "bash", Value: "rm x", Effect: []byte("e")}
	for n := range 1000 {
		f.Targets = append(f.Targets, Target{Path: "x", Access: []string{"read", "write"}[n%2]})
	}
	v := view("perm-1", &f, f.Digest(), time.Time{})
	rows := v.Lines(80, false)
	all := strings.Join(rows, "\n")
	if len(rows) > 64 || !strings.HasPrefix(rows[0], "  ask| bash  rm x") || !strings.Contains(all, `ask| facts  \{939 more rows}`) {
		t.Errorf("%d rows:\n%s", len(rows), all)
	}
	if f = whole(); !v.Folded() || view("perm-1", &f, f.Digest(), time.Time{}).Folded() {
		t.Error("folded, or not")
	}
	if rows = v.Lines(80, true); len(rows) != 1002 {
		t.Errorf("opened: %d rows", len(rows))
	}
}
