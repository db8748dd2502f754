package run

import (
	"encoding/base64"
	"unicode/utf8"

	"brainbox/internal/strictjson"
)

// Value is the result as a caller is told it. It is at most six times as long as the
// output that was kept, and a little more for each change of the stream.
func (r *Result) Value() strictjson.Value {
	chunks := make([]strictjson.Value, len(r.Output))
	for i, c := range r.Output {
		key, text := "text", string(c.Data)
		if !utf8.Valid(c.Data) {
			key, text = "data", base64.StdEncoding.EncodeToString(c.Data)
		}
		chunks[i] = strictjson.Object(
			strictjson.Pair("stream", strictjson.Text(c.Stream.String())), strictjson.Pair(key, strictjson.Text(text)),
		)
	}
	return strictjson.Object(
		strictjson.Pair("exit", strictjson.Int(int64(r.Exit))), strictjson.Pair("signal", strictjson.Text(r.Signal)),
		strictjson.Pair("cause", strictjson.Text(string(r.Cause))), strictjson.Pair("output", strictjson.Array(chunks...)),
		strictjson.Pair("dropped", strictjson.Int(r.Dropped)), strictjson.Pair("truncated", strictjson.Bool(r.Truncated)),
		strictjson.Pair("held", strictjson.Bool(r.Held)),
	)
}
