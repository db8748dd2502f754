package shell

import "strings"

// special are programs that run others for some of their options. Each is given
// the words after the name.
var special = map[string]func(args []word) verdict{
	"find":   lookFind,
	"fd":     func(a []word) verdict { return after1(a, "-x", "-X", "--exec", "--exec-batch") },
	"fdfind": func(a []word) verdict { return after1(a, "-x", "-X", "--exec", "--exec-batch") },
	"git":    lookGit,
	"tar":    lookTar,
	"gtar":   lookTar,
	"bsdtar": lookTar,
	"make":   lookMake,
	"gmake":  lookMake,
	"sed":    lookSed,
	"gsed":   lookSed,
	"awk":    lookAwk,
	"gawk":   lookAwk,
	"mawk":   lookAwk,
	"nawk":   lookAwk,
	"ssh":    lookSSH,
	"scp":    lookSSH,
	"sftp":   lookSSH,
	"rsync":  func(a []word) verdict { return opaqueFor(a, "-e", "--rsh", "--rsync-path") },
	"rg":     func(a []word) verdict { return opaqueFor(a, "--pre", "--hostname-bin") },
	"sort":   func(a []word) verdict { return opaqueFor(a, "--compress-program") },
	"man":    func(a []word) verdict { return opaqueFor(a, "-P", "--pager", "-H", "--html") },
	"zip":    func(a []word) verdict { return opaqueFor(a, "-TT", "--unzip-command") },
	"split":  func(a []word) verdict { return opaqueFor(a, "--filter") },
	"curl":   func(a []word) verdict { return opaqueFor(a, "-K", "--config") },
	"wget":   func(a []word) verdict { return opaqueFor(a, "--use-askpass", "-e", "--execute") },
	"vi":     func(a []word) verdict { return opaqueFor(a, "-c", "--cmd", "-S", "+") },
	"vim":    func(a []word) verdict { return opaqueFor(a, "-c", "--cmd", "-S", "+") },
	"nvim":   func(a []word) verdict { return opaqueFor(a, "-c", "--cmd", "-S", "+") },
	"emacs":  func(a []word) verdict { return opaqueFor(a, "--eval", "--execute", "-l", "--load", "-f", "--funcall") },
	"ed":     always,
	"ex":     always,
	"gdb": func(a []word) verdict {
		return opaqueFor(a, "-ex", "--ex", "-x", "--command", "-iex", "--eval-command", "--args")
	},
	"crontab": always,
	"deno":    func(a []word) verdict { return firstIs(a, "eval", "repl") },
	"go":      func(a []word) verdict { return opaqueFor(a, "-exec", "--exec", "-toolexec", "--toolexec") },
	"cargo":   func(a []word) verdict { return opaqueFor(a, "--config") },
	"npm":     func(a []word) verdict { return firstIs(a, "exec", "x", "explore") },
	"pnpm":    func(a []word) verdict { return firstIs(a, "exec", "dlx") },
	"yarn":    func(a []word) verdict { return firstIs(a, "exec", "dlx") },
	"docker":  func(a []word) verdict { return firstIs(a, "exec", "run") },
	"podman":  func(a []word) verdict { return firstIs(a, "exec", "run") },
	"kubectl": func(a []word) verdict { return firstIs(a, "exec", "run") },
}

// builtins of the shell that run text, or change what a name means.
var builtins = map[string]func(args []word) verdict{
	"eval":      lookEval,
	"source":    always,
	".":         always,
	"trap":      func(a []word) verdict { return someIf(len(a) > 1) },
	"alias":     func(a []word) verdict { return someIf(len(a) > 0) },
	"enable":    func(a []word) verdict { return someIf(len(a) > 0) },
	"hash":      func(a []word) verdict { return opaqueFor(a, "-p") },
	"bind":      func(a []word) verdict { return opaqueFor(a, "-x", "-f") },
	"complete":  func(a []word) verdict { return opaqueFor(a, "-C", "-F") },
	"compgen":   func(a []word) verdict { return opaqueFor(a, "-C", "-F", "-W") },
	"mapfile":   lookSets,
	"readarray": lookSets,
	"read":      lookSets,
	"getopts":   lookSets,
	"printf":    lookPrintf,
	"unset":     lookSets,
	"test":      lookTest,
	"[":         lookTest,
	"fc":        always,
	"let":       always,
}

