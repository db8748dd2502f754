package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"brainbox/bridge/bridgetest"
)

// Standard output carries messages and nothing else, whatever comes in.
func TestOutputIsMCPOnly(t *testing.T) {
	host := bridgetest.Start(t, &bridgetest.Host{Tools: append(offered, "odd:name/x"), Call: answers})
	cmd := command(t, host.Socket)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":3,"method":"nope"}
{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"odd:name/x","arguments":{}}}
`); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var m struct {
			JSONRPC string          `json:"jsonrpc"`
			ID      json.RawMessage `json:"id"`
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil || m.JSONRPC != "2.0" {
			t.Fatalf("%v: %q", err, lines.Bytes())
		}
		if seen[string(m.ID)] = true; len(seen) == 4 {
			break
		}
	}
	if len(seen) != 4 {
		t.Errorf("answers to %v", seen)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(out); err != nil || len(rest) > 0 {
		t.Errorf("after the end of the input: %q, %v", rest, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the end of the input: %v", err)
	}
}

// With a real bridge: a write leaves the very content, a denied one nothing; a command that
// is allowed runs in this process's sandbox, one that is denied nowhere.
func TestRealBridge(t *testing.T) {
	r := bridgetest.StartReal(t, `{"*":"allow","external_directory":"allow","write":{"*":"allow","*secret*":"deny"},"bash":{"*":"deny","echo *":"allow","sleep *":"allow"}}`)
	s := connect(t, command(t, r.Agent), nil)
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"read_file", "write_file", "edit_file", "bash"} {
		if !slices.ContainsFunc(list.Tools, func(tool *mcp.Tool) bool { return tool.Name == name && len(tool.Description) > 20 }) {
			t.Errorf("%s is not offered", name)
		}
	}
	if slices.ContainsFunc(list.Tools, func(tool *mcp.Tool) bool { return tool.Name == "fs.write" }) {
		t.Error("fs.write is offered to a model")
	}
	for _, test := range []struct {
		tool, args, want string
		fails            bool
	}{
		{"write_file", `{"path":"a/secret","content":"x","base":null}`, `"status":"denied"`, true},
		{"write_file", `{"path":"a/b","content":"one\ntwo\n","base":null}`, `"created":true`, false},
		{"write_file", `{"path":"a/b","content":"x","base":null}`, `"status":"failed"`, true},
		{"read_file", `{"path":"a/b"}`, `one\ntwo\n`, false},
		{"grep", `{"pattern":"("}`, `"status":"failed"`, true},
		{"bash", `{"command":"echo hello $((40+2))"}`, `{"stream":"stdout","text":"hello 42\n"}`, false},
		{"bash", `{"command":"touch ` + r.Dir + `/made"}`, `"status":"denied"`, true},
		{"bash", `{"command":"echo \u0000"}`, `"error"`, true},
	} {
		got, fails := ask(t, s, test.tool, json.RawMessage(test.args))
		if fails != test.fails || !strings.Contains(got, test.want) {
			t.Errorf("%s %s: error %v, %s", test.tool, test.args, fails, got)
		}
	}
	files, err := os.ReadDir(r.Dir)
	if err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	long := fmt.Sprintf("sleep 61.%d", os.Getpid()) // no other test's
	runs := func() bool {
		return exec.CommandContext(t.Context(), "pgrep", "-f", "^"+long+"$").Run() == nil
	}
	go func() {
		defer cancel()
		soon(runs)
	}()
	if _, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "bash", Arguments: map[string]any{"command": long}}); err == nil {
		t.Error("a command that was given up has a result")
	}
	if !soon(func() bool { return !runs() }) {
		t.Error("the command still runs")
	}
}

// soon reports whether something comes true.
func soon(so func() bool) bool {
	for end := time.Now().Add(30 * time.Second); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}
