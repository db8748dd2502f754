package toolask

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var full = Request{
	Tools: []string{"bash"}, OtherTools: true, Confirm: []Pattern{{"a", "b"}}, ConfirmMore: []Pattern{{"c", ""}},
	Rules: []Rule{{"bash", "git *", "deny", true, "p:1:2", "not here"}}, AllowReads: true, Homes: []string{"/h"}, Roots: []string{"/w"}, Dir: "/w",
	Tool: "bash", Text: "git\npush \"x\"",
}

func TestRequestRefuses(t *testing.T) {
	good := string(full.Encode())
	for _, c := range [][2]string{
		{`"protocol":1`, `"protocol":2`},
		{`"any_tool":false,`, ``},
		{`"any_tool":false`, `"any_tool":"no"`},
		{`"tighten":true`, `"tighten":true,"x":1`},
		{`"surface"`, `"Surface"`},
		{`"text":"`, `"text":"\u0000`},
	} {
		if _, err := DecodeRequest([]byte(strings.Replace(good, c[0], c[1], 1))); err == nil || !strings.Contains(good, c[0]) {
			t.Errorf("%s in place of %s: %v", c[1], c[0], err)
		}
	}
	got, err := DecodeRequest([]byte(good)) // positive control
	if diff := cmp.Diff(full, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestReplyRefuses(t *testing.T) {
	want := Reply{
		Problems: []Problem{{"rule", 3, "wrong", true}},
		Answer:   &Answer{Action: "ask", By: Reason{Action: "ask", Surface: "bash", Floor: "<x>", Row: ".git"}, Asks: []Reason{{Action: "ask", Where: "p:1"}}},
	}
	good := want.Encode()
	for _, c := range [][2]string{
		{`"protocol":1`, `"protocol":2`},
		{`"version":"`, `"version":"x`},
		{`"answer":{"action":"ask"`, `"answer":{"action":"maybe"`},
		{`"floor":"<x>",`, ``},
		{`"index":3`, `"index":-1`},
	} {
		changed := bytes.Replace(good, []byte(c[0]), []byte(c[1]), 1)
		if _, err := DecodeReply(changed); err == nil || bytes.Equal(changed, good) {
			t.Errorf("%s in place of %s: %v", c[1], c[0], err)
		}
	}
	got, err := DecodeReply(good)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	none := Reply{}
	if got, err = DecodeReply(none.Encode()); err != nil || got.Answer != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(full.Encode())
	f.Add([]byte(`{"protocol":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		_, _ = DecodeReply(text)
		r, err := DecodeRequest(text)
		if err != nil {
			return
		}
		again, err := DecodeRequest(r.Encode())
		if err != nil || again.Text != r.Text || len(again.Rules) != len(r.Rules) {
			t.Errorf("%v: %+v became %+v", err, r, again)
		}
	})
}
