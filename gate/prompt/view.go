package prompt

import (
	"cmp"
	"encoding/hex"
	"slices"
	"strconv"
	"time"

	"brainbox/gate/event"
	"brainbox/gate/show"
)

// Row is one fact as it is shown: made by package show, with nothing raw in it.
type Row struct {
	Name  string
	Text  string // at most [show.FieldMost] characters, head and tail
	Whole string // all of it
	Agent bool   // the sandbox wrote it
}

// View is what a user interface gets of a prompt. Its texts are shown as they are.
type View struct {
	ID       string
	Digest   Digest // an answer must carry it
	Session  string
	Agent    string
	Source   Source
	Rows     []Row
	Warnings []string  // what is doubtful about names and values
	Grant    string    // what an answer for longer than once covers; empty: only once
	Input    []byte    // to be edited: raw JSON; nil: an edit is not accepted
	Deadline time.Time // with a monotonic reading
	Refused  int       // requests that were refused without being shown since the last prompt

	message string // the agent's words, raw: Lines alone shows them, line by line
}

// facts lists a snapshot's rows, raw, in the order in which a person needs them.
func facts(f *Facts) []event.Fact {
	var out []event.Fact
	add := func(name, text string, agent bool) {
		if text != "" {
			out = append(out, event.Fact{Name: name, Text: text, Agent: agent})
		}
	}
	add("agent", f.Agent, false)
	add("tool", f.Tool, false)
	add(cmp.Or(f.Surface, "value"), f.Value, f.Source == RPCPrompt)
	for _, r := range f.Reasons {
		add("reason", reason(r), false)
	}
	add("in", f.Cwd, false)
	for _, e := range f.Env {
		add("sets", e, false)
	}
	for _, p := range f.Programs {
		add("runs", p, false)
	}
	for _, h := range f.Hosts {
		add("host", h, false)
	}
	for _, t := range f.Targets {
		path := t.Path
		if t.Canonical != "" && t.Canonical != t.Path {
			path += " -> " + t.Canonical
		}
		add(t.Access, path, false)
	}
	if f.Content != nil {
		add("content", strconv.FormatInt(f.Size, 10)+" bytes, sha256 "+hex.EncodeToString(f.Content), false)
	}
	if f.Earlier > 0 {
		add("not shown", "the first "+strconv.FormatInt(f.Earlier, 10)+" bytes of the content, which came in pieces before this one", false)
	}
	add("input", string(f.Input), false)
	add("effect", hex.EncodeToString(f.Effect), false)
	add("for longer", f.Grant, false)
	add("label", f.Label, true)
	add("message", f.Message, true)
	return out
}

func reason(r Reason) string {
	s := r.Surface
	for _, part := range []struct{ before, text string }{{": ", r.Pattern}, {" from ", r.Origin}, {": ", r.Text}} {
		if part.text != "" {
			s += part.before + part.text
		}
	}
	return s
}

// view shows a snapshot.
func view(id string, f *Facts, d Digest, deadline time.Time) View {
	v := View{
		ID: id, Digest: d, Session: show.Field(f.Session), Agent: show.Field(f.Agent), Source: f.Source,
		Grant: show.Field(f.Grant), Deadline: deadline, message: f.Message,
	}
	if f.Editable {
		v.Input = slices.Clone(f.Input)
		if v.Input == nil {
			v.Input = []byte("{}")
		}
	}
	for _, x := range facts(f) {
		row := Row{Name: show.Short(x.Name, 64), Text: show.Field(x.Text), Whole: show.Whole(x.Text), Agent: x.Agent}
		if x.Name == "tool" || x.Name == "runs" || x.Name == "host" {
			name := show.Name(x.Text)
			row.Text, row.Whole = name.Text, name.Whole
		}
		v.Rows = append(v.Rows, row)
	}
	v.Warnings = warnings(f)
	return v
}

// mostWarnings is how many warnings are listed; that there are more is one too.
const mostWarnings = 16

