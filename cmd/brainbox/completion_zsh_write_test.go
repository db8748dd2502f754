package main

import (
	"fmt"
	"slices"
	"strings"
)

const zshHead = `#compdef brainbox brainbox-exec brainbox-kill
# zsh completion for brainbox(1), brainbox-exec(8) and brainbox-kill(8).
# Written from the command's own table of verbs and flags:
#   go test ./cmd/brainbox -run TestCompletionsAreWritten -update

_brainbox_home() {
  _alternative 'words:word:(run keep)' 'folders:folder:_path_files -/'
}

_brainbox_seccomp() {
  _alternative 'words:word:(default debug none)' 'files:OCI profile:_files'
}

_brainbox_env() {
  _parameters -g '*export*'
}

_brainbox_sessions() {
  local -a ids
  ids=(${XDG_RUNTIME_DIR:-/nonexistent}/brainbox/*(N:t))
  _wanted sessions expl session compadd -a ids
}

# Behind a -- it completes the program, and what belongs to it; else 1.
_brainbox_program() {
  local -i at=${words[(i)--]}
  (( at < CURRENT )) || return 1
  shift $at words
  (( CURRENT -= at ))
  _normal
  return 0
}

_brainbox_why() {
  if [[ -n ${words[(r)(${(j:|:)operations})]} ]]; then
    _files
  else
    _wanted operations expl operation compadd -a operations
  fi
}

_brainbox_kill() {
  local -a groups
  groups=(${(f)"$(ps -eo pgid= 2>/dev/null | tr -d ' ' | sort -un)"})
  _arguments "1:process group:($groups)" '2:signal:(TERM KILL INT)'
}
`

const zshTail = `
_brainbox() {
  case $service in
    brainbox-exec)
      shift words
      (( CURRENT -= 1 ))
      _normal
      ;;
    brainbox-kill) _brainbox_kill ;;
    *) _brainbox_verbs ;;
  esac
}

_brainbox "$@"
`

// zshQuoted is a word for zsh.
func zshQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// zshText is the text in brackets of a flag.
func zshText(s string) string {
	return "[" + strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`).Replace(s) + "]"
}

// zshSpec is a flag for _arguments.
func zshSpec(f completedFlag) string {
	after := zshText(f.text)
	long := "--" + f.long
	if f.takes {
		long += "="
		after += ":" + f.long + ":" + zshAction(f)
	}
	switch {
	case f.short == "":
		spec := long + after
		if f.repeated {
			spec = "*" + spec
		}
		return zshQuoted(spec)
	case f.takes:
		return fmt.Sprintf("'(-%s --%s)'{-%s+,%s}%s", f.short, f.long, f.short, long, zshQuoted(after))
	}
	return fmt.Sprintf("'(-%s --%s)'{-%s,%s}%s", f.short, f.long, f.short, long, zshQuoted(after))
}

func zshAction(f completedFlag) string {
	switch k := f.kind; {
	case len(k.words) > 0 && (k.files || k.folders):
		return "_brainbox_" + f.long
	case len(k.words) > 0:
		return "(" + strings.Join(k.words, " ") + ")"
	case k.files:
		return "_files"
	case k.folders:
		return "_path_files -/"
	case k.other == "env":
		return "_brainbox_env"
	case k.other == "session":
		return "_brainbox_sessions"
	}
	return " " // a message, and nothing to choose
}

// zshScript is completions/_brainbox.
func zshScript(verbs []completedVerb) string {
	var b strings.Builder
	b.WriteString(zshHead)
	var shared []completedFlag
	lists := map[string][]string{}
	for _, v := range verbs {
		if v.name == "run" {
			shared = v.flags
		}
		if sub, ok := strings.CutPrefix(v.name, "policy "); ok {
			lists["below"] = append(lists["below"], zshQuoted(sub+":"+v.text))
			continue
		}
		lists["verbs"] = append(lists["verbs"], zshQuoted(v.name+":"+strings.ReplaceAll(v.text, ":", `\:`)))
	}
	for _, v := range verbs {
		if v.name == "policy show" { // has the policy's flags alone
			shared = slices.DeleteFunc(slices.Clone(shared), func(f completedFlag) bool { return !hasFlag(v.flags, f) })
		}
	}
	b.WriteString("\n_brainbox_verbs() {\n  local curcontext=$curcontext verb expl\n  local -a verbs below operations policy flags\n")
	for _, name := range []string{"verbs", "below"} {
		fmt.Fprintf(&b, "  %s=(\n    %s\n  )\n", name, strings.Join(lists[name], "\n    "))
	}
	fmt.Fprintf(&b, "  operations=(%s)\n  # Flags of every verb that needs a policy.\n  policy=(\n", whyOperations)
	for _, f := range shared {
		b.WriteString("    " + zshSpec(f) + "\n")
	}
	b.WriteString(`  )
  if (( CURRENT == 2 )); then
    _arguments '(- *)--help[show help]' '1: :{_describe verb verbs}'
    return
  fi
  verb=$words[2]
  if [[ $verb == policy ]]; then
    if (( CURRENT == 3 )); then
      shift words
      (( CURRENT -= 1 ))
      _arguments '(- *)--help[show help]' '1: :{_describe verb below}'
      return
    fi
    verb="policy $words[3]"
    shift words
    (( CURRENT -= 1 ))
  fi
  shift words
  (( CURRENT -= 1 ))
  case $verb in
`)
	fmt.Fprintf(&b, "    %s) _brainbox_program && return ;;\n  esac\n  case $verb in\n", zshPattern(wantsProgram()))
	for _, v := range verbs {
		b.WriteString(zshVerb(v, shared))
	}
	b.WriteString("    *) return 1 ;;\n  esac\n}\n" + zshTail)
	return b.String()
}

func zshPattern(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = n
		if strings.Contains(n, " ") {
			quoted[i] = zshQuoted(n)
		}
	}
	return strings.Join(quoted, " | ")
}

// zshVerb is the case of a verb.
func zshVerb(v completedVerb, shared []completedFlag) string {
	var words []string
	rest := ""
	switch {
	case slices.Contains(wantsProgram(), v.name):
		rest = "'*:the program follows:(--)'"
	case v.name == "why":
		rest = "'*: :_brainbox_why'"
	case slices.Contains(wantsFiles(), v.name):
		rest = "'*:file:_files'"
	}
	var without []string
	has := 0
	for _, f := range shared {
		if hasFlag(v.flags, f) {
			has++
		} else {
			without = append(without, "--"+f.long+"*")
		}
	}
	switch {
	case has == 0:
	case len(without) == 0:
		words = append(words, "$policy")
	default:
		words = append(words, "${policy:#("+strings.Join(without, "|")+")}")
	}
	for _, f := range v.flags {
		if has == 0 || !hasFlag(shared, f) {
			words = append(words, zshSpec(f))
		}
	}
	if len(words) == 0 && rest == "" {
		return ""
	}
	words = append(words, "'(- *)--help[show help]'")
	if rest != "" {
		words = append(words, rest)
	}
	return fmt.Sprintf("    %s)\n      flags=(\n        %s\n      )\n      _arguments -S $flags\n      ;;\n",
		zshPattern([]string{v.name}), strings.Join(words, "\n        "))
}
