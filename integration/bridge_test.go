package integration

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// bridgeWorld is a checkout whose program may call the host.
type bridgeWorld struct {
	dir     string // the checkout, and the root repo
	config  string // the envelope, the gate's file and the tool
	runtime string // XDG_RUNTIME_DIR
	state   string // XDG_STATE_HOME
	env     []string
}

// bridgeToken is what nobody inside may see.
const bridgeToken = "tok-93ad2f17c5e04b68"

// bridgeEnvelope names two tools; both would be carried out by the same command.
const bridgeEnvelope = `{"schema":"wp-codebox/parent-tool-bridge/v1","version":1,"allowed_tools":["host.pid","host.other"],
"dispatcher":{"owner":"wp-codebox","mode":"host_command","command":{"argv":[%q],"env":{"TOOL_TOKEN":%q}},
"request_schema":"wp-codebox/parent-tool-request/v1","result_schema":"wp-codebox/parent-tool-result/v1","timeout_ms":60000},
"sandbox_env":{"mode":"metadata-only","variables":{"bridge_schema":"WP_CODEBOX_PARENT_TOOL_BRIDGE_SCHEMA",
"dispatch_mode":"WP_CODEBOX_PARENT_TOOL_DISPATCH_MODE","request_schema":"WP_CODEBOX_PARENT_TOOL_REQUEST_SCHEMA",
"result_schema":"WP_CODEBOX_PARENT_TOOL_RESULT_SCHEMA"},"secret_env":[]},
"authorization":{"mode":"allowlist"},"redaction":{"transcript_artifact_refs":[]},"metadata":{}}`

// bridgeTool answers with the id of the request, and with the secret that it was given.
const bridgeTool = `#!/bin/sh
read -r line
id=$(printf %s "$line" | sed 's/.*"request_id":"\([^"]*\)".*/\1/')
tool=$(printf %s "$line" | sed 's/.*"tool":"\([^"]*\)".*/\1/')
printf '{"schema":"wp-codebox/parent-tool-result/v1","version":1,"request_id":"%s","tool":"%s","operation":"call","status":"succeeded","output":{"said":"from the host","secret":"%s"},"artifacts":{"transcripts":[],"evidence":[]},"diagnostics":{},"metadata":{}}\n' "$id" "$tool" "$TOOL_TOKEN"
`

const bridgeGate = `{"*": "ask", "host.pid": "allow", "read": "allow", "write": "allow", "edit": "allow", "path_read": "allow",
 "path_write": {"*": "allow", "*denied*": {"action": "deny", "reason": "not that one"}}}`

func newBridgeWorld(t *testing.T) *bridgeWorld {
	t.Helper()
	kernel(t)
	listNeeds(t)
	root := shortDir(t)
	w := &bridgeWorld{dir: root + "/co", config: root + "/config", runtime: root + "/run", state: root + "/state"}
	for dir, mode := range map[string]os.FileMode{w.dir: 0o755, w.config: 0o755, w.runtime: 0o700, w.state: 0o700} {
		must(t, os.Mkdir(dir, mode))
	}
	tool := w.config + "/tool"
	must(t, os.WriteFile(tool, []byte(bridgeTool), 0o755))
	must(t, os.WriteFile(w.config+"/bridge.json", fmt.Appendf(nil, bridgeEnvelope, tool, bridgeToken), 0o600))
	must(t, os.WriteFile(w.config+"/gate.json", []byte(bridgeGate), 0o600))
	w.env = environ(t, "XDG_RUNTIME_DIR="+w.runtime, "XDG_STATE_HOME="+w.state,
		"TOOL_TOKEN="+bridgeToken, "INNOCENT=has "+bridgeToken+" in it", "PLAIN=kept")
	return w
}

// command is a run with the bridge.
func (w *bridgeWorld) command(flags []string, command ...string) *exec.Cmd {
	all := append([]string{"--bridge", w.config + "/bridge.json", "--gate", w.config + "/gate.json", "--allow-degraded", "protect"}, flags...)
	cmd := exec.Command(program("brainbox"), boxArgs(all, command...)...)
	cmd.Dir, cmd.Env = w.dir, w.env
	return cmd
}

func (w *bridgeWorld) run(t *testing.T, flags []string, script string) result {
	t.Helper()
	cmd := w.command(flags, "sh", "-c", "B="+program("brainbox")+"\n"+script)
	r := run(t, w.dir, cmd)
	w.clean(t)
	return r
}

// clean says that no process and no socket of a run is left.
func (w *bridgeWorld) clean(t *testing.T) {
	t.Helper()
	waitFor(t, "no socket is left", func() bool {
		left, _ := filepath.Glob(w.runtime + "/brainbox/*")
		return len(left) == 0
	})
	for _, pid := range w.hosts(t) {
		waitFor(t, "no host is left", func() bool { return !alive(pid) })
	}
}

