package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brainbox/internal/toolask"
	"brainbox/internal/version"
)

// request is one under which everything may be said.
func request(tool, text string, rules ...toolask.Rule) toolask.Request {
	return toolask.Request{AnyTool: true, Rules: rules, Homes: []string{"/h"}, Roots: []string{"/w/p"}, Dir: "/w/p", Tool: tool, Text: text}
}

func entry(surface, pattern, action string) toolask.Rule {
	return toolask.Rule{Surface: surface, Pattern: pattern, Action: action, Where: "p.toml:3:1"}
}

// asked runs the command as brainbox does.
func asked(t *testing.T, r toolask.Request) toolask.Reply {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if got := run([]string{"tool", "--protocol=1"}, bytes.NewReader(r.Encode()), &stdout, &stderr); got != 0 || stderr.Len() != 0 {
		t.Fatalf("status %d, %q", got, &stderr)
	}
	reply, err := toolask.DecodeReply(stdout.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

func TestRunRefuses(t *testing.T) {
	r := request("bash", "ls")
	good := string(r.Encode())
	for name, c := range map[string]struct {
		args  []string
		stdin string
	}{
		"no verb":              {nil, good},
		"another verb":         {[]string{"bridge\x1b"}, good},
		"two verbs":            {[]string{"tool", "tool"}, good},
		"another protocol":     {[]string{"tool", "--protocol=2"}, good},
		"nothing":              {[]string{"tool"}, ""},
		"a request of another": {[]string{"tool"}, strings.Replace(good, `"protocol":1`, `"protocol":2`, 1)},
		"an unknown key":       {[]string{"tool"}, strings.Replace(good, `"dir"`, `"dri"`, 1)},
		"a missing key":        {[]string{"tool"}, strings.Replace(good, `"any_tool":true,`, "", 1)},
		"a key twice":          {[]string{"tool"}, strings.Replace(good, `"any_tool":true,`, `"any_tool":true,"any_tool":true,`, 1)},
		"a relative folder":    {[]string{"tool"}, strings.Replace(good, `"/w/p"`, `"w/p"`, 1)},
		"too much":             {[]string{"tool"}, good + strings.Repeat(" ", toolask.MaxText)},
		"two requests":         {[]string{"tool"}, good + good},
	} {
		var stdout, stderr bytes.Buffer
		if got := run(c.args, strings.NewReader(c.stdin), &stdout, &stderr); got != 125 || stdout.Len() != 0 {
			t.Errorf("%s: status %d, stdout %q", name, got, &stdout)
		}
		if !strings.HasPrefix(stderr.String(), "brainbox: host: ") || strings.Count(stderr.String(), "\n") != 1 || strings.Contains(stderr.String(), "\x1b") {
			t.Errorf("%s: stderr %q", name, &stderr)
		}
	}
	for arg, want := range map[string]string{"--version": "brainbox-host " + version.String() + " (protocol 1)\n", "--help": usage} {
		var stdout, stderr bytes.Buffer
		if got := run([]string{arg}, nil, &stdout, &stderr); got != 0 || stdout.String() != want {
			t.Errorf("%s: status %d, %q", arg, got, &stdout)
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestRunReportsThatItCouldNotWrite(t *testing.T) {
	var stderr bytes.Buffer
	r := request("", "")
	if got := run([]string{"tool"}, bytes.NewReader(r.Encode()), fullDisk{}, &stderr); got != 125 || stderr.Len() == 0 {
		t.Errorf("status %d, %q", got, &stderr)
	}
}

func TestAnswers(t *testing.T) {
	p := []toolask.Rule{entry("bash", "git *", "allow"), entry("bash", "git push *", "deny"), entry("read", "*", "allow"), entry("path", "*.env", "deny")}
	for _, c := range []struct{ tool, text, action, surface, pattern string }{
		{"bash", "git push origin", "deny", "bash", "git push *"},
		{"bash", `{"command":"git push origin"}`, "deny", "bash", "git push *"},
		{"bash", "\n {\"command\":\"git push origin\"}", "deny", "bash", "git push *"},
		{"bash", "{ git push origin; }", "deny", "bash", "git push *"},
		{"bash", "ls $(git push)", "deny", "bash", "git push *"},
		{"read_file", `{"path":".env"}`, "deny", "path_read", "*.env"},
		{"bash", "make", "ask", "bash", ""},
		{"bash", "git reset --hard", "ask", "<confirm>", `\bgit\s+reset\b.*--hard`},
		{"bash", "PATH=/x git status", "ask", "bash", ""},
		{"write_file", ".git/x", "ask", "write", ""},
		{"thing", `{"a":1}`, "ask", "thing", ""},
		{"read_file", "x", "allow", "read", "*"},
		{"bash", "git status", "allow", "bash", "git *"},
	} {
		got := asked(t, request(c.tool, c.text, p...))
		if len(got.Problems) != 0 || got.Answer == nil {
			t.Fatalf("%s %q: %+v", c.tool, c.text, got)
		}
		by := got.Answer.By
		if got.Answer.Action != c.action || by.Surface != c.surface || by.Pattern != c.pattern {
			t.Errorf("%s %q: %s by %s %q, want %s by %s %q", c.tool, c.text, got.Answer.Action, by.Surface, by.Pattern, c.action, c.surface, c.pattern)
		}
		if (c.action == "ask") != (len(got.Answer.Asks) > 0) {
			t.Errorf("%s %q: asks %v", c.tool, c.text, got.Answer.Asks)
		}
	}
	narrow := request("bash", "git status", append(p, toolask.Rule{Surface: "bash", Pattern: "git s*", Action: "deny", Tighten: true})...)
	if got := asked(t, narrow); got.Answer.Action != "deny" || got.Answer.By.Origin != "project" {
		t.Errorf("a rule that tightens: %+v", got.Answer)
	}
	listed := request("bash", "git status", p...)
	listed.AnyTool, listed.Tools = false, []string{"read_file"}
	if got := asked(t, listed); got.Answer.Action != "ask" || got.Answer.By.Surface != "<allowed-tools>" {
		t.Errorf("a tool that is not listed: %+v", got.Answer)
	}
}

// All that is wrong is told, each at its place in its list.
func TestProblems(t *testing.T) {
	r := request("bash", "ls", entry("bash", "*", "allow"), entry("path_wrote", "x", "deny"), entry("nope", "x", "deny"),
		entry("read_file", "x", "deny"), entry("bash", "a; b", "allow"), entry("bash", "", "deny"), entry("bash", "x", "perhaps"))
	r.Confirm = []toolask.Pattern{{Pattern: "ok"}, {Pattern: "("}}
	r.ConfirmMore = []toolask.Pattern{{Pattern: `\z`}, {Pattern: ".*"}}
	got := asked(t, r)
	type place struct {
		List  string
		Index int
		Warns bool
	}
	var at []place
	for _, p := range got.Problems {
		at = append(at, place{p.List, p.Index, p.Warns})
	}
	want := []place{
		{"rule", 1, false},
		{"rule", 2, false},
		{"rule", 3, false},
		{"rule", 4, true},
		{"rule", 5, false},
		{"rule", 6, false},
		{"confirm", 1, false},
		{"confirm_more", 0, false},
		{"confirm_more", 1, true},
	}
	if diff := cmp.Diff(want, at); diff != "" || got.Answer != nil {
		t.Errorf("answer %v (-want +got):\n%s%+v", got.Answer, diff, got.Problems)
	}
	r = request("bash", "ls", entry("nope", "x", "deny"))
	r.OtherTools = true
	if got := asked(t, r); len(got.Problems) != 1 || !got.Problems[0].Warns || got.Answer == nil {
		t.Errorf("a tool that may be declared elsewhere: %+v", got)
	}
	r = request("bash", "ls")
	r.NoConfirm, r.Confirm = true, []toolask.Pattern{{Pattern: "x"}}
	if got := asked(t, r); len(got.Problems) != 1 || got.Problems[0].Warns {
		t.Errorf("none and some: %+v", got)
	}
}

// A file system's links count, although nothing is opened for reading.
func TestAnswersFollowLinks(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(dir+"/.git", 0o700), os.Symlink(".git", dir+"/link"), os.Symlink("x.env", dir+"/plain")); err != nil {
		t.Fatal(err)
	}
	p := []toolask.Rule{entry("write", "*", "allow"), entry("path", "*.env", "deny")}
	for text, want := range map[string]string{"plain": "deny", "link/x": "ask", "x": "allow"} {
		r := request("write_file", text, p...)
		r.Dir, r.Roots = dir, []string{dir}
		if got := asked(t, r); got.Answer == nil || got.Answer.Action != want {
			t.Errorf("%s: %+v, want %s", text, got, want)
		}
	}
}

// Everything is pure Go: the binary runs where it was not built.
func TestLinksNoC(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Skipf("go list: %v", err) // gating: a copied test binary has no sources
	}
	for dep := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(dep, "github.com/seccomp") || dep == "brainbox/launcher" || dep == "brainbox/seccomp/compile" {
			t.Errorf("it links %s", dep)
		}
	}
	if !strings.Contains(string(out), "mvdan.cc/sh") {
		t.Error("the parser is not where it is looked for")
	}
}

func FuzzTool(f *testing.F) {
	for _, c := range [][2]string{{"bash", "git push"}, {"bash", `{"command":"x"}`}, {"read_file", "{"}, {"x", ""}} {
		f.Add(c[0], c[1])
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		r := request(name, text, entry("*", "*", "deny"), entry("bash", "*", "deny"))
		got, err := answerTool(&r)
		if err == nil && got.Answer != nil && got.Answer.Action == "allow" && !strings.Contains(got.Answer.By.Text, "nothing to judge") {
			t.Errorf("%q %q is allowed by rules that only deny: %+v", name, text, got.Answer)
		}
	})
}

// What only reads is allowed without a rule (bk/CT, contract brainkit section 8.1), but a rule
// of the operator's about it, or about all surfaces, stands in place of that.
func TestReadsAreAllowed(t *testing.T) {
	for _, c := range []struct {
		tool, text, want string
		allow            bool
		rules            []toolask.Rule
	}{
		{"read_file", "a", "ask", false, nil},
		{"read_file", "a", "ask", true, []toolask.Rule{entry("*", "*", "ask")}},
		{"grep", "a", "deny", true, []toolask.Rule{entry("*", "*", "deny")}},
		{"read_file", "a", "ask", true, []toolask.Rule{entry("read", "*", "ask")}},
		{"read_file", "a", "deny", true, []toolask.Rule{entry("path_read", "*a", "deny")}},
		{"read_file", "/etc/passwd", "ask", true, nil},
		{"read_file", "../q/a", "ask", true, nil},
		{"write_file", "a", "ask", true, nil},
		{"edit_file", "a", "ask", true, nil},
		{"bash", "cat a", "ask", true, nil},
		{"host.tool", "{}", "ask", true, nil},
		{"read_file", "a", "allow", true, nil},
		{"grep", "a", "allow", true, []toolask.Rule{entry("write", "*", "deny")}},
		{"query_activity", "{}", "allow", true, nil},
	} {
		r := request(c.tool, c.text, c.rules...)
		r.AllowReads, r.OtherTools = c.allow, true
		reply := asked(t, r)
		if reply.Answer == nil || reply.Answer.Action != c.want {
			t.Errorf("%s %s under %v: %+v", c.tool, c.text, c.rules, reply)
		}
	}
}
