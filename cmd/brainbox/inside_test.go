package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"brainbox/bridge/bridgetest"
	"brainbox/bridge/client"
	"brainbox/bridge/envelope"
	"brainbox/bridge/wire"
	"brainbox/internal/strictjson"
)

// caller runs brainbox as a program inside a sandbox would, in a folder.
type caller struct {
	t      *testing.T
	dir    string
	socket string
}

// run returns the status and what was printed.
func (c caller) run(stdin string, args ...string) (status int, stdout, stderr string) {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), "brainbox", args...)
	cmd.Dir, cmd.Stdin = c.dir, strings.NewReader(stdin)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.dir}
	if c.socket != "" {
		cmd.Env = append(cmd.Env, client.EnvSocket+"="+c.socket)
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var ee *exec.ExitError
	if err != nil && !errors.As(err, &ee) {
		c.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// fakeFiles answers calls, and keeps what they asked for.
func fakeFiles(_ context.Context, r *envelope.Request) *envelope.Result {
	text := func(s string) *strictjson.Value { v := strictjson.Text(s); return &v }
	sum := strictjson.Object(strictjson.Pair("sha256", strictjson.Text(strings.Repeat("a", 64))))
	path := ""
	if v := r.Input.Get("path"); v != nil {
		path = v.Text
	}
	switch {
	case strings.Contains(path, "denied"):
		return r.Fail(envelope.Denied, envelope.CodePermissionDenied, "not \x1b[31mthis")
	case path == "made-meanwhile" && r.Input.Get("mode").Text == "create":
		return r.Fail(envelope.Failed, "stale_base", "it exists")
	case r.Tool == "query_activity":
		return r.Succeed(text("it is\nso\x1b"))
	}
	return r.Succeed(&sum)
}

// outside is a checkout with a file, its fake host, and who calls from the folder "sub".
func outside(t *testing.T) (*bridgetest.Host, caller) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "sub"), 0o755), os.WriteFile(filepath.Join(dir, "sub/old"), []byte("x"), 0o644)); err != nil {
		t.Fatal(err)
	}
	host := bridgetest.Start(t, &bridgetest.Host{Call: fakeFiles, Roots: []wire.Root{{Name: "repo", Path: dir}, {Name: "o", Path: "/nonexistent/o"}}})
	return host, caller{t, filepath.Join(dir, "sub"), host.Socket}
}

// last is the last call that the host saw: its tool and its input.
func last(h *bridgetest.Host) string {
	calls := h.Calls()
	if len(calls) == 0 {
		return ""
	}
	r := calls[len(calls)-1]
	return r.Tool + " " + string(strictjson.Append(nil, &r.Input))
}

