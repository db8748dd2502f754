package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// startEnvelope names one tool, which is not called.
const startEnvelope = `{"schema":"wp-codebox/parent-tool-bridge/v1","version":1,"allowed_tools":["echo"],
"dispatcher":{"owner":"wp-codebox","mode":"host_command","command":{"argv":["/bin/true"],"env":{}},
"request_schema":"wp-codebox/parent-tool-request/v1","result_schema":"wp-codebox/parent-tool-result/v1","timeout_ms":60000},
"sandbox_env":{"mode":"metadata-only","variables":{"bridge_schema":"WP_CODEBOX_PARENT_TOOL_BRIDGE_SCHEMA",
"dispatch_mode":"WP_CODEBOX_PARENT_TOOL_DISPATCH_MODE","request_schema":"WP_CODEBOX_PARENT_TOOL_REQUEST_SCHEMA",
"result_schema":"WP_CODEBOX_PARENT_TOOL_RESULT_SCHEMA"},"secret_env":[]},
"authorization":{"mode":"allowlist"},"redaction":{"transcript_artifact_refs":[]},"metadata":{}}`

// startRules are the gate's.
const startRules = `{"*":"ask","read":"allow","write":"allow","bash":{"*":"ask","git *":"allow","git push *":"deny"}}`

// The isolations, and what a start has more.
var bridgeIsolations = []string{"landlock", "namespaces"}

const withGate, withBridge = " --gate", " --bridge --gate"

// bridgeStarts measures /bin/true with and without a host's side.
func (o *options) bridgeStarts(out io.Writer) error {
	o.work = filepath.Join(o.root, "work")
	env, err := o.prepare()
	if err != nil {
		return err
	}
	for _, dir := range []string{"state", "run"} {
		if err := os.Mkdir(filepath.Join(o.root, dir), 0o700); err != nil {
			return err
		}
	}
	env = append(env, "XDG_STATE_HOME="+filepath.Join(o.root, "state"), "XDG_RUNTIME_DIR="+filepath.Join(o.root, "run"))
	names, commands, err := o.bridgeCommands()
	if err != nil {
		return err
	}
	process, err := newPipe(env, filepath.Join(o.bin, "starter"))
	if err != nil {
		return err
	}
	got, err := starter{process}.interleave(names, commands, o.warm, o.rounds)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nStarts of /bin/true with a host's side, which is another process, %d rounds:\n\n", o.rounds)
	var rows []row
	for _, i := range bridgeIsolations {
		rows = append(rows, plain("ms, brainbox run --isolation "+i, got.time(i), "%.2f"))
		for _, more := range []string{withGate, withBridge} {
			rows = append(rows, plain("ms, brainbox run --isolation "+i+more, got.time(i+more), "%.2f"),
				plain("ms more,"+more, got.difference(i+more, i), "%.2f"), plain("the same, ×", got.ratio(i+more, i), "%.2f"))
		}
	}
	table(out, rows)
	return process.close()
}

// bridgeCommands are /bin/true under the policy P, whose files lie where nothing is granted.
func (o *options) bridgeCommands() ([]string, map[string]command, error) {
	var names []string
	commands := map[string]command{}
	gate, bridge := filepath.Join(o.root, "gate.json"), filepath.Join(o.root, "bridge.json")
	for path, text := range map[string]string{gate: startRules, bridge: startEnvelope} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return nil, nil, err
		}
	}
	for _, i := range bridgeIsolations {
		policy := filepath.Join(o.root, i+".toml")
		if err := write(policy, policyText(o.work, "", "", fmt.Sprintf("isolation = %q", i))); err != nil {
			return nil, nil, err
		}
		for more, flags := range map[string][]string{"": nil, withGate: {"--gate", gate}, withBridge: {"--bridge", bridge, "--gate", gate}} {
			argv := append([]string{filepath.Join(o.bin, "brainbox"), "run", "-q", "--policy", policy}, flags...)
			commands[i+more] = command{o.work, append(argv, "--", "/bin/true")}
		}
		names = append(names, i, i+withGate, i+withBridge)
	}
	return names, commands, nil
}
