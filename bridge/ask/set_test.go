package ask

import (
	"slices"
	"testing"

	"brainbox/bridge/spec"
)

// good is an input of each tool that a tool of this package takes.
var good = map[string]string{
	"ask_user":       ask(question),
	"ask_user_list":  list(items("a"), ""),
	"ask_user_rank":  `{"prompt":"p","items":` + items("a", "b") + `}`,
	"ask_user_form":  form(single("a", "")),
	"query_activity": `{"scope":"recent"}`,
}

// TestNoGrantSurface: what needs a person's eyes is refused in a turn without any, and by
// nothing else: ask_user can be read aloud.
func TestNoGrantSurface(t *testing.T) {
	for _, name := range []string{"ask_user_list", "ask_user_rank", "ask_user_form"} {
		got, err := call(t, newSet(t, Config{Host: never{t}, Posture: unattended}), name, good[name])
		refusal(t, name, got, err, name, "permission_denied")
		wantRefusal(t, newSet(t, Config{Posture: unattended}), name, good[name], "permission_denied")
	}
	s := newSet(t, Config{Host: userHost(func(UserRequest) (UserAnswer, error) { return UserAnswer{}, nil }), Posture: unattended})
	if _, err := call(t, s, "ask_user", good["ask_user"]); err != nil {
		t.Errorf("ask_user: %v", err)
	}
	if _, err := call(t, newSet(t, Config{Host: record(t, `[]`).c.Host, Posture: unattended}), "query_activity", good["query_activity"]); err != nil {
		t.Errorf("query_activity: %v", err)
	}
}

// TestOffered: what is announced is what can be called, and ask_user in any case.
func TestOffered(t *testing.T) {
	all := []string{"ask_user", "ask_user_list", "ask_user_rank", "ask_user_form", "query_activity"}
	for _, c := range []struct {
		what string
		c    Config
		want []string
	}{
		{"everything", Config{Host: never{t}}, all},
		{"nobody looks", Config{Host: never{t}, Posture: unattended}, []string{"ask_user", "query_activity"}},
		{"no host", Config{}, []string{"ask_user"}},
		{"lists alone", Config{Host: listHost(nil)}, []string{"ask_user", "ask_user_list"}},
	} {
		if got := newSet(t, c.c).Offered(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", c.what, got)
		}
	}
	for i, x := range newSet(t, Config{}).Tools() {
		if _, ok := spec.Find(x.Name()); !ok || x.Name() != all[i] {
			t.Errorf("tool %d is %q", i, x.Name())
		}
	}
}
