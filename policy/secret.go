package policy

import "strings"

// Secret is a place of secrets, as [Secrets] names it.
type Secret struct {
	Path string // absolute, or "~/…"; a "*" in its last component stands for any characters
	What string // "keys of SSH"
}

// Secrets returns the named list of places that hold secrets: what brainbox learn never
// opens, and never writes into a policy. Who wants one of them open says so in a flag or in a
// file. What brainbox itself keeps secret is added by package launcher.
func Secrets() []Secret {
	return []Secret{
		{"~/.ssh", "keys of SSH"},
		{"~/.gnupg", "keys of GnuPG"},
		{"~/.pki", "keys of browsers"},
		{"~/.age", "keys of age"},
		{"~/.config/age", "keys of age"},
		{"~/.config/sops", "keys of sops"},
		{"~/.password-store", "passwords"},
		{"~/.local/share/keyrings", "passwords"},
		{"~/.local/share/kwalletd", "passwords"},
		{"~/.config/op", "credentials of 1Password"},
		{"~/.config/1Password", "credentials of 1Password"},
		{"~/.config/Bitwarden*", "credentials of Bitwarden"},
		{"~/.config/keepassxc", "credentials of KeePassXC"},
		{"~/.aws", "credentials of AWS"},
		{"~/.azure", "credentials of Azure"},
		{"~/.config/gcloud", "credentials of Google Cloud"},
		{"~/.config/doctl", "credentials of DigitalOcean"},
		{"~/.config/hcloud", "credentials of Hetzner Cloud"},
		{"~/.oci", "credentials of Oracle Cloud"},
		{"~/.kube", "credentials of Kubernetes"},
		{"~/.config/helm", "credentials of Helm"},
		{"~/.docker", "credentials of docker"},
		{"~/.config/containers", "credentials of podman"},
		{"~/.terraform.d", "credentials of Terraform"},
		{"~/.terraformrc", "credentials of Terraform"},
		{"~/.vault-token", "the token of Vault"},
		{"~/.config/gh", "the token of GitHub"},
		{"~/.config/hub", "the token of GitHub"},
		{"~/.config/glab-cli", "the token of GitLab"},
		{"~/.config/github-copilot", "the token of GitHub"},
		{"~/.git-credentials", "passwords of git"},
		{"~/.config/git/credentials", "passwords of git"},
		{"~/.netrc", "passwords"},
		{"~/.authinfo*", "passwords"},
		{"~/.pgpass", "passwords of PostgreSQL"},
		{"~/.my.cnf", "passwords of MySQL"},
		{"~/.mylogin.cnf", "passwords of MySQL"},
		{"~/.npmrc", "the token of npm"},
		{"~/.yarnrc*", "the token of yarn"},
		{"~/.pypirc", "the token of PyPI"},
		{"~/.config/pip", "passwords of package indexes"},
		{"~/.pip", "passwords of package indexes"},
		{"~/.config/pypoetry", "the token of PyPI"},
		{"~/.gem/credentials", "the token of RubyGems"},
		{"~/.bundle", "passwords of package indexes"},
		{"~/.cargo/credentials*", "the token of crates.io"},
		{"~/.m2/settings*.xml", "passwords of Maven"},
		{"~/.gradle/gradle.properties", "passwords of Gradle"},
		{"~/.composer/auth.json", "the token of Composer"},
		{"~/.config/composer", "the token of Composer"},
		{"~/.nuget", "passwords of NuGet"},
		{"~/.config/rclone", "passwords of rclone"},
		{"~/.s3cfg", "credentials of S3"},
		{"~/.boto", "credentials of S3"},
		{"~/.claude*", "credentials and conversations of an agent"},
		{"~/.codex", "credentials and conversations of an agent"},
		{"~/.gemini", "credentials and conversations of an agent"},
		{"~/.config/claude", "credentials and conversations of an agent"},
		{"~/.mozilla", "the profile of a browser"},
		{"~/.thunderbird", "mail"},
		{"~/.config/google-chrome*", "the profile of a browser"},
		{"~/.config/chromium", "the profile of a browser"},
		{"~/.config/BraveSoftware", "the profile of a browser"},
		{"~/.config/microsoft-edge*", "the profile of a browser"},
		{"~/.config/vivaldi", "the profile of a browser"},
		{"~/.config/opera", "the profile of a browser"},
		{"~/.cache/mozilla", "the profile of a browser"},
		{"~/.cache/google-chrome*", "the profile of a browser"},
		{"~/.cache/chromium", "the profile of a browser"},
		{"~/.var/app", "what applications keep"},
		{"~/snap", "what applications keep"},
		{"~/.config/Slack", "messages"},
		{"~/.config/discord", "messages"},
		{"~/.config/Signal", "messages"},
		{"~/.local/share/TelegramDesktop", "messages"},
		{"~/Mail", "mail"},
		{"~/Maildir", "mail"},
		{"~/.bitcoin", "a wallet"},
		{"~/.ethereum", "a wallet"},
		{"~/.electrum", "a wallet"},
		{"~/.Xauthority", "the key of the display"},
		{"~/.ICEauthority", "the key of the display"},
		{"~/.*_history", "what was typed"},
		{"~/.local/share/fish/fish_history", "what was typed"},
		{"/etc/shadow*", "passwords of users"},
		{"/etc/gshadow*", "passwords of groups"},
		{"/etc/security/opasswd", "passwords of users"},
		{"/etc/sudoers*", "who may become root"},
		{"/etc/ssh/*key", "the host's keys of SSH"},
		{"/etc/ssl/private", "the host's keys"},
		{"/etc/pki/tls/private", "the host's keys"},
		{"/etc/letsencrypt", "the host's keys"},
		{"/etc/wireguard", "the host's keys"},
		{"/etc/openvpn", "the host's keys"},
		{"/etc/ipsec*", "the host's keys"},
		{"/etc/ppp", "passwords of connections"},
		{"/etc/krb5.keytab", "the host's keys"},
		{"/etc/NetworkManager/system-connections", "passwords of connections"},
		{"/etc/wpa_supplicant", "passwords of connections"},
		{"/etc/kubernetes", "credentials of Kubernetes"},
		{"/etc/rancher", "credentials of Kubernetes"},
		{"/etc/docker", "credentials of docker"},
		{"/etc/machine-id", "the name of the machine"},
		{"/run/secrets", "secrets of a container"},
		{"/run/credentials", "credentials of services"},
		{"/run/user", "sockets and tokens of sessions"},
		{"/var/run/secrets", "secrets of a container"},
		{"/var/lib/private", "what services keep"},
		{"/var/lib/sss", "passwords of users"},
		{"/var/lib/kubelet", "credentials of Kubernetes"},
		{"/var/lib/docker", "what containers keep"},
		{"/var/lib/containers", "what containers keep"},
		{"/var/lib/systemd/coredump", "the memory of programs"},
		{"/var/crash", "the memory of programs"},
		{"/var/spool", "mail and jobs of users"},
		{"/var/mail", "mail"},
		{"/var/backups", "copies of passwords"},
		{"/boot", "the key of the disk, on some systems"},
	}
}

// Expand returns the place's pattern with the home folder in it; "" if there is none.
func (s Secret) Expand(home string) string {
	rest, inHome := strings.CutPrefix(s.Path, "~")
	switch {
	case !inHome:
		return s.Path
	case home == "":
		return ""
	}
	return home + rest
}

// MatchName reports whether an absolute clean path is the one that a pattern without "~"
// stands for. A "*" does not match a slash.
func MatchName(pattern, path string) bool {
	dir := strings.LastIndexByte(pattern, '/') + 1
	if len(path) < dir || path[:dir] != pattern[:dir] {
		return false
	}
	name := path[dir:]
	if strings.Contains(name, "/") {
		return false
	}
	before, after, star := strings.Cut(pattern[dir:], "*")
	if !star {
		return name == pattern[dir:]
	}
	return len(name) >= len(before)+len(after) && strings.HasPrefix(name, before) && strings.HasSuffix(name, after)
}
