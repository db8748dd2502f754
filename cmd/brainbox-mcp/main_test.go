package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"brainbox/bridge/bridgetest"
	"brainbox/bridge/client"
	"brainbox/bridge/envelope"
	"brainbox/bridge/wire"
	"brainbox/internal/strictjson"
)

// asCommand makes this test binary the command.
const asCommand = "BRAINBOX_MCP_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

// command is brainbox-mcp in a process of its own, which knows nothing of ours.
func command(t *testing.T, socket string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0], args...) // the end of a session is the test's end
	cmd.Env = []string{asCommand + "=1", "PATH=" + os.Getenv("PATH")}
	if socket != "" {
		cmd.Env = append(cmd.Env, client.EnvSocket+"="+socket)
	}
	return cmd
}

// connect drives the command by the SDK's own client.
func connect(t *testing.T, cmd *exec.Cmd, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	var errs bytes.Buffer
	cmd.Stderr = &errs
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	s, err := c.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if errs.Len() > 0 {
			t.Errorf("on standard error: %s", errs.String())
		}
	})
	return s
}

// ask calls a tool and returns its one text.
func ask(t *testing.T, s *mcp.ClientSession, tool string, args any) (string, bool) {
	t.Helper()
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Content) != 1 {
		t.Fatalf("%d contents", len(res.Content))
	}
	return res.Content[0].(*mcp.TextContent).Text, res.IsError
}

// answers is a host whose tools say what became of a call.
func answers(_ context.Context, r *envelope.Request) *envelope.Result {
	text := strictjson.Text("it is\nso")
	switch r.Tool {
	case "read_file":
		return r.Succeed(&r.Input)
	case "jobs.show":
		return r.Succeed(&text)
	case "mkdir":
		return r.Succeed(nil)
	case "late":
		return r.Fail(envelope.Timeout, envelope.CodePromptTimeout, "nobody answered")
	}
	return r.Fail(envelope.Denied, envelope.CodePermissionDenied, "not \x1b[31mallowed")
}

var offered = []string{"read_file", "jobs.show", "mkdir", "write_file", "late"}

func TestListAndCall(t *testing.T) {
	host := bridgetest.Start(t, &bridgetest.Host{Tools: offered, Call: answers, Roots: []wire.Root{{Name: "repo", Path: "/w"}}})
	s := connect(t, command(t, host.Socket, "--protocol=1"), nil)
	if got := s.InitializeResult().Instructions; !strings.Contains(got, `"repo" is "/w"`) {
		t.Errorf("the instructions name no root: %s", got)
	}
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		schema, err := json.Marshal(tool.InputSchema)
		if err != nil {
			t.Fatal(err)
		}
		if ours := tool.Name != "jobs.show" && tool.Name != "late"; ours != strings.Contains(string(schema), `"additionalProperties":false`) {
			t.Errorf("%s takes %s", tool.Name, schema)
		}
	}
	want := slices.Sorted(slices.Values(offered))
	slices.Sort(names)
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	for _, test := range []struct {
		tool, want string
		fails      bool
	}{
		{"read_file", `{"n":1.10,"path":"a\u0000b"}`, false}, // a number keeps its text
		{"jobs.show", "it is\nso", false},
		{"mkdir", "{}", false},
		{"write_file", `{"status":"denied","error":{"code":"permission_denied","message":"not \u001b[31mallowed","retryable":false}}`, true},
		{"late", `{"status":"timeout","error":{"code":"prompt_timeout","message":"nobody answered","retryable":false}}`, true},
	} {
		got, fails := ask(t, s, test.tool, json.RawMessage(`{"n":1.10,"path":"a\u0000b"}`))
		if got != test.want || fails != test.fails {
			t.Errorf("%s: %s, error %v", test.tool, got, fails)
		}
	}
	if n := len(host.Calls()); n != 5 {
		t.Errorf("the host saw %d calls", n)
	}
	if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "bash"}); err == nil {
		t.Error("a tool that is not offered was called")
	}
	if n := len(host.Calls()); n != 5 {
		t.Errorf("the host saw %d calls, one of a tool that is not offered", n)
	}
}

