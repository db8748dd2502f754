package main

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"brainbox/bridge/envelope"
	"brainbox/bridge/inside"
	"brainbox/bridge/spec"
	"brainbox/bridge/wire"
	"brainbox/internal/strictjson"
	"brainbox/internal/version"
)

// bridge is what a server forwards calls to.
type bridge interface {
	Call(ctx context.Context, tool string, input *strictjson.Value) (*envelope.Result, error)
}

// tell is how often a client that asked for it hears of a call that takes its time.
const tell = 5 * time.Second

func newServer(b bridge, tools []string, roots []wire.Root) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "brainbox", Title: "brainbox", Version: version.String()}, &mcp.ServerOptions{
		Instructions: instructions(roots),
		// Tools, and nothing else that there is not.
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	for _, name := range tools {
		if strings.HasPrefix(name, "fs.") {
			continue // write_file and the others are for a model; these are for programs
		}
		s.AddTool(describe(name), func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			defer progress(ctx, r)()
			return call(ctx, b, name, r.Params.Arguments)
		})
	}
	return s
}

func instructions(roots []wire.Root) string {
	var s strings.Builder
	s.WriteString("These tools are answered by the host of this sandbox, under its rules; a person may be asked. " +
		"What is denied stays denied: do not try it in another way.")
	for i, r := range roots {
		if i == 0 {
			s.WriteString(" Paths are relative to a root:")
		}
		s.WriteString(" " + strconv.Quote(r.Name) + " is " + strconv.Quote(r.Path) + ";")
	}
	return strings.TrimSuffix(s.String(), ";")
}

// describe has our words for our tools. What a tool of the host's takes is known to nobody
// here.
func describe(name string) *mcp.Tool {
	t := &mcp.Tool{Name: name, Description: "A tool of the host of this sandbox.", InputSchema: json.RawMessage(`{"type":"object"}`)}
	if s, ok := spec.Find(name); ok {
		t.Description, t.InputSchema = s.Description, json.RawMessage(s.Input)
	}
	return t
}

// progress tells the client that a call is still on its way, until the function that it
// returns was called.
func progress(ctx context.Context, r *mcp.CallToolRequest) (stop func()) {
	token := r.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticks := time.NewTicker(tell)
		defer ticks.Stop()
		for n := 1.0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-ticks.C:
				_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: n, Message: "waiting for the host"})
			}
		}
	}()
	return func() { cancel(); <-done }
}

// call forwards one call. Only a client that cancelled has an error of MCP.
func call(ctx context.Context, b bridge, name string, arguments []byte) (*mcp.CallToolResult, error) {
	if len(arguments) == 0 || string(arguments) == "null" {
		arguments = []byte("{}")
	}
	input, err := strictjson.Decode(arguments, strictjson.Limits{})
	if err != nil {
		return failed(envelope.Failed, "invalid_request", "the arguments: "+err.Error()), nil
	}
	res, err := b.Call(ctx, name, input)
	if err == nil {
		res, err = inside.Finish(ctx, res)
	}
	var told *wire.Error
	switch {
	case errors.As(err, &told):
		return failed(envelope.Failed, told.Code, told.Message), nil
	case err != nil && ctx.Err() != nil:
		return nil, err
	case err != nil:
		return failed(envelope.Failed, envelope.CodeInternalError, err.Error()), nil
	}
	return content(res), nil
}

// content is a result as one text.
func content(res *envelope.Result) *mcp.CallToolResult {
	if res.Status != envelope.Succeeded {
		v := strictjson.Object(strictjson.Pair("status", strictjson.Text(string(res.Status))))
		whole := res.Value()
		if e := whole.Get("error"); e != nil {
			v.Add("error", *e)
		}
		return &mcp.CallToolResult{Content: text(&v), IsError: true}
	}
	out := res.Output
	if out == nil {
		empty := strictjson.Object()
		out = &empty
	}
	return &mcp.CallToolResult{Content: text(out)}
}

// text is a value as JSON, and a text as itself: some tools answer in prose.
func text(v *strictjson.Value) []mcp.Content {
	if v.Kind == strictjson.KindString {
		return []mcp.Content{&mcp.TextContent{Text: v.Text}}
	}
	return []mcp.Content{&mcp.TextContent{Text: string(strictjson.Append(nil, v))}}
}

// failed is the result of a call that has none of the host.
func failed(status envelope.Status, code, message string) *mcp.CallToolResult {
	v := strictjson.Object(
		strictjson.Pair("status", strictjson.Text(string(status))),
		strictjson.Pair("error", strictjson.Object(
			strictjson.Pair("code", strictjson.Text(code)), strictjson.Pair("message", strictjson.Text(strictjson.Escape(message))),
			strictjson.Pair("retryable", strictjson.Bool(false)))))
	return &mcp.CallToolResult{Content: text(&v), IsError: true}
}
