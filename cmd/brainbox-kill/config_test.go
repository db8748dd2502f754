package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseConfig(t *testing.T) {
	agent := &identity{user: "agent"}
	tests := []struct {
		name, text string
		want       helperConfig
		err        string
	}{
		{"empty", "", helperConfig{}, ""},
		{"no sandbox", "version = 1\nextends = [\"default\"]\n[network]\nmode = \"none\"\n", helperConfig{}, ""},
		{"user only", "[sandbox]\nidentity = { user = \"agent\" }\n", helperConfig{identity: agent}, ""},
		{
			"all", "[sandbox]\nidentity = { user = \"agent\", group = 20002, groups = [] }\ncallers = [\"brain\", 10003]\n",
			helperConfig{identity: &identity{"agent", "20002"}, callers: []string{"brain", "10003"}},
			"",
		},
		{"number", "[sandbox]\nidentity = { user = 0 }\n", helperConfig{identity: &identity{user: "0"}}, ""},
		{"not TOML", "[sandbox", helperConfig{}, "toml"},
		{"twice", "[sandbox]\ncallers = []\ncallers = [\"x\"]\n", helperConfig{}, "toml"},
		{"misspelt key", "[sandbox]\nidentiy = { user = \"agent\" }\n", helperConfig{}, `"sandbox.identiy"`},
		{"misspelt table", "[sandox]\nidentity = { user = \"agent\" }\n", helperConfig{}, `"sandox"`},
		{"misspelt user", "[sandbox]\nidentity = { usr = \"agent\" }\n", helperConfig{}, `"sandbox.identity.usr"`},
		{"no user", "[sandbox]\nidentity = { group = \"agent\" }\n", helperConfig{}, "identity.user"},
		{"empty user", "[sandbox]\nidentity = { user = \"\" }\n", helperConfig{}, "identity.user"},
		{"negative", "[sandbox]\nidentity = { user = -1 }\n", helperConfig{}, "identity.user"},
		{"empty group", "[sandbox]\nidentity = { user = \"agent\", group = \"\" }\n", helperConfig{}, "identity.group"},
		{"identity is a word", "[sandbox]\nidentity = \"agent\"\n", helperConfig{}, "want a table"},
		{"sandbox is a list", "sandbox = []\n", helperConfig{}, "want a table"},
		{"callers is a word", "[sandbox]\ncallers = \"brain\"\n", helperConfig{}, "want a list"},
		{"caller is a truth value", "[sandbox]\ncallers = [true]\n", helperConfig{}, "callers"},
		{"extends a file", "extends = [\"./base.toml\"]\n", helperConfig{}, "extends"},
		{"extends a file, alone", "extends = \"base.toml\"\n", helperConfig{}, "extends"},
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
	f.Add([]byte("[sandbox]\nidentity = { user = \"agent\", group = 5 }\ncallers = [\"brain\", 10003]\n"))
	f.Add([]byte("extends = [\"default\"]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		cfg, err := parseConfig(text)
		if err == nil && cfg.identity != nil && cfg.identity.user == "" {
			t.Errorf("parseConfig(%q) has an identity without a user", text)
		}
	})
}
