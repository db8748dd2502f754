package main

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brainbox/internal/needs"
)

const fishHead = `# fish completion for brainbox(1), brainbox-exec(8) and brainbox-kill(8).
# Written from the command's own table of verbs and flags:
#   go test ./cmd/brainbox -run TestCompletionsAreWritten -update

# The verb on the command line: run, or policy-show for one below policy.
function __brainbox_verb
    set -l typed (commandline -opc)
    if test "$typed[2]" = policy; and set -q typed[3]
        echo policy-$typed[3]
    else if set -q typed[2]
        echo $typed[2]
    else
        echo none
    end
end

# Whether the verb is one of the arguments.
function __brainbox_is
    contains -- (__brainbox_verb) $argv
end

# Whether the verb is one of the arguments and no -- stands before what is typed.
function __brainbox_before
    __brainbox_is $argv; and not contains -- -- (commandline -opc)
end

# Whether the verb is one of the arguments and a -- stands before what is typed.
function __brainbox_behind
    __brainbox_is $argv; and contains -- -- (commandline -opc)
end

# Whether no operation of brainbox why has been typed.
function __brainbox_no_operation
    __brainbox_is why; or return 1
    for word in (commandline -opc)
        contains -- $word $__brainbox_operations; and return 1
    end
    return 0
end

# Completes the program, and what belongs to it, behind the word of that number.
function __brainbox_program
    set -l typed (commandline -opc)
    set -l at $argv[1]
    if test $at = --
        set at (contains -i -- -- $typed)
    end
    set -e typed[1..$at]
    complete -C (string join -- ' ' (string escape -- $typed) (commandline -ct))
end

function __brainbox_sessions
    set -q XDG_RUNTIME_DIR; and command ls $XDG_RUNTIME_DIR/brainbox 2>/dev/null
end

function __brainbox_env
    set -nx
end
`

