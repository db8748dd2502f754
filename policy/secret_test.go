package policy

import (
	"strings"
	"testing"
)

// The list names places, each once, in a form that can be matched, and no place that would
// close all of the home or of the system.
func TestSecretsAreNamed(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range Secrets() {
		dir, name := s.Path[:strings.LastIndexByte(s.Path, '/')+1], s.Path[strings.LastIndexByte(s.Path, '/')+1:]
		switch {
		case seen[s.Path]:
			t.Errorf("%s is listed twice", s.Path)
		case s.What == "" || name == "" || name == "*":
			t.Errorf("%q has no name, or closes too much", s)
		case strings.Contains(dir, "*") || strings.Count(name, "*") > 1:
			t.Errorf("%s: MatchName cannot match it", s.Path)
		case !strings.HasPrefix(s.Path, "/") && !strings.HasPrefix(s.Path, "~/"):
			t.Errorf("%s is neither absolute nor in the home", s.Path)
		}
		seen[s.Path] = true
		if got := s.Expand(""); strings.HasPrefix(s.Path, "~") && got != "" {
			t.Errorf("%s without a home is %q", s.Path, got)
		}
	}
	if len(seen) < 50 {
		t.Errorf("%d places", len(seen))
	}
}

func TestMatchName(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"/h/.ssh", "/h/.ssh", true},
		{"/h/.ssh", "/h/.sshx", false},
		{"/h/.ssh", "/h/.ssh/id", false},
		{"/h/.cargo/credentials*", "/h/.cargo/credentials", true},
		{"/h/.cargo/credentials*", "/h/.cargo/credentials.toml", true},
		{"/h/.cargo/credentials*", "/h/.cargo/credentials/x", false},
		{"/h/.cargo/credentials*", "/h/.cargo/config", false},
		{"/h/.m2/settings*.xml", "/h/.m2/settings.xml", true},
		{"/h/.m2/settings*.xml", "/h/.m2/settings-security.xml", true},
		{"/h/.m2/settings*.xml", "/h/.m2/settings", false},
		{"/h/.*_history", "/h/.bash_history", true},
		{"/h/.*_history", "/h/._histor", false},
		{"/h/ab*ba", "/h/aba", false},
	} {
		if got := MatchName(c.pattern, c.path); got != c.want {
			t.Errorf("%s matches %s: %v", c.pattern, c.path, got)
		}
	}
}
