package shell

import (
	"strings"

	"brainbox/gate/wild"
)

// verdict is what the words of a command say about what else it runs.
type verdict struct {
	floor Floor
	inner []word // the words of a command that it runs
	code  string // a text that it runs as a shell would
}

// look judges a simple command by its name and options.
func look(words []word) verdict {
	name := words[0]
	if name.hole || name.text == "" {
		if slash := strings.LastIndexByte(name.text, '/'); slash < 0 || strings.IndexByte(name.text[slash:], wild.Hole) >= 0 {
			return verdict{floor: Opaque} // which program, is computed
		}
	}
	base := name.text[strings.LastIndexByte(name.text, '/')+1:]
	args := words[1:]
	if w, ok := wrappers[base]; ok {
		return w.look(args)
	}
	if strings.HasPrefix(base, "ld-") && strings.Contains(base, ".so") || base == "ld.so" {
		return (&wrapper{}).look(args)
	}
	if shells[base] {
		return lookShell(args)
	}
	if in, ok := interpreters[strings.TrimRight(base, "0123456789.")]; ok {
		return verdict{floor: in.look(args)}
	}
	if f, ok := special[base]; ok {
		return f(args)
	}
	if b, ok := builtins[base]; ok {
		return b(args)
	}
	return verdict{}
}

// wrapper is a program whose arguments are a command. The zero wrapper takes no
// options.
type wrapper struct {
	withArg  string   // single-letter options that take an argument
	long     []string // long options that take one as the next word
	operands int      // words before the command: a duration, a lock file
	assigns  bool     // NAME=value may stand before the command
	quiet    string   // options with which nothing is run: -v of command
	split    string   // an option whose argument is cut into words: -S of env
}

func (w *wrapper) look(args []word) verdict {
	v := verdict{floor: Indirection}
	skip := w.operands
	for i := 0; i < len(args); i++ {
		text := args[i].text
		switch {
		case text == "--":
		case w.split != "" && (strings.HasPrefix(text, w.split) || strings.HasPrefix(text, "--split-string")):
			v.code = strings.TrimPrefix(text, w.split) // near enough: what a rule denies in it
			if v.code == "" && i+1 < len(args) {
				v.code = args[i+1].text
			}
			return v
		case strings.HasPrefix(text, "--"):
			if contains(w.long, text) {
				i++
			}
		case len(text) > 1 && text[0] == '-':
			if i == 0 && w.quiet != "" && strings.ContainsAny(text, w.quiet) {
				return verdict{}
			}
			if strings.IndexByte(w.withArg, text[len(text)-1]) >= 0 {
				i++
			}
		case w.assigns && strings.IndexByte(text, '=') > 0:
		case skip > 0:
			skip--
		default:
			v.inner = args[i:]
			return v
		}
	}
	return v
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// lookShell judges a shell: with -c or -s, or without a file, it runs text. A
// file of its own is a program like any other.
func lookShell(args []word) verdict {
	for i := 0; i < len(args); i++ {
		text := args[i].text
		switch {
		case args[i].hole && !strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "./"):
			return verdict{floor: Opaque}
		case text == "--version" || text == "--help":
			return verdict{}
		case text == "--rcfile" || text == "--init-file":
			return verdict{floor: Opaque}
		case strings.HasPrefix(text, "--"):
		case len(text) > 1 && (text[0] == '-' || text[0] == '+'):
			if strings.IndexByte(text, 'c') > 0 {
				v := verdict{floor: Opaque}
				for _, w := range args[i+1:] { // the first word that is no option
					if !w.hole && !strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "+") {
						v.code = w.text
						break
					}
				}
				return v
			}
			if strings.ContainsAny(text, "s") {
				return verdict{floor: Opaque}
			}
			if last := text[len(text)-1]; last == 'o' || last == 'O' {
				i++
			}
		case text == "-" || text == "":
			return verdict{floor: Opaque}
		default:
			if descriptor(text) {
				return verdict{floor: Opaque} // a descriptor
			}
			return verdict{}
		}
	}
	return verdict{floor: Opaque} // reads its input
}

// descriptor reports whether a path may be what the caller has open, and no file: also as
// //dev/stdin, and ../../dev/fd/0.
func descriptor(text string) bool {
	text = "/" + text
	return strings.Contains(text, "/dev/") || strings.Contains(text, "/proc/")
}

// interpreter is a language whose programs may stand on the command line.
type interpreter struct {
	short   string   // single-letter options, also in a cluster, that take code
	withArg string   // single-letter options that take something else
	long    []string // long options that take code
	module  string   // an option that names a program of the library: no floor
}

func (in *interpreter) look(args []word) Floor {
	for i := 0; i < len(args); i++ {
		text := args[i].text
		switch {
		case args[i].hole && (text[0] == '-' || text[0] == wild.Hole):
			return Opaque
		case text == "--version" || text == "--help" || text == "-V" || text == "-h":
			return None
		case text == "-" || text == "":
			return Opaque
		case strings.HasPrefix(text, "--"):
			name, _, _ := strings.Cut(text, "=")
			if contains(in.long, name) {
				return Opaque
			}
		case text[0] == '-':
			if strings.ContainsAny(text[1:], in.short) {
				return Opaque
			}
			if in.module != "" && strings.HasSuffix(text, in.module) {
				return None
			}
			if strings.IndexByte(in.withArg, text[len(text)-1]) >= 0 {
				i++
			}
		case descriptor(text):
			return Opaque
		default:
			return None // a file
		}
	}
	return Opaque // reads its input
}