func always([]word) verdict { return verdict{floor: Opaque} }

func someIf(some bool) verdict {
	if some {
		return verdict{floor: Opaque}
	}
	return verdict{}
}

// lookEval reads the text that eval joins, where all of it is known.
func lookEval(args []word) verdict {
	v := verdict{floor: Opaque, code: form(args)}
	for i := range args {
		if args[i].hole {
			v.code = ""
		}
	}
	return v
}

// lookSets judges builtins that write to the variables their arguments name.
func lookSets(args []word) verdict {
	for i := range args {
		text, _, _ := strings.Cut(args[i].text, "[")
		if risky(text) || args[i].hole {
			return verdict{floor: Assignment}
		}
		for k := 2; k < len(text) && text[0] == '-'; k++ { // -raPATH
			if risky(text[k:]) {
				return verdict{floor: Assignment}
			}
		}
	}
	return opaqueFor(args, "-C")
}

// lookPrintf judges the one variable that printf -v writes to.
func lookPrintf(args []word) verdict {
	switch {
	case len(args) == 0:
	case args[0].text == "-v" && len(args) > 1:
		return lookSets(args[1:2])
	case args[0].hole && args[0].text[0] == hole[0] && len(args) > 2, // may be -v
		strings.HasPrefix(args[0].text, "-"):
		return lookSets(args[:1])
	}
	return verdict{}
}

// lookTest judges test -v with a computed name, whose subscript bash evaluates.
func lookTest(args []word) verdict {
	for i := range args[:max(len(args)-1, 0)] {
		if args[i].text == "-v" && args[i+1].hole {
			return verdict{floor: Subtree}
		}
	}
	return verdict{}
}

// after1 finds the command behind an option that runs one.
func after1(args []word, options ...string) verdict {
	for i := range args {
		name, _, _ := strings.Cut(args[i].text, "=")
		for _, o := range options {
			if name == o || args[i].computed && (!args[i].quoted || runsTo(args[i+1:])) {
				return verdict{floor: Indirection, inner: args[i+1:]}
			}
		}
	}
	return verdict{}
}

// lookFind finds the command of find, which may stand anywhere.
func lookFind(args []word) verdict { return after1(args, "-exec", "-execdir", "-ok", "-okdir") }

// runsTo reports whether words may end the command of find -exec.
func runsTo(args []word) bool {
	for i := range args {
		if args[i].text == ";" || args[i].text == "+" || args[i].computed {
			return true
		}
	}
	return false
}

// has reports whether an option is among the arguments: as a word, with =value,
// abbreviated if it is long, or with its value in the same word if it is one
// letter, or a computed word may be it. Behind -- there are no options.
func has(args []word, option string) bool {
	for i := range args {
		text := args[i].text
		if text == "--" {
			return false
		}
		name, _, _ := strings.Cut(text, "=")
		switch {
		case name == option, args[i].computed,
			len(option) == 2 && option[0] == '-' && len(text) > 2 && text[0] == '-' && text[1] != '-' && strings.IndexByte(text[1:], option[1]) >= 0,
			option == "+" && strings.HasPrefix(text, "+"),
			len(name) > 4 && strings.HasPrefix(option, "--") && strings.HasPrefix(name, "--") && strings.HasPrefix(option, name):
			return true
		}
	}
	return false
}

func opaqueFor(args []word, options ...string) verdict {
	for _, o := range options {
		if has(args, o) {
			return verdict{floor: Opaque}
		}
	}
	return verdict{}
}

// firstIs judges by the first word that is no option.
func firstIs(args []word, verbs ...string) verdict {
	for i := range args {
		if strings.HasPrefix(args[i].text, "-") {
			continue
		}
		if contains(verbs, args[i].text) || args[i].hole {
			return verdict{floor: Indirection}
		}
		break
	}
	return verdict{}
}
