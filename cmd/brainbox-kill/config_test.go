package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What every policy begins with.
const (
	version1     = "version = 1\n"
	sandboxTable = version1 + "[sandbox]\n"
)

func TestParseConfig(t *testing.T) {
	agent := &identity{user: "agent"}
	tests := []struct {
		name, text string
		want       helperConfig
		err        string
	}{
		{"version only", version1, helperConfig{}, ""},
		{"empty", "", helperConfig{}, "version"},
		{"another version", "version = 2\n", helperConfig{}, "version"},
		{"no sandbox", version1 + "extends = [\"default\"]\n[network]\nmode = \"none\"\n", helperConfig{}, ""},
		{"user only", sandboxTable + "identity = { user = \"agent\" }\n", helperConfig{identity: agent}, ""},
		{
			"all", sandboxTable + "identity = { user = \"agent\", group = 20002, groups = [] }\ncallers = [\"brain\", 10003]\n",
			helperConfig{identity: &identity{"agent", "20002"}, callers: []string{"brain", "10003"}},
			"",
		},
		{"number", sandboxTable + "identity = { user = 0 }\n", helperConfig{identity: &identity{user: "0"}}, ""},
		{"not TOML", "[sandbox", helperConfig{}, "toml"},
		{"twice", sandboxTable + "callers = []\ncallers = [\"x\"]\n", helperConfig{}, "toml"},
		{"misspelt key", sandboxTable + "identiy = { user = \"agent\" }\n", helperConfig{}, "identiy"},
		{"misspelt table", version1 + "[sandox]\nidentity = { user = \"agent\" }\n", helperConfig{}, `"sandox"`},
		{"misspelt user", sandboxTable + "identity = { usr = \"agent\" }\n", helperConfig{}, "usr"},
		{"no user", sandboxTable + "identity = { group = \"agent\" }\n", helperConfig{}, "user"},
		{"empty user", sandboxTable + "identity = { user = \"\" }\n", helperConfig{}, "user"},
		{"negative", sandboxTable + "identity = { user = -1 }\n", helperConfig{}, "number"},
		{"empty group", sandboxTable + "identity = { user = \"agent\", group = \"\" }\n", helperConfig{}, "group"},
		{"identity is a word", sandboxTable + "identity = \"agent\"\n", helperConfig{}, "table"},
		{"sandbox is a list", version1 + "sandbox = []\n", helperConfig{}, "table"},
		{"callers is a word", sandboxTable + "callers = \"brain\"\n", helperConfig{}, "list"},
		{"caller is a truth value", sandboxTable + "callers = [true]\n", helperConfig{}, "callers"},
		{"extends a file", version1 + "extends = [\"./base.toml\"]\n", helperConfig{}, "extends"},
		{"extends a file, alone", version1 + "extends = \"base.toml\"\n", helperConfig{}, "extends"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseConfig([]byte(tt.text))
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) || got.identity != nil || got.callers != nil {
					t.Errorf("parseConfig = %+v, %v, want %q", got, err, tt.err)
				}
				return
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(helperConfig{}, identity{})); err != nil || diff != "" {
				t.Errorf("parseConfig = %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte(sandboxTable + "identity = { user = \"agent\", group = 5 }\ncallers = [\"brain\", 10003]\n"))
	f.Add([]byte(version1 + "extends = [\"default\"]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		cfg, err := parseConfig(text)
		if err == nil && cfg.identity != nil && cfg.identity.user == "" {
			t.Errorf("parseConfig(%q) has an identity without a user", text)
		}
	})
}
