package envelope

import (
	"slices"
	"testing"
)

func TestSecrets(t *testing.T) {
	env := map[string]string{"TOK": "1", "OTHER": "unseen-value"}
	getenv := func(name string) string { return env[name] }
	for name, c := range map[string]struct {
		b    *Bridge
		want []string
	}{
		"no bridge":    {nil, nil},
		"nothing":      {&Bridge{}, nil},
		"the token":    {&Bridge{Endpoint: &Endpoint{TokenVariable: "TOK"}}, []string{"1"}},
		"an unset one": {&Bridge{Endpoint: &Endpoint{TokenVariable: "NONE"}}, nil},
		"of a command": {&Bridge{Command: &Command{Env: []Variable{
			{"TOOL_TOKEN", "tok-value"}, {"AUTH", "1"}, {"LANG", "en_US.UTF-8"}, {"api_key", "k-value"},
		}}}, []string{"tok-value", "k-value"}},
	} {
		if got := c.b.Secrets(getenv); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
