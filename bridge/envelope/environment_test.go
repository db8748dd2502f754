package envelope

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEnvironment(t *testing.T) {
	b := mustBridge(t, change(t, baseBridge, variables, `"bridge_ref":"BRAINBOX_BRIDGE_REF",`+variables))
	want := []string{
		"WP_CODEBOX_PARENT_TOOL_BRIDGE_SCHEMA=wp-codebox/parent-tool-bridge/v1",
		"WP_CODEBOX_PARENT_TOOL_DISPATCH_MODE=host_endpoint",
		"WP_CODEBOX_PARENT_TOOL_REQUEST_SCHEMA=wp-codebox/parent-tool-request/v1",
		"WP_CODEBOX_PARENT_TOOL_RESULT_SCHEMA=wp-codebox/parent-tool-result/v1",
	}
	got, err := b.Environment("")
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("without a reference: %v\n%s", err, diff)
	}
	got, err = b.Environment("run-1")
	if diff := cmp.Diff(append(want, "BRAINBOX_BRIDGE_REF=run-1"), got); diff != "" || err != nil {
		t.Errorf("with a reference: %v\n%s", err, diff)
	}
	for _, ref := range []string{"a\x00b", "a b", "a\n", "é", strings.Repeat("a", 1025)} {
		if got, err := b.Environment(ref); err == nil || got != nil {
			t.Errorf("%q is told as %q", ref, got)
		}
	}
	if got, err := mustBridge(t, baseBridge).Environment("run-1"); err != nil || len(got) != 4 {
		t.Errorf("a bridge that names no variable for it: %q, %v", got, err)
	}
}

func TestScrubEnvironment(t *testing.T) {
	const token = "tok-0123456789"
	b := mustBridge(t, baseBridge)
	env := []string{
		"HOME=/h", "HOST_TOKEN=other", "HOST_URL=https://x/", "A=x" + token, "B=" + token + "x", "C=abc", "D=xabc",
		"=x", "noname", "E=", "HOST_TOKENS=kept",
	}
	got := b.ScrubEnvironment(env, []string{"", token, "abc"})
	want := []string{"HOME=/h", "D=xabc", "E=", "HOST_TOKENS=kept"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	t.Run("bg/A74", func(t *testing.T) {
		inside, err := b.Environment("")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range append(inside, got...) {
			if name, _, _ := strings.Cut(e, "="); slices.Contains(b.HostVariables(), name) {
				t.Errorf("the sandbox gets %s", name)
			}
		}
	})
	t.Run("bg/A75", func(t *testing.T) {
		if got := b.ScrubEnvironment([]string{"OTHER=x" + token, "FREE=x"}, []string{token}); !slices.Equal(got, []string{"FREE=x"}) {
			t.Errorf("kept %q", got)
		}
	})
	cmdBridge := mustBridge(t, change(t, baseBridge, `"mode":"host_endpoint",`+endpointMember,
		`"mode":"host_command","command":{"argv":["x"],"cwd_env":"CWD","env":{"ONE":"1","TWO":""},"transport":"file"}`))
	got = cmdBridge.ScrubEnvironment([]string{"CWD=/w", "ONE=1", "TWO=2", "THREE=3"}, nil)
	if !slices.Equal(got, []string{"THREE=3"}) {
		t.Errorf("of a command: %q", got)
	}
	for mode, names := range map[string][]string{"host_endpoint": {"CWD", "ONE"}, "host_command": {"URL", "KEY"}} {
		both := mustBridge(t, change(t, baseBridge, `"mode":"host_endpoint",`+endpointMember, `"mode":"`+mode+
			`","endpoint":{"url_env":"URL","token_env":"KEY","method":"POST"},"command":{"argv":["x"],"cwd_env":" CWD","env":{"ONE":"1"}}`))
		for _, name := range names { // of what is dropped
			if got := both.ScrubEnvironment([]string{name + "=x", "FREE=x"}, nil); !slices.Equal(got, []string{"FREE=x"}) {
				t.Errorf("%s: kept %q", mode, got)
			}
		}
	}
}
