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
	".local/share/mise/trusted-configs/x", "go/auth.json", "Documents/private.txt",
}

// tools are files of toolchains in a home folder; the positive control.
var tools = []string{
	".cargo/bin/cargo", ".cargo/registry/index", ".cargo/git/db", ".rustup/settings.toml", "go/bin/gopls",
	"go/pkg/mod/m", ".nvm/versions/node", ".pyenv/version", ".rbenv/version", ".asdf/shims/x", ".asdf/installs/x",
	".local/share/mise/installs/x", ".volta/bin/x", ".local/bin/x", ".local/lib/x",
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
	for _, name := range slices.Concat(secrets, tools) {
		path := filepath.Join(home, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, []byte(name+"\n"), 0o600))
	}
	return root, home, work
}

// TestDefaultGrantsNoCredential lists what the default grants in a home folder full of
// credentials, and then tries to read each of them.
func TestDefaultGrantsNoCredential(t *testing.T) {
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

	shown := run(t, work, as(program("brainbox"), "check", "--json"))
	var p plan
	if err := json.Unmarshal([]byte(shown.out), &p); err != nil {
		t.Fatalf("brainbox check: %v\n%s", err, shown.err)
	}
	granted := p.granted()
	for _, name := range secrets {
		for _, grant := range granted {
			if policy.Below(filepath.Join(home, name), grant) {
				t.Errorf("%s lies in the grant %s", name, grant)
			}
		}
	}

	script := `cd "$1" && shift && for f; do cat "$f" 2>/dev/null; done; exit 0`
	argv := append([]string{"/bin/sh", "-c", script, "sh", home}, slices.Concat(secrets, tools)...)
	bare := run(t, work, as(argv...))
	if want := strings.Join(slices.Concat(secrets, tools), "\n") + "\n"; bare.out != want {
		t.Fatalf("control: the bare program read\n%s%s", bare.out, bare.err)
	}
	inside := run(t, work, as(append([]string{program("brainbox"), "run", "--"}, argv...)...))
	if want := strings.Join(tools, "\n") + "\n"; inside.out != want {
		t.Errorf("the confined program read\n%s\nwant\n%s\n%s", inside.out, want, inside.err)
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
