package explain

import "strings"

// secretNames are files and folders that hold what others may use in the user's name: one or
// more components, anywhere in a path.
var secretNames = []struct{ name, what string }{
	{"/.ssh", "keys of ssh"},
	{"/.gnupg", "keys of GnuPG"},
	{"/.aws", "credentials of AWS"},
	{"/.azure", "credentials of Azure"},
	{"/.config/gcloud", "credentials of Google Cloud"},
	{"/.config/gh", "tokens of GitHub"},
	{"/.config/glab-cli", "tokens of GitLab"},
	{"/.config/op", "a password store"},
	{"/.password-store", "a password store"},
	{"/.local/share/keyrings", "a password store"},
	{"/.kube", "credentials of Kubernetes"},
	{"/.docker", "credentials of registries"},
	{"/.netrc", "passwords"},
	{"/.pgpass", "passwords"},
	{"/.git-credentials", "passwords of git"},
	{"/.npmrc", "tokens of npm"},
	{"/.pypirc", "tokens of PyPI"},
	{"/.vault-token", "a token of Vault"},
	{"/.cargo/credentials", "tokens of cargo"},
	{"/.cargo/credentials.toml", "tokens of cargo"},
	{"/.mozilla", "a browser's passwords and cookies"},
	{"/.config/google-chrome", "a browser's passwords and cookies"},
	{"/.config/chromium", "a browser's passwords and cookies"},
	{"/.env", "a file of secrets, as a rule"},
	{"/etc/shadow", "the system's passwords"},
	{"/etc/gshadow", "the system's passwords"},
	{"/etc/ssl/private", "private keys"},
	{"/etc/sudoers", "who may become root"},
	{"/var/run/docker.sock", "the control of the whole machine"},
	{"/run/docker.sock", "the control of the whole machine"},
}

// secret says what a path holds that nobody grants unread; "" if it has no such name.
func secret(name string) string {
	for _, s := range secretNames {
		if strings.Contains(name+"/", s.name+"/") {
			return s.what
		}
	}
	return ""
}