// warnings names what a person would not see, each once.
func warnings(f *Facts) []string {
	var out []string
	add := func(what string, all []string) {
		for _, w := range all {
			if w = what + ": " + w; !slices.Contains(out, w) && len(out) <= mostWarnings {
				out = append(out, w)
			}
		}
	}
	name := func(what, s string) {
		if n := show.Name(s); len(n.Warnings) > 0 {
			add(what+n.Text, n.Warnings)
		}
	}
	add("tool", show.Name(f.Tool).Warnings)
	add(show.Short(f.Surface, 64), show.Doubts(f.Value))
	for _, p := range f.Programs {
		name("program ", p)
	}
	for _, h := range f.Hosts {
		name("host ", h)
	}
	for _, t := range f.Targets {
		add("path", show.Doubts(t.Path))
		add("path", show.Doubts(t.Canonical))
	}
	add("in", show.Doubts(f.Cwd))
	for _, e := range f.Env {
		add("sets", show.Doubts(e))
	}
	add("input", show.Doubts(string(f.Input)))
	if len(out) > mostWarnings {
		out[mostWarnings] = "there is more that is doubtful than is listed here"
	}
	return out
}

// Marks of the rows of [View.Lines]. They are as long as [show.AgentMark].
const (
	mark     = "  ask| "
	warnMark = " warn| "
)

// Lines renders a view for a window of so many columns: each row begins with a mark, and
// what the sandbox wrote has its own. With whole nothing is folded by length but the
// agent's message, which changes nothing.
func (v View) Lines(columns int, whole bool) []string {
	var out []string
	if v.Refused > 0 {
		out = append(out, show.Rows(warnMark, strconv.Itoa(v.Refused)+" requests were refused without asking", columns)...)
	}
	if v.Source == RPCPrompt {
		out = append(out, show.Rows(mark, "a program in the sandbox asks for advice; the answer permits nothing by itself", columns)...)
	}
	for _, r := range v.fold(whole) {
		text := r.Text
		if whole {
			text = r.Whole
		}
		switch {
		case r.Agent && r.Name == "message":
			out = append(out, show.Rows(mark, "the agent says:", columns)...)
			if v.message == "" { // a view of another process's: only what is shown came along
				out = append(out, show.Rows(show.AgentMark, text, columns)...)
				break
			}
			out = append(out, show.Agent(v.message, columns)...)
		case r.Agent:
			out = append(out, show.Rows(show.AgentMark, r.Name+"  "+text, columns)...)
		default:
			out = append(out, show.Rows(mark, r.Name+"  "+text, columns)...)
		}
	}
	for _, w := range v.Warnings {
		out = append(out, show.Rows(warnMark, w, columns)...)
	}
	return out
}

// Folded reports whether [View.Lines] leaves something out that an approval would be for.
// What must be opened to be seen must be opened before it can be approved.
func (v View) Folded() bool {
	return len(v.fold(false)) != len(v.Rows) || slices.ContainsFunc(v.Rows, func(r Row) bool { return !r.Agent && r.Text != r.Whole })
}

// fold keeps the first and the last rows of a long list, and of all of them, and says how
// many it leaves out: lists of which no two neighbours have one name are lists too.
func (v View) fold(whole bool) []Row {
	const most, mostRows = 16, 64
	if whole {
		return v.Rows
	}
	var out []Row
	for i := 0; i < len(v.Rows); {
		n := 1
		for i+n < len(v.Rows) && v.Rows[i+n].Name == v.Rows[i].Name {
			n++
		}
		out = append(out, ends(v.Rows[i:i+n], most, v.Rows[i].Name)...)
		i += n
	}
	return ends(out, mostRows, "facts")
}

// ends keeps the head and the tail of more than most rows: two thirds, and a third.
func ends(rows []Row, most int, name string) []Row {
	if len(rows) <= most {
		return rows
	}
	head := most * 2 / 3
	tail := most - head - 1
	out := append(slices.Clone(rows[:head]), Row{Name: name, Text: `\{` + strconv.Itoa(len(rows)-head-tail) + ` more rows}`})
	return append(out, rows[len(rows)-tail:]...)
}
