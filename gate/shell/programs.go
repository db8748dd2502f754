package shell

import "strings"

// gitVerb is where the verb of a git command stands, behind options such as -C
// DIR; 0 if it is no git command.
func gitVerb(words []word) int {
	name := words[0].text
	if name[strings.LastIndexByte(name, '/')+1:] != "git" {
		return 0
	}
	for i := 1; i < len(words); i++ {
		switch text := words[i].text; {
		case text == "-C" || text == "-c" || text == "--git-dir" || text == "--work-tree" || text == "--namespace" || text == "--config-env":
			i++
		case !strings.HasPrefix(text, "-"):
			return i
		}
	}
	return len(words)
}

// lookGit finds what makes git run a program of the caller's choice.
func lookGit(args []word) verdict {
	verb := ""
	for i := 0; i < len(args); i++ {
		text := args[i].text
		switch {
		case text == "-C" || text == "--git-dir" || text == "--work-tree" || text == "--namespace":
			i++
			continue
		case strings.HasPrefix(text, "-c"), strings.HasPrefix(text, "--exec-path="), strings.HasPrefix(text, "--config-env"):
			return verdict{floor: Opaque} // a setting may be a command: alias.x, core.pager, …
		case strings.HasPrefix(text, "-"):
			continue
		}
		if args[i].computed {
			return verdict{floor: Opaque} // may be -c
		}
		verb, args = text, args[i+1:]
		break
	}
	for i := range args {
		if strings.Contains(args[i].text, "ext::") {
			return verdict{floor: Opaque} // a transport that is a command
		}
	}
	switch verb {
	case "config":
		return lookGitConfig(args)
	case "clone", "fetch", "pull", "ls-remote", "fetch-pack", "submodule", "remote":
		if verb == "submodule" && len(args) > 0 && args[0].text == "foreach" {
			return verdict{floor: Opaque}
		}
		return opaqueFor(args, "-u", "--upload-pack", "-c", "--config", "--template")
	case "init":
		return opaqueFor(args, "--template")
	case "push", "send-pack", "archive":
		return opaqueFor(args, "--receive-pack", "--exec")
	case "rebase":
		return opaqueFor(args, "-x", "--exec")
	case "grep":
		return opaqueFor(args, "-O", "--open-files-in-pager")
	case "difftool", "mergetool":
		return opaqueFor(args, "-x", "--extcmd", "-t", "--tool")
	case "bisect":
		if len(args) > 0 && args[0].text == "run" {
			return verdict{floor: Indirection, inner: args[1:]}
		}
	case "filter-branch", "daemon", "instaweb", "web--browse", "fast-export":
		return verdict{floor: Opaque}
	}
	return verdict{}
}

// lookGitConfig lets settings be read; one that is written may be a command.
func lookGitConfig(args []word) verdict {
	for _, o := range [...]string{"--get", "--get-all", "--get-regexp", "--get-urlmatch", "--list", "-l"} {
		if has(args, o) {
			return verdict{}
		}
	}
	words := 0
	for i := range args {
		if args[i].hole && !args[i].quoted || args[i].text == "set" || args[i].text == "edit" {
			return verdict{floor: Opaque}
		}
		if args[i].text == "get" || args[i].text == "list" {
			return verdict{}
		}
		if !strings.HasPrefix(args[i].text, "-") {
			words++
		} else if args[i].text != "--global" && args[i].text != "--local" && args[i].text != "--system" {
			words += 2 // another option: -e, --add, --file …
		}
	}
	return someIf(words > 1)
}

func lookTar(args []word) verdict {
	if len(args) > 0 && !strings.HasPrefix(args[0].text, "-") && strings.ContainsAny(args[0].text, "IF") {
		return verdict{floor: Opaque} // tar cIf x
	}
	return opaqueFor(args, "--checkpoint-action", "--to-command", "--use-compress-program", "-I", "-F",
		"--info-script", "--new-volume-script", "--rsh-command", "--rmt-command")
}

func lookMake(args []word) verdict {
	for i := range args {
		name, _, ok := strings.Cut(args[i].text, "=")
		name = strings.TrimRight(name, ":+?")
		if args[i].text == "-" || args[i].text == "-f-" || descriptor(args[i].text) {
			return verdict{floor: Opaque} // its rules are a text
		}
		if ok && (name == ".SHELLFLAGS" || name == "MAKE" || risky(name)) {
			return verdict{floor: Opaque}
		}
	}
	for i := range args {
		if args[i].computed { // a target is, mostly; and the text of a makefile is anything
			continue
		}
		if v := opaqueFor(args[i:i+1], "--eval", "-E"); v.floor != None {
			return v
		}
	}
	return verdict{}
}

// lookSSH finds options that name a local command. ssh takes the word after -o
// or the rest of the same one, and the keywords in any case.
func lookSSH(args []word) verdict {
	for i := range args {
		low := strings.ToLower(args[i].text)
		for _, key := range [...]string{"proxycommand", "localcommand", "proxyusefdpass", "knownhostscommand", "include", "pkcs11provider", "match"} {
			if at := strings.Index(low, key); at >= 0 && at <= 3 {
				return verdict{floor: Opaque}
			}
		}
	}
	return opaqueFor(args, "-F", "-S", "-D", "-I", "-J")
}

// lookAwk asks for programs that run others, write files, or are not here.
func lookAwk(args []word) verdict {
	if v := opaqueFor(args, "-f", "--file", "-i", "--include", "-l", "--load", "-e", "--source", "-E", "--exec", "-D"); v.floor != None {
		return v
	}
	for i := 0; i < len(args); i++ {
		text := args[i].text
		if text == "-v" || text == "-F" {
			i++
			continue
		}
		if strings.HasPrefix(text, "-") {
			continue
		}
		bad := args[i].hole || strings.ContainsAny(text, "|>@\\") || strings.Contains(text, "system") || strings.Contains(text, "getline")
		return someIf(bad)
	}
	return verdict{}
}