// hosts are the numbers of all brainbox-hosts that served runs of this world, as they wrote
// them down.
func (w *bridgeWorld) hosts(t *testing.T) (list []int) {
	t.Helper()
	text, err := os.ReadFile(w.state + "/brainbox/audit.jsonl")
	if errors.Is(err, os.ErrNotExist) {
		return nil // none got so far
	}
	must(t, err)
	for _, m := range regexp.MustCompile(`"type":"opened","data":\{"pid":(\d+)`).FindAllStringSubmatch(string(text), -1) {
		pid, err := strconv.Atoi(m[1])
		must(t, err)
		list = append(list, pid)
	}
	return list
}

// TestBridgeEndToEnd is what the bridge is for: an allowed call is made, from a grandchild
// too, an allowed write lands with its bytes, and what is denied or asked about leaves nothing.
func TestBridgeEndToEnd(t *testing.T) {
	w := newBridgeWorld(t)
	exact := "a\x00b\r\nno end"
	r := w.run(t, nil, `
printf 'a\000b\r\nno end' | $B write written; echo write $?
echo no | $B write denied.txt; echo denied $?
echo no | $B write ../outside; echo outside $?
echo no | $B write .git/hooks/pre-commit; echo hook $?
sh -c '(exec sh -c "$0 call host.pid")' $B; echo grandchild $?
$B call host.other; echo ask $?
$B call host.unlisted; echo unlisted $?`)
	if r.status != 0 {
		t.Fatalf("status %d\n%s\n%s", r.status, r.out, r.err)
	}
	for _, want := range []string{"write 0", "denied 1", "hook 1", "grandchild 0", "ask 1", "unlisted 1", "from the host", `"confirmation_unavailable"`, `"tool_not_allowed"`} {
		if !strings.Contains(r.out, want) {
			t.Errorf("without %q:\n%s\n%s", want, r.out, r.err)
		}
	}
	if strings.Contains(r.out, "outside 0") {
		t.Errorf("a write left the root:\n%s", r.out)
	}
	if got, err := os.ReadFile(w.dir + "/written"); err != nil || string(got) != exact {
		t.Errorf("written %q, %v", got, err)
	}
	for _, name := range []string{"/denied.txt", "/../outside", "/.git/hooks/pre-commit"} {
		if _, err := os.Lstat(w.dir + name); err == nil {
			t.Errorf("%s was made", name)
		}
	}
	w.noSecret(t, r)
	w.recorded(t)
}

// noSecret: neither the program nor the record has seen the token.
func (w *bridgeWorld) noSecret(t *testing.T, r result) {
	t.Helper()
	if strings.Contains(r.out+r.err, bridgeToken) {
		t.Errorf("the token is inside:\n%s\n%s", r.out, r.err)
	}
	_ = filepath.WalkDir(w.state, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), bridgeToken) {
			t.Errorf("the token is in %s", path)
		}
		if st, serr := d.Info(); serr != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", path, st.Mode(), serr)
		}
		return err
	})
}

// recorded: there is a line for each decision and effect.
func (w *bridgeWorld) recorded(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(w.state + "/brainbox/audit.jsonl")
	must(t, err)
	for _, want := range []string{`"type":"decision"`, `"type":"effect"`, `"tool":"host.pid"`, `"tool":"fs.write"`, `"error_code":"permission_denied"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the record has no %s:\n%s", want, text)
		}
	}
}

// TestBridgeEnvironment: a variable of the host's, and one that holds a secret, does not come
// in although the operator passes it.
func TestBridgeEnvironment(t *testing.T) {
	w := newBridgeWorld(t)
	r := w.run(t, []string{"--env", "TOOL_TOKEN", "--env", "PLAIN", "--env", "INNOCENT"}, "env")
	if r.status != 0 || strings.Contains(r.out, "TOOL_TOKEN") || strings.Contains(r.out, bridgeToken) || !strings.Contains(r.out, "PLAIN=kept") ||
		!strings.Contains(r.out, "WP_CODEBOX_PARENT_TOOL_DISPATCH_MODE=host_command") || !strings.Contains(r.out, "BRAINBOX_SESSION=") {
		t.Errorf("%d\n%s\n%s", r.status, r.out, r.err)
	}
	cmd := exec.Command(program("brainbox"), boxArgs([]string{"--env", "TOOL_TOKEN"}, "env")...) // the control: no bridge
	cmd.Env = w.env
	if r := run(t, w.dir, cmd); !strings.Contains(r.out, bridgeToken) || strings.Contains(r.out, "BRAINBOX_SESSION") {
		t.Errorf("without a bridge: %s", r.out)
	}
}
