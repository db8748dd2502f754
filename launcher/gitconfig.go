package launcher

import (
	"slices"
	"strings"
)

// gitVar is one variable of a git configuration. Key is "section.name" or
// "section.subsection.name", lower case but for the subsection.
type gitVar struct {
	Key, Value string
	Bare       bool // without a value
}

// gitVars reads a git configuration text. Ok is false if git would refuse it; the list is
// what comes before.
func gitVars(text string) (list []gitVar, ok bool) {
	s := newGitScanner(text)
	for {
		name, value, bare, more := s.any()
		if !more {
			return list, !s.bad
		}
		if s.full != "" {
			name = s.full + "." + name
		}
		list = append(list, gitVar{Key: name, Value: value, Bare: bare})
	}
}

// split takes a key apart.
func (v *gitVar) split() (section, sub, name string) {
	section, rest, _ := strings.Cut(v.Key, ".")
	i := strings.LastIndexByte(rest, '.')
	if i < 0 {
		return section, "", rest
	}
	return section, rest[:i], rest[i+1:]
}

// executable reports whether git, or a tool that reads its configuration, may run what the
// variable says, or load it from where the variable says. The list is that of
// git-config(1) and of the manual pages that it names, git 2.52; a name that ends like one
// that is run counts too, so that a later git's are reported.
func (v *gitVar) executable() bool {
	section, sub, name := v.split()
	if slices.Contains(executableNames(section), name) {
		return true
	}
	switch section {
	case "alias": // alias.x, or alias.x.command as of git 2.53
		return strings.HasPrefix(strings.TrimLeft(v.Value, " \t"), "!")
	case "include", "includeif":
		return name == "path"
	case "url", "pager", "hook", "protocol":
		// Another place under the same name; a value that is no boolean is a command; hooks
		// by configuration; transports that run what the address says.
		return true
	case "remote", "branch", "submodule":
		return runsAddress(name, v.Value)
	case "extensions":
		return name == "worktreeconfig" // a second file counts
	case "lfs":
		return strings.HasPrefix(sub, "customtransfer.") || strings.HasPrefix(sub, "extension.") ||
			name == "standalonetransferagent"
	}
	return slices.ContainsFunc([]string{
		"command", "cmd", "program", "driver", "helper", "hook", "hookspath", "editor", "pager", "askpass",
		"textconv", "tunnel",
	}, func(end string) bool { return strings.HasSuffix(name, end) })
}

// executableNames are the variables of a section that are executed, load what is executed,
// or choose between such.
func executableNames(section string) []string {
	switch section {
	case "core":
		return []string{
			"fsmonitor", "hookspath", "sshcommand", "pager", "editor", "askpass", "gitproxy", "alternaterefscommand",
			"worktree", "attributesfile", // where git writes, and what it applies filters to
		}
	case "diff":
		return []string{"external", "command", "textconv", "tool", "guitool"}
	case "merge":
		return []string{"driver", "tool", "guitool"} // a tool's name may be a path to a script
	case "difftool", "mergetool", "man", "browser":
		return []string{"cmd", "path", "viewer"}
	case "web", "help":
		return []string{"browser"}
	case "instaweb":
		return []string{"httpd", "browser", "modulepath"}
	case "interactive":
		return []string{"difffilter"}
	case "filter":
		return []string{"clean", "smudge", "process"}
	case "gpg":
		return []string{"program", "defaultkeycommand"}
	case "uploadpack":
		return []string{"packobjectshook"}
	case "remote":
		return []string{"uploadpack", "receivepack", "vcs", "proxy"}
	case "init":
		return []string{"templatedir"}
	case "sendemail":
		return []string{"smtpserver", "sendmailcmd", "tocmd", "cccmd", "headercmd"}
	case "trailer":
		return []string{"command", "cmd"}
	}
	return nil
}

// runsAddress reports whether an address, or a way to update, is one that git runs: a
// transport helper (gitremote-helpers(7)), an option in place of a host, or a command.
func runsAddress(name, value string) bool {
	switch name {
	case "url", "pushurl", "remote", "pushremote":
		return strings.Contains(value, "::") || strings.HasPrefix(value, "-") || strings.Contains(value, "://-")
	case "update":
		return strings.HasPrefix(value, "!")
	}
	return false
}

// changedKeys compares two configurations of one file and returns the executable keys whose
// values are not the same, sorted.
func changedKeys(before, after []gitVar) []string {
	was, is := executables(before), executables(after)
	var keys []string
	for key, values := range is {
		if !slices.Equal(values, was[key]) {
			keys = append(keys, key)
		}
	}
	for key := range was {
		if _, still := is[key]; !still {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// executables are the values of the executable keys, in order: of most the last counts, of
// some all do.
func executables(list []gitVar) map[string][]string {
	m := map[string][]string{}
	for i := range list {
		if v := &list[i]; v.executable() {
			value := v.Value
			if v.Bare {
				value = "\x00bare"
			}
			m[v.Key] = append(m[v.Key], value)
		}
	}
	return m
}