func TestInsideVerbs(t *testing.T) {
	host, c := outside(t)
	sum := strings.Repeat("b", 64)
	for _, test := range []struct {
		stdin string
		args  []string
		want  string
	}{
		{"new\n", []string{"write", "f"}, `fs.write {"root":"repo","path":"sub/f","mode":"create","data":"new\n"}`},
		{"new\n", []string{"write", "old"}, `fs.write {"root":"repo","path":"sub/old","mode":"replace","data":"new\n"}`},
		{"new\n", []string{"write", "--create", "old"}, `fs.write {"root":"repo","path":"sub/old","mode":"create","data":"new\n"}`},
		{"", []string{"write", "--append", "../f"}, `fs.write {"root":"repo","path":"f","mode":"append","data":""}`},
		{"\xff", []string{"write", "--base", sum, "f"}, `fs.write {"root":"repo","path":"sub/f","mode":"replace","data":"/w==","encoding":"base64","expected_sha256":"` + sum + `"}`},
		{"x", []string{"write", "--root", "o", "f"}, `fs.write {"root":"o","path":"f","mode":"create","data":"x"}`},
		{"x", []string{"write", "../made-meanwhile"}, `fs.write {"root":"repo","path":"made-meanwhile","mode":"replace","data":"x"}`},
		{"", []string{"edit", "old", "a", "$&"}, `edit_file {"root":"repo","path":"sub/old","old_string":"a","new_string":"$&","base":"` + sumOf(filepath.Join(c.dir, "old")) + `"}`},
		{"", []string{"edit", "unseen", "a", "b"}, `edit_file {"root":"repo","path":"sub/unseen","old_string":"a","new_string":"b","base":"` + strings.Repeat("a", 64) + `"}`},
		{"", []string{"edit", "--base", sum, "--files", "f", "old", "old"}, `edit_file {"root":"repo","path":"sub/f","old_string":"x","new_string":"x","base":"` + sum + `"}`},
		{"", []string{"edit", "--base", sum, "--", "-f", "-", "--"}, `edit_file {"root":"repo","path":"sub/-f","old_string":"-","new_string":"--","base":"` + sum + `"}`},
		{"", []string{"rm", "old"}, `remove {"root":"repo","path":"sub/old"}`},
		{"", []string{"rm", "-r", "--base", sum, "../sub"}, `remove {"root":"repo","path":"sub","recursive":true,"base":"` + sum + `"}`},
		{"", []string{"mv", "old", "../new"}, `rename {"root":"repo","from":"sub/old","to":"new"}`},
		{"", []string{"mv", "-f", "old", "new"}, `rename {"root":"repo","from":"sub/old","to":"sub/new","replace":true}`},
		{"", []string{"mask", "--instruction", "the sky", "i.png"}, `request_image_mask {"imagePath":"sub/i.png","instruction":"the sky"}`},
	} {
		if status, out, errs := c.run(test.stdin, test.args...); status != 0 || out != "" || errs != "" {
			t.Errorf("%q: %d, %q, %q", test.args, status, out, errs)
		}
		if got := last(host); got != test.want {
			t.Errorf("%q asked for\n%s, want\n%s", test.args, got, test.want)
		}
	}
}

// A large file goes in pieces that together are the file.
func TestInsideWritesInPieces(t *testing.T) {
	host, c := outside(t)
	for name, data := range map[string]string{
		"text": strings.Repeat("long \x01\n", 300_000), "bytes": strings.Repeat("\xff\x00\x01", 400_000),
		"one piece of escapes": strings.Repeat("\x01", pieceBytes),
	} {
		before := len(host.Calls())
		if status, _, errs := c.run(data, "write", "--create", "f"); status != 0 {
			t.Fatalf("%s: %d %s", name, status, errs)
		}
		var got strings.Builder
		for _, r := range host.Calls()[before:] {
			part := r.Input.Get("data").Text
			if r.Input.Get("encoding") != nil {
				var raw []byte
				if err := json.Unmarshal([]byte(`"`+part+`"`), &raw); err != nil {
					t.Fatal(err)
				}
				part = string(raw)
			}
			if chunk := r.Input.Get("chunk"); chunk != nil && chunk.Get("offset").Text != strictjson.Int(int64(got.Len())).Text {
				t.Errorf("%s: offset %s after %d bytes", name, chunk.Get("offset").Text, got.Len())
			}
			got.WriteString(part)
		}
		if got.String() != data {
			t.Errorf("%s: %d bytes came, want %d", name, got.Len(), len(data))
		}
	}
}

