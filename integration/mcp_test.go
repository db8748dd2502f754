package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brainbox/bridge/bridgetest"
	"brainbox/internal/needs"
)

// inspector is the public MCP client that a person debugs servers with. It is installed
// from the configured npm registry, in a version that node 20 runs.
const inspector = "@modelcontextprotocol/inspector@0.17.2"

// inspect runs the inspector's command line against brainbox mcp, and returns its answer.
func inspect(t *testing.T, dir, socket string, args ...string) (map[string]any, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	argv := append([]string{"--cli", "-e", "BRAINBOX_SOCKET=" + socket, filepath.Join(bin, "brainbox"), "mcp"}, args...)
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "node_modules/.bin/mcp-inspector"), argv...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir)
	cmd.WaitDelay = 5 * time.Second
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Logf("%q: %s", args, errs.String())
		return nil, err
	}
	var v map[string]any
	if err := json.Unmarshal(out, &v); err != nil {
		t.Fatalf("%q: %v: %s", args, err, out)
	}
	return v, nil
}

// TestInspector has a client that we did not write, in another language, list and call the
// tools of a bridge.
func TestInspector(t *testing.T) {
	if testing.Short() {
		t.Skip("it installs a package")
	}
	dir := needs.NPM(t, inspector)
	r := bridgetest.StartReal(t, `{"*":"allow","external_directory":"allow","write":{"*":"allow","*secret*":"deny"},"bash":{"*":"deny","echo *":"allow"}}`)
	list, err := inspect(t, dir, r.Agent, "--method", "tools/list")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list["tools"].([]any) {
		names = append(names, tool.(map[string]any)["name"].(string))
	}
	for _, want := range []string{"bash", "edit_file", "read_file", "write_file"} {
		if !strings.Contains(" "+strings.Join(names, " ")+" ", " "+want+" ") {
			t.Errorf("%s is not in %q", want, names)
		}
	}
	for _, test := range []struct {
		args  []string
		want  string
		fails bool
	}{
		{[]string{"write_file", "path=secret", "content=x", "base=null"}, `"status":"denied"`, true},
		{[]string{"write_file", "path=d/f", "content=the text", "base=null"}, `"created":true`, false},
		{[]string{"read_file", "path=d/f"}, `the text`, false},
		{[]string{"bash", "command=echo hello"}, `hello\n`, false},
		{[]string{"bash", "command=touch made"}, `"status":"denied"`, true},
	} {
		args := []string{"--method", "tools/call", "--tool-name", test.args[0]}
		for _, a := range test.args[1:] {
			args = append(args, "--tool-arg", a)
		}
		res, err := inspect(t, dir, r.Agent, args...)
		if err != nil {
			t.Errorf("%q: %v", test.args, err)
			continue
		}
		text := res["content"].([]any)[0].(map[string]any)["text"].(string)
		if fails, _ := res["isError"].(bool); fails != test.fails || !strings.Contains(text, test.want) {
			t.Errorf("%q: error %v, %s", test.args, fails, text)
		}
	}
	if text, err := os.ReadFile(filepath.Join(r.Dir, "d/f")); err != nil || string(text) != "the text" {
		t.Errorf("the file is %q, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(r.Dir, "secret")); err == nil {
		t.Error("a denied write left a file")
	}
}
