package bridge

import (
	"strings"
	"testing"

	"brainbox/gate/prompt"
	"brainbox/internal/strictjson"
)

// FuzzReadAnswer: what is no denial word by word is none, and what widens an approval was
// asked for by its name.
func FuzzReadAnswer(f *testing.F) {
	digest := strings.Repeat("0", 64)
	f.Add(`{"requestId":"a","decision":"approve","digest":"` + digest + `"}`)
	f.Add(`{"requestId":"a","decision":"approve_session","scope":"whole_session","forMs":5,"digest":"` + digest + `"}`)
	f.Add(`{"requestId":"a","decision":"deny","reason":"x","digest":"` + digest + `"}`)
	f.Add(`{"requestId":"a","decision":"approve","editedInput":{"a":[1e5]},"digest":"` + digest + `"}`)
	f.Fuzz(func(t *testing.T, text string) {
		v, err := strictjson.Decode([]byte(text), strictjson.Limits{})
		if err != nil {
			return
		}
		a, err := readAnswer(v)
		if err != nil {
			return
		}
		word := v.Get("decision").Text
		if (a.Decision == prompt.Approve) != (word == "approve" || word == "approve_session") {
			t.Errorf("%s: %+v", text, a)
		}
		if a.Scope != (prompt.Scope{}) && word != "approve_session" || a.Scope.WholeSession && v.Get("scope").Text != "whole_session" {
			t.Errorf("%s: %+v", text, a.Scope)
		}
		if a.Digest.String() != v.Get("digest").Text || a.ID != v.Get("requestId").Text {
			t.Errorf("%s: %+v", text, a)
		}
	})
}
