package integration

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brainbox/policy"
)

// secrets are files of credentials in a home folder, as programs name them.
var secrets = []string{
	".npmrc", ".netrc", ".yarnrc.yml", ".pypirc", ".pgpass", ".my.cnf", ".git-credentials", ".vault-token",
	".bash_history", ".python_history", ".authinfo", ".Xauthority", ".envrc",
	".cargo/credentials", ".cargo/credentials.toml", ".cargo/config.toml", ".cargo/env",
	".ssh/id_ed25519", ".ssh/config", ".gnupg/private-keys-v1.d/key", ".aws/credentials", ".aws/config",
	".azure/accessTokens.json", ".kube/config", ".docker/config.json", ".terraform.d/credentials.tfrc.json",
	".gem/credentials", ".bundle/config", ".m2/settings.xml", ".gradle/gradle.properties", ".composer/auth.json",
	".config/gh/hosts.yml", ".config/git/credentials", ".config/gcloud/credentials.db", ".config/pip/pip.conf",
	".config/containers/auth.json", ".config/brainbox/operator.key", ".config/go/env", ".config/rclone/rclone.conf",
	".local/share/keyrings/login.keyring", ".local/state/brainbox/key", ".password-store/x.gpg",
	".mozilla/firefox/x/logins.json", ".nvm/.npmrc", ".volta/hooks.json", ".asdf/.npmrc",
	".local/share/mise/trusted-configs/x", "go/auth.json", ".local/share/uv/credentials/credentials.toml",
	".config/pnpm/rc", ".config/pypoetry/auth.toml", ".cache/huggingface/token", ".nodenv/.npmrc", ".deno/token",
	".bun/install/auth", ".local/share/pypoetry/auth", ".cache/other/session", ".gdbinit", ".gvm/token", "Documents/private.txt",
}

// tools are files of toolchains in a home folder that the default grants; the positive
// control.
var tools = []string{
	".cargo/bin/cargo", ".cargo/registry/index", ".cargo/git/db", ".rustup/settings.toml", "go/bin/gopls",
	"go/pkg/mod/m", ".nvm/versions/node", ".pyenv/version", ".rbenv/version", ".asdf/shims/x", ".asdf/installs/x",
	".local/share/mise/installs/x", ".volta/bin/x", ".local/bin/x", ".local/lib/x",
}

// profileTools are what a profile grants beside them.
var profileTools = map[string][]string{
	"node": {
		".bun/bin/bun", ".deno/bin/deno", ".local/share/pnpm/pnpm", ".local/share/fnm/node-versions/x", ".nodenv/versions/x",
		".cache/node-gyp/x", ".cache/ms-playwright/x", ".cache/puppeteer/x", ".cache/Cypress/x",
	},
	"python": {
		".local/share/uv/python/x", ".local/share/uv/tools/x", ".local/share/pipx/venvs/x", ".local/pipx/venvs/x",
		".local/share/pypoetry/venv/x", ".cache/pypoetry/virtualenvs/x", ".local/share/virtualenvs/x",
	},
	"go":            {"sdk/go", ".gvm/gos/x", ".goenv/versions/x"},
	"offline-build": {".m2/repository/x"},
}

// toolsOf are the files that a profile lets be read in the planted home, in the order in
// which they are read.
func toolsOf(name string) []string {
	switch name {
	case "minimal":
		return nil
	case "offline-build":
		return slices.Concat(tools, profileTools["node"], profileTools["python"], profileTools["go"], profileTools[name])
	}
	return slices.Concat(tools, profileTools[name])
}

// plantedHome is a home folder with all of it; every file holds its own name.
func plantedHome(t *testing.T) (root, home, work string) {
	t.Helper()
	root, err := os.MkdirTemp("", "brainbox-home-") //nolint:usetesting // an ordinary user cannot reach t.TempDir
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	root, err = filepath.EvalSymlinks(root)
	must(t, err)
	must(t, os.Chmod(root, 0o755))
	home, work = filepath.Join(root, "home"), filepath.Join(root, "work")
	must(t, os.Mkdir(work, 0o755))
	for _, name := range slices.Concat(secrets, toolsOf("offline-build")) {
		path := filepath.Join(home, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, []byte(name+"\n"), 0o600))
	}
	return root, home, work
}

