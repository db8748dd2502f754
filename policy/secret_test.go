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

// What programs of many people keep their credentials in is on the list.
func TestSecretsKnowCommonPlaces(t *testing.T) {
	holds := func(path string) bool {
		for at := path; at != "/"; at = at[:max(1, strings.LastIndexByte(at, '/'))] {
			for _, s := range Secrets() {
				if MatchName(s.Expand("/h"), at) {
					return true
				}
			}
		}
		return false
	}
	for _, path := range []string{
		"/h/.ssh/id_rsa", "/h/.config/gh/hosts.yml", "/h/.local/share/keyrings/login.keyring", "/h/.mozilla/firefox", "/h/.config/mozilla/firefox",
		"/h/.bash_history", "/h/.zsh_history", "/h/.python_history", "/h/.psql_history", "/h/.lesshst", "/h/.viminfo", "/h/.git-credentials",
		"/h/.config/git/credentials", "/h/.terraform.d/credentials.tfrc.json", "/h/.m2/settings.xml", "/h/.gradle/gradle.properties", "/h/.pgpass",
		"/h/.my.cnf", "/h/.config/rclone/rclone.conf", "/h/.config/containers/auth.json", "/h/.claude.json", "/h/.claude/x", "/h/.codex/auth.json",
		"/h/.config/openai/key", "/h/.wrangler/config", "/h/.vault-token", "/h/.config/doctl/config.yaml", "/h/.oci/config", "/h/.local/share/uv/credentials/x",
		"/etc/sudoers", "/etc/ssl/private/x", "/etc/samba/smbpasswd", "/etc/credstore.encrypted/x", "/var/backups/shadow.bak", "/run/credentials/x",
	} {
		if !holds(path) {
			t.Errorf("%s is no secret", path)
		}
	}
	for _, path := range []string{"/h", "/h/src/x", "/h/.cargo/bin", "/h/.m2/repository", "/h/.cache/go-build", "/etc/passwd", "/usr/bin/sh"} {
		if holds(path) { // control
			t.Errorf("%s is a secret", path)
		}
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
