//go:build cgo

package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"brainbox/internal/strictjson"
	"brainbox/internal/version"
	"brainbox/seccomp"

	"github.com/google/go-cmp/cmp"
)

const small = `{"defaultAction":"SCMP_ACT_ERRNO","defaultErrnoRet":38,
	"syscalls":[{"names":["read","chown32"],"action":"SCMP_ACT_ALLOW"}]}`

// strict is how what strictjson refuses begins.
const strict = "brainbox: seccomp: strictjson: "

func refusesArg(quoted string) string {
	return "brainbox: seccomp: " + quoted + ": brainbox-seccomp " + version.String() + " takes only --protocol=1\n"
}

func TestRunRefuses(t *testing.T) {
	tests := []struct {
		name, stdin, stderr string
		args                []string
	}{
		{"nothing on standard input", "", "brainbox: seccomp: standard input is empty\n", nil},
		{
			"another protocol", small, refusesArg(`"--protocol=2"`),
			[]string{"--protocol=2"},
		},
		{
			"a file name", small, refusesArg(`"x\x1b.json"`),
			[]string{"x\x1b.json"},
		},
		{"an array", "[]", "brainbox: seccomp: the profile is not a JSON object\n", nil},
		{"a broken text", small[:40], strict + "not_json at byte 40: unexpected end\n", nil},
		{"a second object", small + small, strict + "not_json at byte 125: text after the value\n", nil},
		{"an unknown key", `{"x\u001b":1}`, `brainbox: seccomp: unknown key "x\x1b"` + "\n", nil},
		{"a key in the wrong object", `{"names":[]}`, `brainbox: seccomp: json: unknown field "names"` + "\n", nil},
		{
			"a key in other letters", `{"DefaultAction":"SCMP_ACT_ALLOW"}`,
			`brainbox: seccomp: unknown key "DefaultAction"` + "\n", nil,
		},
		{
			"a key twice", `{"syscalls":[{"names":["read"],"action":"SCMP_ACT_ERRNO","action":"SCMP_ACT_ALLOW"}]}`,
			strict + "duplicate_key at byte 57: field action: key occurs twice in one object\n", nil,
		},
		{
			"a key twice that is a terminal's command", `{"\u001b[2J":1,"\u001b[2J":1}`,
			strict + `duplicate_key at byte 15: field \u{1b}[2J: key occurs twice in one object` + "\n", nil,
		},
		{"invalid UTF-8", "{\"defaultAction\":\"\xff\"}", strict + "encoding_invalid at byte 18: not UTF-8\n", nil},
		{"more than 1 MiB", small + strings.Repeat(" ", maxProfile), strict + "frame_too_large at byte " +
			"1048576: longer than the limit\n", nil},
		{"what can not be honoured", `{"defaultAction":"SCMP_ACT_NOTIFY"}`, "brainbox: seccomp: compile: this profile " +
			"can not be honoured: defaultAction: SCMP_ACT_NOTIFY needs a listener\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if got := run(tt.args, strings.NewReader(tt.stdin), &stdout, &stderr); got != 125 {
				t.Errorf("status = %d, want 125", got)
			}
			if diff := cmp.Diff(tt.stderr, stderr.String()); diff != "" {
				t.Error(diff)
			}
			if stdout.Len() != 0 {
				t.Errorf("stdout = %q, want nothing", &stdout)
			}
		})
	}
}

func TestRun(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if got := run([]string{"--protocol=1"}, strings.NewReader(small), &stdout, &stderr); got != 0 || stderr.Len() != 0 {
		t.Fatalf("status = %d, stderr = %q", got, &stderr)
	}
	var got map[string]any
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	raw, err := base64.StdEncoding.DecodeString(got["bpf"].(string))
	if err != nil {
		t.Fatal(err)
	}
	p, err := seccomp.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	if err := seccomp.Check(p); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]string{"read": "allow", "write": "errno ENOSYS"} {
		if v, err := seccomp.Explain(p, name); err != nil || v.String() != want {
			t.Errorf("Explain(%s) = %v, %v, want %s", name, v, err, want)
		}
	}
	delete(got, "bpf")
	if v, _ := got["libseccomp"].(string); strings.Count(v, ".") != 2 {
		t.Errorf("libseccomp = %q", v)
	}
	delete(got, "libseccomp")
	want := map[string]any{
		"protocol": 1.0, "version": version.String(), "arch": runtime.GOARCH, "dropped": []any{"chown32"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestRunLints has a profile that can not even be read judged, not refused.
func TestRunLints(t *testing.T) {
	for text, want := range map[string]string{
		small: `"rule":"start"`, "": `"rule":"json"`, "[]": `"rule":"json"`, small + small: `"rule":"json"`,
		small + strings.Repeat(" ", maxProfile): "longer than the limit", `{"x\u001b":1}`: `unknown key`,
	} {
		var stdout, stderr bytes.Buffer
		if got := run([]string{"--protocol=1", "--lint"}, strings.NewReader(text), &stdout, &stderr); got != 0 || stderr.Len() != 0 {
			t.Fatalf("status = %d, stderr = %q", got, &stderr)
		}
		var got lintReport
		if err := json.Unmarshal(stdout.Bytes(), &got); err != nil || got.Protocol != protocol || got.Version != version.String() {
			t.Errorf("%.80s: %+v, %v", text, got, err)
		}
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("%.80s: %.300s, want %s", text, &stdout, want)
		}
	}
	var stdout bytes.Buffer // without --lint the same is compiled
	if got := run([]string{"--protocol=1"}, strings.NewReader(small), &stdout, io.Discard); got != 0 || !strings.Contains(stdout.String(), `"bpf"`) {
		t.Errorf("status = %d, %q", got, &stdout)
	}
}

func TestRunPrintsVersionAndHelp(t *testing.T) {
	for arg, want := range map[string]string{
		"--version": "brainbox-seccomp " + version.String() + " (protocol 1, libseccomp ", "--help": "usage: ",
	} {
		var stdout, stderr bytes.Buffer
		if got := run([]string{arg}, nil, &stdout, &stderr); got != 0 || stderr.Len() != 0 {
			t.Errorf("%s: status = %d, stderr = %q", arg, got, &stderr)
		}
		if !strings.HasPrefix(stdout.String(), want) {
			t.Errorf("%s prints %q", arg, &stdout)
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestRunReportsThatItCouldNotWrite(t *testing.T) {
	var stderr bytes.Buffer
	if got := run(nil, strings.NewReader(small), fullDisk{}, &stderr); got != 125 || stderr.Len() == 0 {
		t.Errorf("status = %d, stderr = %q", got, &stderr)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{small, "{}", `{"syscalls":[{"args":[{"index":0}]}]}`, `{"a":{"a":[]}}`, "[", "{}}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := parse(text)
		if err != nil {
			return
		}
		// What is taken is what encoding/json alone takes, and no less.
		again, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		q, err := parse(again)
		var large *strictjson.Error
		if err != nil && !errors.As(err, &large) { // it has grown over a limit
			t.Fatalf("parse(%s) = %v", again, err)
		}
		if q != nil && !cmp.Equal(p.DefaultAction, q.DefaultAction) {
			t.Fatal("the profile changed on the way")
		}
	})
}
