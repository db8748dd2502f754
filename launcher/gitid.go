package launcher

import (
	"strings"
)

// gitIdentity reads the caller's own git configuration and keeps what identifies him:
// never credentials, URLs, includes, aliases, commands or hooks.
func gitIdentity(pl *Place) []byte {
	var out []byte
	if pl.Home == "" {
		return out
	}
	for _, file := range []string{pl.xdg[0] + "/git/config", pl.Home + "/.gitconfig"} {
		out = append(out, filterGitConfig(readSmall(file))...)
	}
	return out
}

// gitKept are the variables that reach the program, "section.name".
func gitKept(section, name string) bool {
	switch section + "." + name {
	case "user.name", "user.email", "user.useconfigonly", "core.autocrlf", "init.defaultbranch", "safe.directory":
		return true
	}
	return false
}

// maxGitConfig bounds what is read of a configuration: an identity is short.
const maxGitConfig = 1 << 20

// filterGitConfig keeps the allowed variables of a git configuration text and writes
// them in a form of its own, every value quoted. It stops at the first thing that git
// would refuse: a line it misunderstood must not become another variable.
func filterGitConfig(text string) []byte {
	if len(text) > maxGitConfig {
		return nil
	}
	var out []byte
	s := newGitScanner(text)
	for {
		name, value, ok := s.next()
		if !ok {
			return out
		}
		if gitKept(s.section, name) && !strings.ContainsFunc(value, isGitControl) {
			out = append(out, "["+s.section+"]\n\t"+name+" = "+quoteGit(value)+"\n"...)
		}
	}
}

func isGitControl(r rune) bool { return r < 0x20 && r != '\t' && r != '\n' || r == 0x7f }

func quoteGit(v string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(v) + `"`
}