// What two readers could understand in two ways is not forwarded.
func TestArgumentsAreStrict(t *testing.T) {
	host := bridgetest.Start(t, &bridgetest.Host{Tools: offered, Call: answers})
	s := connect(t, command(t, host.Socket), nil)
	for _, args := range []string{`{"path":"a","path":"b"}`, `{"__proto__":1}`} {
		got, fails := ask(t, s, "read_file", json.RawMessage(args))
		if !fails || !strings.Contains(got, `"code":"invalid_request"`) {
			t.Errorf("%s: %s, error %v", args, got, fails)
		}
	}
	if n := len(host.Calls()); n != 0 {
		t.Errorf("the host saw %d calls", n)
	}
	if got, fails := ask(t, s, "read_file", nil); fails || got != "{}" {
		t.Errorf("no arguments: %s, %v", got, fails)
	}
}

// A client that cancels a call ends it at the host.
func TestCancel(t *testing.T) {
	began, ended := make(chan bool, 1), make(chan bool, 1)
	host := bridgetest.Start(t, &bridgetest.Host{Tools: offered, Call: func(ctx context.Context, r *envelope.Request) *envelope.Result {
		if r.Tool == "mkdir" {
			return r.Succeed(nil)
		}
		began <- true
		<-ctx.Done()
		ended <- true
		return nil
	}})
	s := connect(t, command(t, host.Socket), nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-began; cancel() }()
	if _, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "read_file"}); !errors.Is(err, context.Canceled) {
		t.Errorf("the call that was cancelled: %v", err)
	}
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Fatal("the host was not told")
	}
	if got, fails := ask(t, s, "mkdir", nil); fails {
		t.Errorf("the next call: %s", got)
	}
}

// Calls overlap: each of these is answered only when all of them have come.
func TestConcurrent(t *testing.T) {
	const n = 8
	var all sync.WaitGroup
	all.Add(n)
	host := bridgetest.Start(t, &bridgetest.Host{Tools: offered, Call: func(_ context.Context, r *envelope.Request) *envelope.Result {
		all.Done()
		all.Wait()
		return r.Succeed(&r.Input)
	}})
	s := connect(t, command(t, host.Socket), nil)
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() {
			want := fmt.Sprintf(`{"path":"%d"}`, i)
			res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "read_file", Arguments: json.RawMessage(want)})
			if err != nil || res.IsError || res.Content[0].(*mcp.TextContent).Text != want {
				t.Errorf("%d: %+v, %v", i, res, err)
			}
		})
	}
	calls.Wait()
}

// A host that ends leaves a server that says so.
func TestHostEnds(t *testing.T) {
	host := bridgetest.Start(t, &bridgetest.Host{Tools: offered, Call: answers})
	s := connect(t, command(t, host.Socket), nil)
	if got, fails := ask(t, s, "mkdir", nil); fails {
		t.Fatal(got)
	}
	host.Stop()
	time.Sleep(50 * time.Millisecond)
	if got, fails := ask(t, s, "mkdir", nil); !fails || !strings.Contains(got, envelope.CodeShuttingDown) {
		t.Errorf("%s, error %v", got, fails)
	}
}

// Without a bridge nothing is served, and standard output stays empty.
func TestNoBridge(t *testing.T) {
	for _, test := range []struct {
		socket string
		args   []string
		says   string
		hint   bool
	}{
		{"", nil, "no bridge", true},
		{"/nonexistent/agent.sock", nil, "/nonexistent/agent.sock", false},
		{"", []string{"--protocol=2"}, "takes only --protocol=1", false},
		{"", []string{"x\x1b[31m"}, `x\x1b[31m`, false},
	} {
		cmd := command(t, test.socket, test.args...)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		var ee *exec.ExitError
		if !errors.As(err, &ee) || ee.ExitCode() != 125 || out.Len() > 0 || !strings.Contains(errs.String(), test.says) || strings.ContainsRune(errs.String(), 0x1b) {
			t.Errorf("%q: %v, %q, %q", test.args, err, out.String(), errs.String())
		}
		if got := strings.Contains(errs.String(), "brainbox run --bridge FILE"); got != test.hint {
			t.Errorf("%q: hint %v: %q", test.args, got, errs.String())
		}
	}
	for _, args := range [][]string{{"--help"}, {"--version"}} {
		if out, err := command(t, "", args...).CombinedOutput(); err != nil || !strings.Contains(string(out), "brainbox-mcp") {
			t.Errorf("%q: %v, %s", args, err, out)
		}
	}
}
