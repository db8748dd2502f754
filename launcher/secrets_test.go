package launcher

import (
	"testing"

	"brainbox/policy"
)

// A place of secrets, what is in it and a folder around it are told, of the named list and of
// brainbox itself; a neighbour, the home folder and the root are not.
func TestSecretPlaces(t *testing.T) {
	pl := &Place{Home: "/home/u", TmpBase: "/tmp", xdg: [5]string{"/home/u/.config", "", "", "/home/u/.local/state", ""}}
	f := &Facts{Place: pl}
	for path, want := range map[string]bool{
		"/home/u/.ssh": true, "/home/u/.ssh/id_rsa": true, "/home/u/.cargo/credentials.toml": true, "/home/u/.config": true, "/etc/shadow-": true,
		"/etc/ssh/ssh_host_rsa_key": true, "/etc": true, "/srv/other/.ssh/id_ed25519": true,
		"/home/u/.sshd": false, "/home/u/.cargo/config.toml": false, "/home/u": false, "/": false, "/etc/passwd": false, "/etc/ssh/ssh_config": false,
		"/srv/other/.ssh/id_ed25519.pub": false,
	} {
		if got := f.Secret(path); (got != "") != want {
			t.Errorf("%s: %q", path, got)
		}
	}
	all := map[string]bool{}
	for _, c := range pl.Secrets() {
		if c.What == "" || c.Path == "" {
			t.Errorf("%+v", c)
		}
		all[c.Path] = true
	}
	for _, path := range []string{"/home/u/.local/state/brainbox", "/home/u/.config/brainbox", "/tmp/brainbox-0", "/home/u/.ssh", "/etc/shadow*"} {
		if !all[path] {
			t.Errorf("the list lacks %s", path)
		}
	}
	if len(all) < len(policy.Secrets()) {
		t.Errorf("%d places of %d", len(all), len(policy.Secrets()))
	}
}
