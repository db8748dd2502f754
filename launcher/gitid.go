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

// filterGitConfig keeps the allowed variables of a git configuration text
// (git-config(1), CONFIGURATION FILE) and writes them in a form of its own, every
// value quoted. What it cannot read it leaves out: a line it misunderstood must not
// become another variable.
func filterGitConfig(text string) []byte {
	if len(text) > maxGitConfig {
		return nil
	}
	var out []byte
	section := ""
	for len(text) > 0 {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		for strings.HasSuffix(line, `\`) && text != "" { // continued
			var more string
			more, text, _ = strings.Cut(text, "\n")
			line = strings.TrimSuffix(line, `\`) + more
		}
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = ""
			if name, rest, ok := strings.Cut(line[1:], "]"); ok && isPlain(name) {
				section, line = strings.ToLower(name), strings.TrimSpace(rest)
			}
		}
		name, value, ok := strings.Cut(line, "=")
		name = strings.ToLower(strings.TrimSpace(name))
		if !ok || !gitKept(section, name) {
			continue
		}
		if v, ok := gitValue(strings.TrimSpace(value)); ok {
			out = append(out, "["+section+"]\n\t"+name+" = "+quoteGit(v)+"\n"...)
		}
	}
	return out
}

// isPlain reports whether a section name has no subsection.
func isPlain(s string) bool { return s != "" && !strings.ContainsAny(s, " \t\"\\") }

// gitValue undoes quotes, escapes and trailing comments.
func gitValue(s string) (string, bool) {
	var b strings.Builder
	quoted, end := false, 0 // end: length without trailing unquoted blanks
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '"':
			quoted = !quoted
			end = b.Len()
			continue
		case c == '\\':
			i++
			if i == len(s) {
				return "", false
			}
			esc := strings.IndexByte(`nt"\`, s[i])
			if esc < 0 {
				return "", false
			}
			b.WriteByte("\n\t\"\\"[esc])
		case (c == '#' || c == ';') && !quoted:
			return b.String()[:end], true
		case c < 0x20 && c != '\t' || c == 0x7f:
			return "", false
		default:
			b.WriteByte(c)
		}
		if quoted || c != ' ' && c != '\t' {
			end = b.Len()
		}
	}
	return b.String()[:end], !quoted
}

func quoteGit(v string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(v) + `"`
}