// fishQuoted is a word for fish.
func fishQuoted(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

func fishVerbs(names ...string) string {
	var b strings.Builder
	for _, n := range names {
		b.WriteString(" " + strings.ReplaceAll(n, " ", "-"))
	}
	return b.String()
}

// fishScript is completions/brainbox.fish.
func fishScript(verbs []completedVerb) string {
	var b strings.Builder
	b.WriteString(fishHead)
	fmt.Fprintf(&b, "\nset -g __brainbox_operations %s\n", whyOperations)
	b.WriteString("\n# Verbs. Files are offered only where they are meant.\ncomplete -c brainbox -f\n")
	b.WriteString("complete -c brainbox -l help -d 'show help'\n")
	for _, v := range verbs {
		on, name := "none", v.name
		if sub, ok := strings.CutPrefix(v.name, "policy "); ok {
			on, name = "policy", sub
		}
		fmt.Fprintf(&b, "complete -c brainbox -n '__brainbox_is %s' -a %s -d %s\n", on, name, fishQuoted(v.text))
	}
	b.WriteString("\n# What is no flag.\n")
	fmt.Fprintf(&b, "complete -c brainbox -n '__brainbox_before%s' -a -- -d 'the program follows'\n", fishVerbs(wantsProgram()...))
	fmt.Fprintf(&b, "complete -c brainbox -n '__brainbox_behind%s' -a '(__brainbox_program --)'\n", fishVerbs(wantsProgram()...))
	b.WriteString("complete -c brainbox -n __brainbox_no_operation -a \"$__brainbox_operations\" -d operation\n")
	fmt.Fprintf(&b, "complete -c brainbox -n '__brainbox_is%s' -F\n", fishVerbs(wantsFiles()...))
	var groups [][]string
	flags := map[string][]completedFlag{}
	for _, f := range everyFlag(verbs) {
		key := fishVerbs(f.verbs...)
		if flags[key] == nil {
			groups = append(groups, f.verbs)
		}
		flags[key] = append(flags[key], f.flag)
	}
	for _, g := range groups {
		fmt.Fprintf(&b, "\n# Flags of %s.\nset -l on -n '__brainbox_is%s'\n", strings.Join(g, ", "), fishVerbs(g...))
		for _, f := range flags[fishVerbs(g...)] {
			b.WriteString(fishLine(f))
		}
	}
	b.WriteString(`
# The other programs.
complete -c brainbox-exec -f -a '(__brainbox_program 1)'
complete -c brainbox-kill -f
complete -c brainbox-kill -n 'test (count (commandline -opc)) = 1' -a '(command ps -eo pgid= 2>/dev/null | string trim | sort -un)' -d 'process group'
complete -c brainbox-kill -n 'test (count (commandline -opc)) = 2' -a 'TERM KILL INT' -d signal
`)
	return b.String()
}

// flagOn is a flag and all verbs that have it.
type flagOn struct {
	flag  completedFlag
	verbs []string
}

func everyFlag(verbs []completedVerb) (list []flagOn) {
	for _, v := range verbs {
		for _, f := range v.flags {
			i := slices.IndexFunc(list, func(o flagOn) bool { return o.flag.same(f) && isEmpty(o.flag.kind) == isEmpty(f.kind) })
			if i < 0 {
				list = append(list, flagOn{flag: f})
				i = len(list) - 1
			}
			list[i].verbs = append(list[i].verbs, v.name)
		}
	}
	return list
}

func fishLine(f completedFlag) string {
	line := "complete -c brainbox $on -l " + f.long
	if f.short != "" {
		line += " -s " + f.short
	}
	var offers []string
	if len(f.kind.words) > 0 {
		offers = append(offers, strings.Join(f.kind.words, " "))
	}
	switch {
	case !f.takes:
	case f.kind.files:
		line += " -rF"
	default:
		line += " -x"
	}
	switch {
	case f.kind.folders:
		offers = append(offers, "(__fish_complete_directories (commandline -ct) '')")
	case f.kind.other == "env":
		offers = append(offers, "(__brainbox_env)")
	case f.kind.other == "session":
		offers = append(offers, "(__brainbox_sessions)")
	}
	if len(offers) > 0 {
		line += " -a " + strings.ReplaceAll(fishQuoted(strings.Join(offers, " ")), `\'\'`, `""`)
	}
	return line + " -d " + fishQuoted(f.text) + "\n"
}

// fishOffers asks a fish what it offers for command lines, all in one process.
func fishOffers(t *testing.T, lines ...string) [][]string {
	t.Helper()
	const script = `source $argv[1]
for line in $argv[2..]
    complete -C $line
    echo ==
end`
	fish := needs.Program(t, "fish")
	cmd := exec.CommandContext(t.Context(), fish, append([]string{"--no-config", "-c", script, fishCompletion}, lines...)...)
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=/usr/bin:/bin", "XDG_RUNTIME_DIR=" + runtimeWithSession(t), "LC_ALL=C", "TERM=dumb"}
	out, err := cmd.Output()
	var ee *exec.ExitError
	if errors.As(err, &ee) {
		t.Fatalf("fish: %v\n%s", err, ee.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(out), "==\n")
	if len(parts) != len(lines)+1 {
		t.Fatalf("%d answers to %d lines:\n%s", len(parts)-1, len(lines), out)
	}
	answers := make([][]string, len(lines))
	for i := range lines {
		for line := range strings.Lines(parts[i]) {
			word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			answers[i] = append(answers[i], word)
		}
		slices.Sort(answers[i])
		answers[i] = slices.Compact(answers[i])
	}
	return answers
}

func TestFishOffersEveryFlag(t *testing.T) {
	everyFlagIsOffered(t, fishOffers)
}

func TestFishOffersValues(t *testing.T) {
	valuesAreOffered(t, fishOffers)
}

// The text of a flag stands beside it.
func TestFishTellsWhatAFlagIs(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), needs.Program(t, "fish"), "--no-config", "-c",
		"source "+fishCompletion+"; complete -C 'brainbox run --is'").CombinedOutput()
	if diff := cmp.Diff("--isolation\tauto, landlock or namespaces\n", string(out)); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