// TestNoProfileGrantsACredential lists what each profile grants in a home folder full of
// credentials, and then tries to read each of them.
func TestNoProfileGrantsACredential(t *testing.T) {
	kernel(t)
	root, home, work := plantedHome(t)
	env := []string{"HOME=" + home, "PATH=/usr/local/bin:/usr/bin:/bin", "TMPDIR=" + filepath.Join(root, "tmp")}
	must(t, os.Mkdir(filepath.Join(root, "tmp"), 0o700))
	as := func(argv ...string) *exec.Cmd {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env = env
		asOther(t, cmd, home, work, filepath.Join(root, "tmp"))
		return cmd
	}
	all := slices.Concat(secrets, toolsOf("offline-build"))
	script := `cd "$1" && shift && for f; do { read -r l <"$f"; } 2>/dev/null && echo "$l"; done; exit 0`
	argv := append([]string{"/bin/sh", "-c", script, "sh", home}, all...)
	bare := run(t, work, as(argv...))
	if want := strings.Join(all, "\n") + "\n"; bare.out != want {
		t.Fatalf("control: the bare program read\n%s%s", bare.out, bare.err)
	}
	for _, name := range policy.BuiltinNames() {
		flags := []string{"--isolation", isolation, "--profile", name}
		shown := run(t, work, as(append([]string{program("brainbox"), "check", "--json"}, flags...)...))
		var p plan
		if err := json.Unmarshal([]byte(shown.out), &p); err != nil {
			t.Fatalf("%s: brainbox check: %v\n%s", name, err, shown.err)
		}
		p.noSecret(t, name, home)
		want := ""
		for _, tool := range toolsOf(name) {
			want += tool + "\n"
		}
		flags = append(append([]string{program("brainbox"), "run"}, flags...), "--")
		if inside := run(t, work, as(append(flags, argv...)...)); inside.out != want {
			t.Errorf("%s: the confined program read\n%s\nwant\n%s\n%s", name, inside.out, want, inside.err)
		}
	}
}

// noSecret reports the planted secrets that lie in a grant.
func (p plan) noSecret(t *testing.T, profile, home string) {
	t.Helper()
	for _, secret := range secrets {
		for _, grant := range p.granted() {
			if policy.Below(filepath.Join(home, secret), grant) {
				t.Errorf("%s: %s lies in the grant %s", profile, secret, grant)
			}
		}
	}
}

// granted lists the resolved paths that a plan grants anything on.
func (p plan) granted() []string {
	var list []string
	for _, c := range p.Clauses {
		for _, e := range c.Entries {
			switch e.Right {
			case "read", "exec", "write", "write_exec":
				if e.State != "unused" && !strings.HasPrefix(e.Note, "private") {
					list = append(list, e.Target)
				}
			}
		}
	}
	return list
}

// TestDefaultGrantsNoSystemSecret walks all that the default grants below /etc, and asks
// for what must not be among it.
func TestDefaultGrantsNoSystemSecret(t *testing.T) {
	kernel(t)
	home, err := os.UserHomeDir()
	must(t, err)
	granted := check(t, t.TempDir()).granted()
	under := func(path string) string {
		for _, grant := range granted {
			if policy.Below(path, grant) {
				return grant
			}
		}
		return ""
	}
	if under("/etc/passwd") == "" || under("/usr/bin/env") == "" {
		t.Fatalf("control: /etc/passwd and /usr/bin/env are not granted: %q", granted)
	}
	for _, path := range []string{
		"/", "/etc", home, "/root", "/home", "/var", "/run", "/boot", "/srv", "/mnt", "/tmp", "/dev", "/sys",
		"/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssh/ssh_host_ed25519_key", "/etc/ssl/private",
		"/etc/environment", "/etc/profile.d", "/etc/pip.conf", "/etc/wgetrc", "/etc/npmrc", "/etc/fstab",
		"/etc/NetworkManager", "/etc/machine-id", "/etc/krb5.keytab", "/etc/docker", "/etc/kubernetes",
		home + "/.ssh", home + "/.npmrc", home + "/.netrc", home + "/.aws", home + "/.gnupg", home + "/.config",
		home + "/.cargo", home + "/.local", home + "/.local/share", home + "/.git-credentials", home + "/.gitconfig",
	} {
		if grant := under(path); grant != "" {
			t.Errorf("%s lies in the grant %s", path, grant)
		}
	}
	for _, grant := range granted {
		if strings.HasPrefix(grant, "/etc/") {
			privateKeys(t, grant)
		}
	}
}

// privateKeys reports files below a granted folder that only their owner may read:
// that is how a system marks a secret.
func privateKeys(t *testing.T, grant string) {
	t.Helper()
	for path, f := range homeState(t, grant) {
		if f.mode&0o170000 == 0o100000 && f.mode&0o044 == 0 {
			t.Errorf("%s, of mode %o, lies in the grant %s", path, f.mode&0o7777, grant)
		}
	}
}
