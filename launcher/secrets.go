package launcher

import (
	"path/filepath"
	"strings"

	"brainbox/policy"
)

// secretNames are the places of a home folder that hold keys and passwords.
var secretNames = [...]struct{ path, what string }{
	{".ssh", "keys of ssh"},
	{".gnupg", "keys of gpg"},
	{".aws", "keys of AWS"},
	{".azure", "keys of Azure"},
	{".config/gcloud", "keys of Google Cloud"},
	{".kube", "keys of Kubernetes"},
	{".docker", "passwords of registries"},
	{".config/containers", "passwords of registries"},
	{".netrc", "passwords"},
	{".git-credentials", "passwords of git"},
	{".config/git/credentials", "passwords of git"},
	{".config/gh", "a token of GitHub"},
	{".config/glab-cli", "a token of GitLab"},
	{".npmrc", "a token of npm"},
	{".pypirc", "a password of PyPI"},
	{".cargo/credentials", "a token of crates.io"},
	{".cargo/credentials.toml", "a token of crates.io"},
	{".gem/credentials", "a token of RubyGems"},
	{".m2/settings.xml", "passwords of Maven"},
	{".terraform.d", "a token of Terraform"},
	{".vault-token", "a token of Vault"},
	{".pgpass", "passwords of PostgreSQL"},
	{".my.cnf", "a password of MySQL"},
	{".password-store", "passwords"},
	{".local/share/keyrings", "passwords"},
	{".pki", "keys"},
	{".mozilla", "the browser's passwords and sessions"},
	{".config/google-chrome", "the browser's passwords and sessions"},
	{".config/chromium", "the browser's passwords and sessions"},
	{".bash_history", "what was typed"},
	{".zsh_history", "what was typed"},
	{".python_history", "what was typed"},
}

// Secret says what a path holds, or lies in, that is nobody's but the operator's: keys,
// passwords, tokens; "" if nothing of that kind is known of it. It goes by names alone.
func (f *Facts) Secret(path string) string {
	for _, home := range f.homes() {
		for _, s := range secretNames {
			if at := home + "/" + s.path; policy.Below(path, at) || policy.Below(at, path) && path != "/" && path != home {
				return s.what
			}
		}
	}
	switch path {
	case "/etc/shadow", "/etc/gshadow":
		return "password hashes"
	}
	switch base := filepath.Base(path); {
	case strings.HasPrefix(base, "id_") && !strings.HasSuffix(base, ".pub") && filepath.Base(parent(path)) == ".ssh":
		return "a key of ssh"
	}
	return ""
}

// homes are the names of the caller's home folder.
func (f *Facts) homes() []string {
	var list []string
	if f.Place != nil && f.Place.Home != "" {
		list = append(list, f.Place.Home)
	}
	for _, k := range f.Critical {
		if k.What == homeFolder {
			list = append(list, k.Path)
		}
	}
	return list
}
