package grant

import (
	"path"
	"strings"

	"brainbox/gate/rule"
	"brainbox/gate/shell"
)

// arity is how many words of a command say what it does; the others are what it
// does it to. A longer prefix goes before a shorter one; what is not here has one.
var arity = map[string]int{
	"git": 2, "git remote": 3, "git stash": 3, "git config": 3, "git worktree": 3, "git submodule": 3, "git bisect": 3, "git notes": 3,
	"npm": 2, "npm run": 3, "pnpm": 2, "pnpm run": 3, "yarn": 2, "yarn run": 3, "bun": 2, "bun run": 3, "deno": 2, "deno task": 3,
	"go": 2, "go mod": 3, "go tool": 3, "go work": 3, "cargo": 2, "rustup": 2, "pip": 2, "pip3": 2, "uv": 2, "uv pip": 3, "poetry": 2, "conda": 2,
	"docker": 2, "docker compose": 3, "docker container": 3, "docker image": 3, "podman": 2, "kubectl": 2, "kubectl get": 3, "helm": 2,
	"gh": 3, "glab": 3, "apt": 2, "apt-get": 2, "dnf": 2, "brew": 2, "apk": 2, "systemctl": 2, "journalctl": 1, "terraform": 2, "aws": 3, "gcloud": 4, "az": 3,
	"make": 2, "just": 2, "task": 2, "bazel": 2, "gradle": 2, "mvn": 2, "dotnet": 2, "python -m": 3, "python3 -m": 3, "composer": 2, "bundle": 2, "gem": 2, "rake": 2,
}

// Suggest returns the patterns that a person may be offered for an answer, the
// narrowest first; the first is always exactly what was asked. A question with a
// floor or about a protected name has no other.
func Suggest(a *rule.Answer) []Grant {
	exact := Grant{Surface: a.Surface, Pattern: a.Value, Row: a.Row, Exact: true}
	if a.Layer == rule.Judge || a.Floor != shell.None || a.Value == "" {
		return []Grant{exact}
	}
	wide := ""
	switch a.Surface {
	case rule.Bash:
		wide = command(a.Value)
	case "skill":
	case "mcp":
		if server, _, ok := strings.Cut(a.Value, ":"); ok && plain(server) {
			wide = server + ":*"
		}
	default:
		if dir := path.Dir(a.Value); path.IsAbs(dir) && dir != "/" && plain(dir) {
			wide = dir + "/*"
		}
	}
	if wide == "" || wide == a.Value {
		return []Grant{exact}
	}
	return []Grant{exact, {Surface: a.Surface, Pattern: wide}}
}

// plain reports whether a text means itself as the start of a pattern.
func plain(text string) bool { return text != "" && !strings.ContainsAny(text, "*?~$") }

// command is the pattern for commands that do the same: its first words and a
// star. A command whose first words are options, or no plain words, has none.
func command(text string) string {
	words := strings.Fields(text)
	n := 1
	for i := min(len(words), 3); i > 0; i-- {
		if k, ok := arity[strings.Join(words[:i], " ")]; ok {
			n = k
			break
		}
	}
	if len(words) < n {
		return ""
	}
	for i, w := range words[:n] {
		if !plain(w) || strings.ContainsAny(w, "\"'\\`(){}[];&|<>=") || i > 0 && w[0] == '-' && w != "-m" {
			return ""
		}
	}
	head := strings.Join(words[:n], " ")
	if n > 2 && (words[1] == "run" || words[1] == "task") {
		return head + "*" // npm run dev:all
	}
	return head + " *"
}
