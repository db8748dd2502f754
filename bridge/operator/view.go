package operator

import (
	"errors"
	"time"

	"brainbox/gate/prompt"
	"brainbox/internal/strictjson"
	"brainbox/internal/visible"
)

// ErrCut says that a prompt is too large for the socket: what cannot be seen is not to be
// approved. It can be denied.
var ErrCut = errors.New("operator: the prompt is too large to be shown here")

// View reads one prompt of prompt.list. Unknown members are ignored.
func View(v *strictjson.Value) (prompt.View, error) {
	f := strictjson.BindLenient(v)
	out := prompt.View{
		ID: f.String("requestId"), Session: visible.Line(optional(f, "sessionId")), Agent: visible.Line(optional(f, "agentName")),
		Source: prompt.Source(f.Enum("source", string(prompt.ToolCall), string(prompt.RPCPrompt), string(prompt.MediatedWrite))), Grant: visible.Line(optional(f, "grant")),
		Refused: int(f.Int("refused", 0, 1<<31)), Deadline: time.Now().Add(time.Duration(f.Int("leftMs", 0, 1<<40)) * time.Millisecond),
	}
	digest, err := prompt.ParseDigest(f.String("digest"))
	if err != nil {
		f.Invalid("digest", "64 lower-case hexadecimal digits expected")
	}
	out.Digest = digest
	for _, r := range f.Objects("rows", 1<<14, "name", "text", "agent", "whole") {
		row := prompt.Row{Name: visible.Line(r.String("name")), Text: visible.Line(r.String("text")), Agent: r.Bool("agent")}
		row.Whole = row.Text
		if r.Has("whole") {
			row.Whole = visible.Line(r.String("whole"))
		}
		out.Rows = append(out.Rows, row)
	}
	for _, w := range f.Strings("warnings", 1024) {
		out.Warnings = append(out.Warnings, visible.Line(w))
	}
	cut := f.Bool("cut")
	if err := f.Err(); err != nil {
		return prompt.View{ID: out.ID}, err
	}
	if len(out.Rows) == 0 { // nothing to decide by
		return prompt.View{ID: out.ID}, errors.New("operator: a prompt without facts")
	}
	if cut {
		return out, ErrCut
	}
	return out, nil
}

// optional is a string that may be absent or null.
func optional(f *strictjson.Fields, key string) string {
	if !f.Has(key) {
		return ""
	}
	if v := f.Any(key); v.Kind == strictjson.KindNull {
		return ""
	}
	return f.String(key)
}
