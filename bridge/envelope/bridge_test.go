package envelope

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// baseBridge is a valid bridge to an endpoint.
const baseBridge = `{"schema":"wp-codebox/parent-tool-bridge/v1","version":1,"allowed_tools":["workspace.read"],` +
	`"dispatcher":{"owner":"wp-codebox","mode":"host_endpoint",` + endpointMember + `,` + schemas +
	`,"timeout_ms":30000},` +
	`"sandbox_env":{"mode":"metadata-only","variables":{` + variables + `},"secret_env":[]},` +
	`"authorization":{"mode":"allowlist","failure_status":"denied"},` +
	`"redaction":{"transcript_artifact_refs":[]},"metadata":{}}`

const (
	endpointMember = `"endpoint":{"url_env":"HOST_URL","method":"POST","token_env":"HOST_TOKEN"}`
	schemas        = `"request_schema":"wp-codebox/parent-tool-request/v1",` +
		`"result_schema":"wp-codebox/parent-tool-result/v1"`
	variables = `"bridge_schema":"WP_CODEBOX_PARENT_TOOL_BRIDGE_SCHEMA",` +
		`"dispatch_mode":"WP_CODEBOX_PARENT_TOOL_DISPATCH_MODE",` +
		`"request_schema":"WP_CODEBOX_PARENT_TOOL_REQUEST_SCHEMA",` +
		`"result_schema":"WP_CODEBOX_PARENT_TOOL_RESULT_SCHEMA"`
	commandMode = `"mode":"host_command","command":{"argv":["tool","-v","a","-v","b"]}`
)

func bridgeCode(err error) string {
	var e *BridgeError
	if !errors.As(err, &e) {
		return "accepted"
	}
	return e.Code
}

func mustBridge(t testing.TB, text string) *Bridge {
	t.Helper()
	b, err := DecodeBridge([]byte(text))
	if err != nil || b == nil {
		t.Fatalf("control: %v", err)
	}
	return b
}

