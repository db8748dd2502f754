package bridge

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brainbox/bridge/envelope"
	"brainbox/bridge/redact"
	"brainbox/bridge/transcript"
)

// bg/A82, with what is written in the end: no reply, and a transcript that says why.
func TestTranscriptsOfASink(t *testing.T) {
	red := redact.New(redact.Options{})
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil { //nolint:gosec // a directory
		t.Fatal(err)
	}
	out, err := transcript.Open(dir, red, transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	s := newStand(t, withTool(&note{name: "note"}), func(c *Config) { c.Transcript, c.Redact = Transcripts(out), red.Result })
	p := s.agent()
	if got := p.call("tool.call", base); word(got) != "succeeded" {
		t.Fatalf("%v", got)
	}
	if got := p.call("tool.call", noteRequest(t, "here", "note", `{"text":"x"}`)); word(got) != "succeeded" {
		t.Fatalf("%v", got)
	}
	s.answers(func(ctx context.Context, r *envelope.Request) *envelope.Result {
		<-ctx.Done()
		return r.Fail(envelope.Failed, "x", "")
	})
	p.begin("tool.call", request(t, id("gone")...))
	eventually(t, "it is dispatched", func() bool { n, _ := s.count(); return n == 2 })
	_ = p.conn.Close()
	for name, want := range map[string]string{"ptr_1": `"status":"succeeded"`, "here": `"host"`, "gone": `"status":"cancelled"`} {
		path := filepath.Join(dir, transcript.Folder, name+".json")
		eventually(t, name+" is written", func() bool { st, err := os.Stat(path); return err == nil && st.Size() > 0 })
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), want) || name == "gone" && !strings.Contains(string(text), `"caller_gone"`) {
			t.Errorf("%s: %s, %v", name, text, err)
		}
	}
}

func TestParentOfABridge(t *testing.T) {
	if p := ParentOf(nil, nil); p != nil {
		t.Errorf("%+v", p)
	}
	b := &envelope.Bridge{AllowedTools: []string{"workspace.read"}, FailureStatus: envelope.Denied}
	s := newStand(t, func(c *Config) { c.Parent = ParentOf(b, nil) })
	p := s.agent()
	if got := p.call("tool.call", base); word(got) != "denied/bridge_not_configured" {
		t.Errorf("%v", got)
	}
	if got := p.call("tool.call", request(t, append(id("2"), toolName, `"tool":"x"`)...)); word(got) != "denied/tool_not_allowed" {
		t.Errorf("%v", got)
	}
}