// What the host denies is told, and nothing is done here: the file is as it was.
func TestInsideDenied(t *testing.T) {
	host, c := outside(t)
	path := filepath.Join(c.dir, "denied")
	if err := os.WriteFile(path, []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"write", "denied"}, {"edit", "denied", "before", "after"}, {"rm", "denied"}} {
		status, out, errs := c.run("after", args...)
		want := "brainbox: " + args[0] + ": denied: not \\x1b[31mthis (permission_denied)\n"
		if status != 1 || out != "" || errs != want {
			t.Errorf("%q: %d, %q, %q", args, status, out, errs)
		}
		status, out, errs = c.run("after", append([]string{args[0], "--json"}, args[1:]...)...)
		if status != 1 || errs != "" || !json.Valid([]byte(out)) || !strings.Contains(out, `"permission_denied"`) {
			t.Errorf("%q as JSON: %d, %q, %q", args, status, out, errs)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "before" {
		t.Errorf("the file is now %q, %v", got, err)
	}
	if len(host.Calls()) != 6 {
		t.Errorf("%d calls, want 6: nothing is tried again", len(host.Calls()))
	}
}

func TestCall(t *testing.T) {
	host, c := outside(t)
	status, out, errs := c.run("", "call", "read_file", `{"path":"x","n":1.10}`)
	if status != 0 || errs != "" || !strings.HasPrefix(out, `{"schema":"wp-codebox/parent-tool-result/v1"`) || strings.Count(out, "\n") != 1 {
		t.Errorf("%d, %q, %q", status, out, errs)
	}
	if got := last(host); got != `read_file {"path":"x","n":1.10}` {
		t.Errorf("asked for %s", got)
	}
	if status, out, _ := c.run(`[1]`, "call", "x.y", "-"); status != 0 || last(host) != "x.y [1]" {
		t.Errorf("from standard input: %d, %q, %s", status, out, last(host))
	}
	if status, out, _ := c.run("", "call", "--output", "query_activity"); status != 0 || out != "it is\nso\x1b" {
		t.Errorf("the output alone: %d, %q", status, out)
	}
	if status, out, errs := c.run("", "call", "--output", "read_file", `{"path":"denied"}`); status != 1 || out != "" || !strings.Contains(errs, "denied: ") {
		t.Errorf("no output: %d, %q, %q", status, out, errs)
	}
	if status, out, errs := c.run("", "call", "read_file", `{"path":"denied"}`); status != 1 || errs != "" || !strings.Contains(out, `"status":"denied"`) {
		t.Errorf("a denial: %d, %q, %q", status, out, errs)
	}
}

// What cannot be a call, and where there is nobody to be called, is 125 and no call.
func TestInsideRefuses(t *testing.T) {
	host, c := outside(t)
	for _, args := range [][]string{
		{"call"},
		{"call", "a b"},
		{"call", "x", "{"},
		{"call", "x", `{"a":1,"a":2}`},
		{"call", "x", "{}", "y"},
		{"write"},
		{"write", "a", "b"},
		{"write", "/etc/passwd"},
		{"write", "../../x"},
		{"write", "--root", "nope", "x"},
		{"write", "--base", "abc", "x"},
		{"write", "--create", "--append", "x"},
		{"write", "--nope", "x"},
		{"edit", "old", "a"},
		{"edit", "--files", "old", "nope", "old"},
		{"mv", "old"},
		{"mv", "old", "/nonexistent/o/x"},
		{"rm", ".."},
		{"mask", "--root", "o", "x.png"},
		{"mcp", "x"},
	} {
		status, out, errs := c.run("", args...)
		if lines := strings.Split(strings.TrimSuffix(errs, "\n"), "\n"); status != 125 || out != "" || len(lines) > 2 || !strings.HasPrefix(lines[0], "brainbox: ") {
			t.Errorf("%q: %d, %q, %q", args, status, out, errs)
		}
	}
	if n := len(host.Calls()); n != 0 {
		t.Errorf("the host saw %d calls, the last %s", n, last(host))
	}
	c.socket = ""
	for _, args := range [][]string{{"call", "x"}, {"write", "f"}, {"edit", "f", "a", "b"}, {"mask", "f"}, {"rm", ".."}, {"mv", "f", "g"}} {
		status, out, errs := c.run("", args...)
		if status != 125 || out != "" || !strings.Contains(errs, "no bridge") || !strings.Contains(errs, "brainbox run --bridge FILE") {
			t.Errorf("%q without a bridge: %d, %q, %q", args, status, out, errs)
		}
	}
	if _, err := os.Stat(filepath.Join(c.dir, "f")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file was made without a bridge: %v", err)
	}
	host.Stop()
	c.socket = host.Socket
	if status, _, errs := c.run("", "call", "x"); status != 125 || !strings.Contains(errs, "cannot be used") {
		t.Errorf("a bridge that is gone: %d, %q", status, errs)
	}
}
