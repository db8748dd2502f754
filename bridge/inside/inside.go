package inside

import (
	"context"
	"os"
	"strconv"
	"strings"
	"time"

	"brainbox/bridge/client"
	"brainbox/bridge/envelope"
	"brainbox/bridge/run"
	"brainbox/internal/strictjson"
)

// Tool is the only tool whose calls may end here.
const Tool = "bash"

// Finish runs the command of a call that the host has left to its caller, and returns the
// result with its output; any other result as it is. The error is the context's, when it
// ended before the command was started.
func Finish(ctx context.Context, res *envelope.Result) (*envelope.Result, error) {
	command, limit, ok := left(res)
	if !ok {
		return res, nil
	}
	c := run.Command{Argv: run.Bash(command), Env: environ(os.Environ())}
	got, err := run.Run(ctx, c, run.Limits{Time: limit})
	out := *res
	switch {
	case ctx.Err() != nil && err != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		out.Status, out.Output = envelope.Unavailable, nil
		out.Err = &envelope.Error{Code: envelope.CodeCommandStartFailed, Message: envelope.ClipMessage("the command was not started: " + strictjson.Escape(err.Error()))}
		return &out, nil
	}
	v := got.Value()
	out.Output = &v
	return &out, nil
}

// left reads the answer that leaves a command to the caller.
func left(res *envelope.Result) (command string, limit time.Duration, ok bool) {
	if res.Tool != Tool || res.Status != envelope.Succeeded || res.Output == nil || res.Output.Kind != strictjson.KindObject {
		return "", 0, false
	}
	place, text, ms := res.Output.Get("place"), res.Output.Get("command"), res.Output.Get("timeout_ms")
	if place == nil || place.Text != "sandbox" || text == nil || text.Kind != strictjson.KindString || strings.IndexByte(text.Text, 0) >= 0 || ms == nil {
		return "", 0, false
	}
	n, err := strconv.ParseInt(ms.Text, 10, 32)
	if err != nil || n < 1 {
		return "", 0, false
	}
	return text.Text, time.Duration(n) * time.Millisecond, true
}

// environ is the environment of a command: the inherited bridge is this program's.
func environ(all []string) []string {
	out := make([]string, 0, len(all))
	for _, kv := range all {
		if !strings.HasPrefix(kv, client.EnvFD+"=") {
			out = append(out, kv)
		}
	}
	return out
}