func TestDecodeBridgeRefuses(t *testing.T) {
	const (
		tools = `["workspace.read"]`
		mode  = `"mode":"host_endpoint",` + endpointMember
		dots  = `"timeout_ms":30000`
		env   = `"url_env":"HOST_URL"`
	)
	command := func(rest string) string { return `"mode":"host_command","command":{` + rest + `}` }
	for _, c := range []struct{ id, old, with, want string }{
		{"bg/A03", tools, `[7]`, "bridge_tool_name_invalid"},
		{"bg/A76", `"secret_env":[]`, `"secret_env":["DB_PASSWORD"]`, "bridge_secret_env_forbidden"},
		{"bg/A77", `"WP_CODEBOX_PARENT_TOOL_BRIDGE_SCHEMA"`, `"LD_PRELOAD"`, "bridge_env_name_invalid"},
		{"bg/A78", dots, `"timeout_ms":0`, "bridge_timeout_invalid"},
		{"bg/A78", dots, `"timeout_ms":-1`, "bridge_timeout_invalid"},
		{"bg/A78", dots, `"timeout_ms":0.5`, "bridge_timeout_invalid"},
		{"bg/A78", dots, `"timeout_ms":700000`, "bridge_timeout_invalid"},
		{"bg/A79", `"method":"POST"`, `"method":"GET"`, "bridge_endpoint_invalid"},
		{"bg/A79", `,` + endpointMember, ``, "bridge_dispatcher_missing"},
		{"a timeout that is a string", dots, `"timeout_ms":"5"`, "bridge_timeout_invalid"},
		{"a timeout with an exponent", dots, `"timeout_ms":3e2`, "bridge_timeout_invalid"},
		{"a null timeout", dots, `"timeout_ms":null`, "bridge_timeout_invalid"},
		{"a tool with a no-break space", tools, `["workspace.read\u00a0"]`, "bridge_tool_name_invalid"},
		{"a tool with a Cyrillic letter", tools, `["wоrkspace.read"]`, "bridge_tool_name_invalid"},
		{"257 tools", tools, `[` + strings.Repeat(`"a",`, 256) + `"a"]`, "bridge_schema_invalid"},
		{"no list of tools", `"allowed_tools":["workspace.read"],`, ``, "bridge_schema_invalid"},
		{"another schema", `parent-tool-bridge/v1`, `tool-bridge/v1`, "bridge_schema_invalid"},
		{"version 2", `"version":1`, `"version":2`, "bridge_version_unsupported"},
		{"version 1.0", `"version":1`, `"version":1.0`, "bridge_version_unsupported"},
		{"an unknown member", `"metadata":{}`, `"metadata":{},"allowed_Tools":[]`, "bridge_schema_invalid"},
		{"a misspelt token", `"token_env"`, `"token_Env"`, "bridge_schema_invalid"},
		{"a member twice", `"version":1`, `"version":1,"version":1`, "bridge_schema_invalid"},
		{
			"no dispatcher", `"dispatcher":{"owner":"wp-codebox",` + mode + `,` + schemas + `,` + dots + `},`, ``,
			"bridge_dispatcher_missing",
		},
		{"another owner", `"owner":"wp-codebox"`, `"owner":"brainbox"`, "bridge_schema_invalid"},
		{"another mode", `"host_endpoint"`, `"sandbox"`, "bridge_mode_invalid"},
		{"no url", env + `,`, ``, "bridge_endpoint_invalid"},
		{"a url that is no name", env, `"url_env":"https://x"`, "bridge_env_name_invalid"},
		{"an empty token name", `"HOST_TOKEN"`, `""`, "bridge_env_name_invalid"},
		{
			"a command for an endpoint", mode, `"mode":"host_endpoint","command":{"argv":["x"]}`,
			"bridge_dispatcher_missing",
		},
		{"an endpoint for a command", `"host_endpoint"`, `"host_command"`, "bridge_dispatcher_missing"},
		{"no arguments", mode, command(`"argv":[]`), "bridge_argv_invalid"},
		{"no argv", mode, command(`"cwd_env":"A"`), "bridge_argv_invalid"},
		{"an empty program", mode, command(`"argv":[""]`), "bridge_argv_invalid"},
		{"an argument that is a number", mode, command(`"argv":["x",1]`), "bridge_argv_invalid"},
		{"an argument with U+0000", mode, command(`"argv":["x","a\u0000b"]`), "bridge_argv_invalid"},
		{"65 arguments", mode, command(`"argv":["x"` + strings.Repeat(`,"x"`, 64) + `]`), "bridge_argv_invalid"},
		{
			"32 KiB and one byte of arguments", mode, command(`"argv":["` + strings.Repeat("x", 32<<10+1) + `"]`),
			"bridge_argv_invalid",
		},
		{"a shell line for argv", mode, command(`"argv":"sh -c id"`), "bridge_argv_invalid"},
		{"a variable that is a number", mode, command(`"argv":["x"],"env":{"A":1}`), "bridge_schema_invalid"},
		{"a variable with a bad name", mode, command(`"argv":["x"],"env":{"A=B":"1"}`), "bridge_env_name_invalid"},
		{"another transport", mode, command(`"argv":["x"],"transport":"tcp"`), "bridge_schema_invalid"},
		{"secrets that are no list", `"secret_env":[]`, `"secret_env":{}`, "bridge_schema_invalid"},
		{"no secrets member", `,"secret_env":[]`, ``, "bridge_schema_invalid"},
		{"another sandbox mode", `"metadata-only"`, `"values"`, "bridge_schema_invalid"},
		{
			"the descriptor's variable", `"WP_CODEBOX_PARENT_TOOL_DISPATCH_MODE"`, `"BRAINBOX_BRIDGE_FD"`,
			"bridge_env_name_invalid",
		},
		{
			"one name for two", `"WP_CODEBOX_PARENT_TOOL_DISPATCH_MODE"`, `"WP_CODEBOX_PARENT_TOOL_RESULT_SCHEMA"`,
			"bridge_env_name_invalid",
		},
		{
			"the token's name inside", `"HOST_TOKEN"`, `"WP_CODEBOX_PARENT_TOOL_DISPATCH_MODE"`,
			"bridge_env_name_invalid",
		},
		{"another authorization", `"allowlist"`, `"none"`, "bridge_schema_invalid"},
		{"failing open", `"failure_status":"denied"`, `"failure_status":"succeeded"`, "bridge_schema_invalid"},
		{
			"a reference outside", `"transcript_artifact_refs":[]`, `"transcript_artifact_refs":[{"kind":"x","path":"../x"}]`,
			"bridge_schema_invalid",
		},
		{
			"notes of 4 KiB and one byte", `"mode":"allowlist"`, `"mode":"allowlist","notes":"` + strings.Repeat("x", 4<<10+1) + `"`,
			"bridge_schema_invalid",
		},
		{"metadata of 16 KiB and one byte", `"metadata":{}`, `"metadata":` + sized(16<<10+1), "bridge_schema_invalid"},
		{"no metadata", `,"metadata":{}`, ``, "bridge_schema_invalid"},
	} {
		t.Run(c.id, func(t *testing.T) {
			mustBridge(t, baseBridge)
			b, err := DecodeBridge([]byte(change(t, baseBridge, c.old, c.with)))
			if got := bridgeCode(err); got != c.want || b != nil {
				t.Errorf("got %s (%v), want %s", got, err, c.want)
			}
		})
	}
	for _, text := range []string{"", "null", "[]", "{} {}"} {
		if b, err := DecodeBridge([]byte(text)); bridgeCode(err) != CodeBridgeSchemaInvalid || b != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestBridgeNormalForm(t *testing.T) {
	t.Run("bg/A02", func(t *testing.T) {
		b := mustBridge(t, change(t, baseBridge, `["workspace.read"]`,
			`[" workspace.read ","workspace.read","","jobs.show"]`))
		if want := []string{"workspace.read", "jobs.show"}; !slices.Equal(b.AllowedTools, want) {
			t.Errorf("tools %q, want %q", b.AllowedTools, want)
		}
		if b.Allows("Workspace.read") || b.Allows("") || !b.Allows("jobs.show") {
			t.Error("allows what is not listed, or not what is")
		}
	})
	t.Run("arguments stay as written", func(t *testing.T) {
		b := mustBridge(t, change(t, baseBridge, `"mode":"host_endpoint",`+endpointMember, commandMode))
		if want := []string{"tool", "-v", "a", "-v", "b"}; !slices.Equal(b.Command.Argv, want) || b.Command.Transport != Stdio {
			t.Errorf("command %+v", b.Command)
		}
	})
	t.Run("one argument with blanks stays one", func(t *testing.T) {
		b := mustBridge(t, change(t, baseBridge, `"mode":"host_endpoint",`+endpointMember,
			`"mode":"host_command","command":{"argv":["sh -c id"],"cwd_env":" "}`))
		if want := []string{"sh -c id"}; !slices.Equal(b.Command.Argv, want) || b.Command.CwdVariable != "" {
			t.Errorf("command %+v", b.Command)
		}
	})
	t.Run("defaults", func(t *testing.T) {
		text := change(t, baseBridge, `,"timeout_ms":30000`, ``)
		text = change(t, text, `,"failure_status":"denied"`, ``)
		text = change(t, text, `"metadata":{}`, `"metadata":[]`)
		b := mustBridge(t, text)
		if b.Timeout != 30*time.Second || b.FailureStatus != Denied || string(b.Encode()) != baseBridge {
			t.Errorf("bridge %+v: %s", b, b.Encode())
		}
	})
	t.Run("the other mode is dropped", func(t *testing.T) {
		b := mustBridge(t, change(t, baseBridge, endpointMember, endpointMember+`,"command":7`))
		if b.Command != nil || !b.Unused {
			t.Errorf("bridge %+v", b)
		}
		if err := b.Validate(Launch{}); err != nil {
			t.Errorf("control: %v", err)
		}
		if err := b.Validate(Launch{Strict: true}); bridgeCode(err) != CodeBridgeDispatcherConflict {
			t.Errorf("strict: %v", err)
		}
		if err := mustBridge(t, baseBridge).Validate(Launch{Strict: true}); err != nil {
			t.Errorf("strict control: %v", err)
		}
	})
}

func TestNameCollision(t *testing.T) {
	t.Run("bg/A80", func(t *testing.T) {
		b := mustBridge(t, change(t, baseBridge, `["workspace.read"]`, `["workspace.read","bash"]`))
		if err := b.Validate(Launch{LocalTools: []string{"read", "bash"}}); bridgeCode(err) != CodeToolNameCollision {
			t.Errorf("got %v", err)
		}
		if err := b.Validate(Launch{LocalTools: []string{"read"}}); err != nil {
			t.Errorf("control: %v", err)
		}
	})
}

// An empty object is no bridge, and every method can be asked.
func TestNoBridge(t *testing.T) {
	t.Run("an empty object", func(t *testing.T) {
		b, err := DecodeBridge([]byte(" {} "))
		if b != nil || err != nil {
			t.Fatalf("got %v, %v", b, err)
		}
		env, err := b.Environment("x")
		if err != nil || env != nil || b.Allows("x") || b.HostVariables() != nil || b.Validate(Launch{Strict: true}) != nil {
			t.Error("no bridge is one")
		}
		if got := string(b.Encode()); got != "{}" {
			t.Errorf("encoded as %s", got)
		}
	})
}

func TestGoldenBridge(t *testing.T) {
	text := readFile(t, "testdata/seed/bridge.json")
	b := mustBridge(t, text)
	golden(t, "bridge.json", b.Encode())
	again := mustBridge(t, string(b.Encode()))
	if string(again.Encode()) != string(b.Encode()) {
		t.Error("the normal form changes")
	}
}

func FuzzDecodeBridge(f *testing.F) {
	f.Add([]byte(baseBridge))
	f.Add([]byte(strings.Replace(baseBridge, `"mode":"host_endpoint",`+endpointMember, commandMode, 1)))
	f.Add([]byte(readFile(f, "testdata/seed/bridge.json")))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := DecodeBridge(data)
		if err != nil {
			if b != nil || bridgeCode(err) == "accepted" {
				t.Fatalf("bridge %v with %v", b, err)
			}
			return
		}
		if b == nil {
			return
		}
		if (b.Endpoint == nil) == (b.Command == nil) || b.Timeout < time.Millisecond || b.Timeout > 10*time.Minute {
			t.Fatalf("bridge %+v", b)
		}
		inside, err := b.Environment("")
		if err != nil || len(b.ScrubEnvironment(inside, nil)) != 4 {
			t.Fatalf("inside %q, host %q: %v", inside, b.HostVariables(), err)
		}
		first := b.Encode()
		again, err := DecodeBridge(first)
		if err != nil && len(first) < 16<<10 {
			t.Fatalf("normal form %s: %v", first, err)
		}
		if err == nil && string(again.Encode()) != string(first) {
			t.Fatalf("not stable: %s, then %s", first, again.Encode())
		}
	})
}
