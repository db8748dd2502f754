package explain

import "brainbox/internal/strictjson"

// JSON gives the report as status lines: one with all that it suggests, then one for each
// denial and each limit.
func (r *Report) JSON() []strictjson.Value {
	tally := r.Tally()
	list, suggestions := r.ranked()
	limits := r.Limits()
	out := make([]strictjson.Value, 0, 1+len(list)+len(limits))
	out = append(out, tallyJSON(&tally, suggestions))
	for i := range list {
		out = append(out, list[i].json())
	}
	for i := range limits {
		out = append(out, strictjson.Object(
			strictjson.Pair("event", strictjson.Text("limit")),
			strictjson.Pair("clause", strictjson.Text(limits[i].Name)),
			strictjson.Pair("message", strictjson.Text(limits[i].Text)),
			strictjson.Pair("certainty", strictjson.Text(limits[i].Certainty.String())),
			strictjson.Pair("remedy", remedyJSON(limits[i].Flag, limits[i].Line, "")),
		))
	}
	return out
}

func tallyJSON(t *Tally, suggestions []Suggestion) strictjson.Value {
	items := make([]strictjson.Value, 0, len(suggestions))
	for i := range suggestions {
		s := &suggestions[i]
		items = append(items, strictjson.Object(
			strictjson.Pair("flag", strictjson.Text(s.Flag)),
			strictjson.Pair("line", strictjson.Text(s.Line)),
			strictjson.Pair("note", strictjson.Text(s.Note)),
			strictjson.Pair("secret", strictjson.Text(s.Secret)),
			strictjson.Pair("risk", strictjson.Text(s.Risk)),
			strictjson.Pair("operations", strictjson.Int(int64(s.Operations))),
			strictjson.Pair("certainty", strictjson.Text(s.Certainty.String())),
		))
	}
	return strictjson.Object(
		strictjson.Pair("event", strictjson.Text("explained")),
		strictjson.Pair("operations", strictjson.Int(int64(t.Operations))),
		strictjson.Pair("proven", strictjson.Int(int64(t.Proven))),
		strictjson.Pair("likely", strictjson.Int(int64(t.Likely))),
		strictjson.Pair("unknown", strictjson.Int(int64(t.Unknown))),
		strictjson.Pair("not_kept", strictjson.Int(t.Unkept)),
		strictjson.Pair("undecided", strictjson.Int(t.Undecided)),
		strictjson.Pair("suggestions", strictjson.Array(items...)),
	)
}

func (d *Denial) json() strictjson.Value {
	j := &d.Judgement
	port, entry, call := strictjson.Null(), "", d.Call
	if d.Port != 0 {
		port = strictjson.Int(int64(d.Port))
	}
	if j.Entry != nil {
		entry = j.Entry.Value
	}
	if call == "" {
		call = d.Operation.Call
	}
	return strictjson.Object(
		strictjson.Pair("event", strictjson.Text("denied")),
		strictjson.Pair("operation", strictjson.Text(d.Word())),
		strictjson.Pair("call", strictjson.Text(call)),
		strictjson.Pair("path", strictjson.Text(d.Path)),
		strictjson.Pair("dest", strictjson.Text(d.Dest)),
		strictjson.Pair("host", strictjson.Text(d.Host)),
		strictjson.Pair("port", port),
		strictjson.Pair("right", strictjson.Text(j.Right)),
		strictjson.Pair("place", strictjson.Text(j.Place)),
		strictjson.Pair("errno", strictjson.Text(errnoName(j.Errno))),
		strictjson.Pair("clause", strictjson.Text(j.Clause)),
		strictjson.Pair("entry", strictjson.Text(entry)),
		strictjson.Pair("reason", strictjson.Text(j.Reason)),
		strictjson.Pair("certainty", strictjson.Text(d.Certainty.String())),
		strictjson.Pair("count", strictjson.Int(d.Count)),
		strictjson.Pair("program", strictjson.Text(d.Program)),
		strictjson.Pair("pid", strictjson.Int(int64(d.PID))),
		strictjson.Pair("remedy", remedyJSON(j.Remedy.Flag, j.Remedy.Line, j.Remedy.Note)),
	)
}

func remedyJSON(flag, line, note string) strictjson.Value {
	return strictjson.Object(
		strictjson.Pair("flag", strictjson.Text(flag)), strictjson.Pair("line", strictjson.Text(line)),
		strictjson.Pair("note", strictjson.Text(note)))
}
