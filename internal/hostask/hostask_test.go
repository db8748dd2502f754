package hostask

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"brainbox/internal/toolask"
)

var full = Config{
	Session: "0123456789abcdef", Dir: "/run/user/1/brainbox/01234567", State: "/home/u/.local/state/brainbox", Envelope: "{\n}",
	Roots: []Root{{"repo", "/w \x1b", 4}}, Keep: []string{"/w/.git/hooks"}, Hide: []string{"/w/secret"}, Writes: []string{"/w"},
	Gate: toolask.Request{
		Tools: []string{"bash"}, Confirm: []toolask.Pattern{{Pattern: "a", Effect: "b"}}, Homes: []string{}, Roots: []string{"/w"}, Dir: "/w",
		Rules: []toolask.Rule{{Surface: "bash", Pattern: "x", Action: "deny", Where: "p:1"}},
	},
	Agent: 5, UI: 6, Conn: -1, Terminal: 7, UID: 1000,
}

func TestConfigRefuses(t *testing.T) {
	good := string(full.Encode())
	for _, c := range [][2]string{
		{`"protocol":1`, `"protocol":2`},
		{`"version":"`, `"version":"x`},
		{`"session":"0123456789abcdef",`, ``},
		{`"session"`, `"Session"`},
		{`"uid":1000`, `"uid":-1`},
		{`"uid":1000`, `"uid":4294967296`},
		{`"name":"repo"`, `"name":"repo","x":1`},
		{`"fd":4`, `"fd":2`}, // a standard one
		{`"fd":4`, `"fd":3`}, // the control socket
		{`"fd":4`, `"fd":5`}, // the agent's
		{`"agent":6`, `"agent":0`},
		{`"agent":6`, `"agent":7`},
		{`"agent":6`, `"agent":5000`},
		{`"ui":7`, `"ui":0`},
		{`"terminal":8`, `"terminal":6`},
		{`"any_tool":false,`, ``}, // of the gate's
		{`"keep":["`, `"keep":[1,"`},
	} {
		if got, err := DecodeConfig([]byte(strings.Replace(good, c[0], c[1], 1))); err == nil || !strings.Contains(good, c[0]) {
			t.Errorf("%s in place of %s: %+v", c[1], c[0], got)
		}
	}
	got, err := DecodeConfig([]byte(good)) // positive control
	want := full
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestReplyRefuses(t *testing.T) {
	want := Reply{Error: "no", Hint: "try", Warnings: []string{"w"}}
	good := want.Encode()
	for _, c := range [][2]string{{`"protocol":1`, `"protocol":2`}, {`"version":"`, `"version":"x`}, {`"error":"no"`, `"error":1`}, {`"warnings":["w"]`, `"warnings":"w"`}} {
		changed := bytes.Replace(good, []byte(c[0]), []byte(c[1]), 1)
		if _, err := DecodeReply(changed); err == nil || bytes.Equal(changed, good) {
			t.Errorf("%s in place of %s is read", c[1], c[0])
		}
	}
	got, err := DecodeReply(good)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestReadLine(t *testing.T) {
	for text, want := range map[string]error{"": io.ErrUnexpectedEOF, "{": io.ErrUnexpectedEOF, "a\nb": nil, "a\nb\n": nil} {
		if line, err := ReadLine(strings.NewReader(text)); err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%q gives %q", text, line)
		}
	}
	if _, err := ReadLine(endless{}); err == nil {
		t.Error("a line without an end is read")
	}
	if line, err := ReadLine(iotest.OneByteReader(strings.NewReader("ab\n"))); err != nil || string(line) != "ab\n" {
		t.Errorf("%q, %v", line, err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

func FuzzDecodeConfig(f *testing.F) {
	f.Add(full.Encode())
	f.Add([]byte(`{"protocol":1}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		_, _ = DecodeReply(line)
		c, err := DecodeConfig(line)
		if err != nil {
			return
		}
		again, err := DecodeConfig(c.Encode())
		if diff := cmp.Diff(c, again); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	})
}
