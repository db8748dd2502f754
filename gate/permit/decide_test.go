package permit

import (
	"encoding/json"
	"strings"
	"testing"

	"brainbox/gate/confirm"
)

// input parses what a test wrote.
func input(t testing.TB, text string) Input {
	t.Helper()
	in, err := ParseInput([]byte(text))
	if err != nil {
		t.Fatalf("ParseInput(%.80s): %v", text, err)
	}
	return in
}

// patterns compiles sources of the form "pattern" or "pattern=>effect".
func patterns(t testing.TB, sources ...string) confirm.Patterns {
	t.Helper()
	c := confirm.Config{None: len(sources) == 0}
	for _, s := range sources {
		pattern, effect, _ := strings.Cut(s, "=>")
		c.Confirm = append(c.Confirm, confirm.Source{Pattern: pattern, Effect: effect})
	}
	p, err := confirm.Compile(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const bareRm = `\brm\b`

func TestDecide(t *testing.T) {
	const (
		rm       = `{"command":"rm -rf notes"}`
		archived = `{"path":"a.md","status":"archived"}`
		mcp      = "mcp__brain__brain_update"
	)
	tool, none := Approval{Kind: Tool}, Approval{None: true}
	command := Approval{Kind: Command}
	shell := Rules{Allowed: []string{"bash"}, Shell: "bash", Patterns: patterns(t, bareRm)}
	off := Rules{Allowed: []string{"bash"}, Shell: "bash", Patterns: patterns(t)}
	update := Rules{Allowed: []string{"brain_update"}, Update: "brain_update"}
	deploy := func(sources ...string) Rules {
		return Rules{Allowed: []string{"bash"}, Shell: "bash", Patterns: patterns(t, sources...)}
	}
	for _, c := range []struct {
		id    string
		rules Rules
		tool  string
		input string
		want  Approval
		says  string
	}{
		{"bk/D1", shell, "ext", `{}`, tool, "ext"},
		{"bk/D2", shell, "bash", rm, command, someReason},
		{"bk/D3", Rules{Allowed: []string{"read_file"}, Shell: "bash", Patterns: patterns(t, bareRm)}, "read_file", `{}`, none, ""},
		{"bk/D4", Rules{Allowed: []string{"Bash"}, Shell: "bash", Patterns: patterns(t, bareRm)}, "Bash", rm, none, ""},
		{"bk/D5 blank", shell, "bash", `{"command":"   "}`, none, ""},
		{"bk/D5 a number", shell, "bash", `{"command":42}`, none, ""},
		{"bk/D5 absent", shell, "bash", `{}`, none, ""},
		{"bk/D5 null", shell, "bash", `null`, none, ""},
		{"bk/D5 a string", shell, "bash", `"rm -rf x"`, none, ""},
		{"bk/D5 a list", shell, "bash", `["rm -rf x"]`, none, ""},
		{"bk/D6", off, "bash", rm, none, ""},
		{"bk/D7", Rules{Shell: "bash", Patterns: patterns(t, bareRm)}, "bash", rm, tool, "bash"},
		{"bk/D8", update, "brain_update", archived, command, archiveReason},
		{"bk/D9 active", update, "brain_update", `{"status":"active"}`, none, ""},
		{"bk/D9 draft", update, "brain_update", `{"status":"draft"}`, none, ""},
		{"bk/D9 upper case", update, "brain_update", `{"status":"ARCHIVED"}`, none, ""},
		{"bk/D9 capital", update, "brain_update", `{"status":"Archived"}`, none, ""},
		{"bk/D9 a list", update, "brain_update", `{"status":["archived"]}`, none, ""},
		{"bk/D9 a blank", update, "brain_update", `{"status":" archived"}`, none, ""},
		{"bk/D9 another key", update, "brain_update", `{"statuses":"archived"}`, none, ""},
		{"bk/D9 in the text", update, "brain_update", `{"body":"status: archived"}`, none, ""},
		{"bk/D10", Rules{Allowed: []string{"brain_update"}}, "brain_update", archived, none, ""},
		{"bk/D11", Rules{Allowed: []string{"brain_update"}, Update: mcp}, "brain_update", archived, none, ""},
		{"bk/D12", Rules{Allowed: []string{mcp}, Update: mcp}, mcp, archived, command, archiveReason},
		{"bk/D13", Rules{Update: "brain_update"}, "brain_update", archived, tool, "brain_update"},
		{"bk/D14", Rules{Allowed: []string{"write_file"}, Update: "brain_update"}, "write_file", `{"content":"---\nstatus: archived\n---\n"}`, none, ""},
		{"bk/D16", deploy(`\bdeploy\b`, `prod=>touch production`), "bash", `{"command":"deploy prod"}`, command, someReason},
		{"bk/D17", deploy(`prod=>touch production`, `\bdeploy\b`), "bash", `{"command":"deploy prod"}`, command, "touch production"},
		{"bk/D18", shell, "", `{}`, tool, "name"},
		{"bk/D18 though it is on the list", Rules{Allowed: []string{""}}, "", `{}`, tool, "name"},
		{"no configuration is the table", Rules{Allowed: []string{"bash"}, Shell: "bash"}, "bash", rm, command, "directory"},
		{"nothing is allowed by nobody", Rules{}, "bash", `{}`, tool, "bash"},
		{"no shell, no command", Rules{Allowed: []string{"bash"}}, "bash", rm, none, ""},
	} {
		t.Run(c.id, func(t *testing.T) {
			in := input(t, c.input)
			got := c.rules.Decide(c.tool, in)
			if got.None != c.want.None || got.Kind != c.want.Kind || !strings.Contains(got.Reason, c.says) || (got.Reason == "") != got.None {
				t.Errorf("Decide(%q, %s) = %+v, want %+v with %q", c.tool, c.input, got, c.want, c.says)
			}
			if again := c.rules.Decide(c.tool, in); again != got {
				t.Errorf("bk/D15: the second answer is %+v, the first %+v", again, got)
			}
		})
	}
}

// The value that is decided on is the one that runs, or there is none.
func TestDuplicateKeys(t *testing.T) {
	for _, text := range []string{
		`{"status":"active","status":"archived"}`, `{"a":{"x":1,"x":2}}`, `{"command":"ls","comm\u0061nd":"rm -rf x"}`,
	} {
		t.Run("bk/D19 [D] "+text, func(t *testing.T) {
			if in, err := ParseInput([]byte(text)); err == nil {
				t.Errorf("ParseInput = %s", in.JSON())
			}
		})
	}
}

// bk/D20: the time is linear in the command, whatever it holds.
func TestHugeCommand(t *testing.T) {
	const size = 10 << 20
	rules := Rules{Allowed: []string{"bash"}, Shell: "bash", Patterns: patterns(t, `\brm\s+(-[a-zA-Z]*\s+)*-[a-zA-Z]*[rR]`)}
	text, err := json.Marshal(map[string]string{"command": "rm " + strings.Repeat("-f ", size/3)})
	if err != nil {
		t.Fatal(err)
	}
	text = append(text[:len(text)-2], `-r"}`...)
	if got := rules.Decide("bash", input(t, string(text))); got.None || got.Kind != Command {
		t.Errorf("Decide = %+v", got) // it is found at the very end
	}
}

func TestRequestForm(t *testing.T) {
	c := Call{ID: "u1", Tool: "bash", Input: input(t, `{"n":12345678901234567890}`), Description: "as given"}
	bare := c
	bare.Description = ""
	for _, q := range []struct {
		id   string
		got  Request
		want string
	}{
		{"bk/Q1", NewRequest(c, Approval{Reason: "another"}, false), `"description":"as given","kind":"tool"}`},
		{"bk/Q2", NewRequest(bare, Approval{Reason: "another"}, false), `,"kind":"tool"}`},
		{"bk/Q3", NewRequest(bare, Approval{}, false), `,"kind":"tool"}`},
		{"bk/Q4", NewRequest(bare, Approval{}, true), `,"kind":"tool","outsideEnforcedAllowlist":true}`},
		{"bk/Q5", NewRequest(bare, Approval{Kind: Command}, false), `,"kind":"command"}`},
	} {
		t.Run(q.id, func(t *testing.T) {
			want := `{"toolUseId":"u1","toolName":"bash","input":{"n":12345678901234567890}`
			if !strings.HasPrefix(q.want, ",") {
				want += ","
			}
			if got, err := json.Marshal(q.got); err != nil || string(got) != want+q.want {
				t.Errorf("%s, %v, want %s", got, err, want+q.want)
			}
		})
	}
}
