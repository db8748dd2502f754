package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"

	"brainbox/internal/needs"
)

// completed asks the shell what it offers for a command line whose last word is
// being typed.
func completed(t *testing.T, words ...string) []string {
	t.Helper()
	const script = `compopt() { :; }
. ../../completions/brainbox.bash
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
"_${1/-/_}"
printf '%s\n' "${COMPREPLY[@]}"`
	out, err := exec.Command(needs.Program(t, "bash"), append([]string{"-euc", script, "bash"}, words...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", words, err, out)
	}
	got := strings.Fields(string(out))
	slices.Sort(got)
	return slices.Compact(got)
}

// typed are the flags as a user types them, --help among them.
func typed(flags []cli.Flag) []string {
	list := []string{"--help"}
	for _, f := range flags {
		for _, name := range f.Names() {
			if len(name) == 1 {
				list = append(list, "-"+name)
				continue
			}
			list = append(list, "--"+name)
		}
	}
	slices.Sort(list)
	return list
}

func TestCompletionOffersEveryFlag(t *testing.T) {
	var status int
	check := func(flags []cli.Flag, words ...string) {
		t.Helper()
		if len(flags) == 0 {
			return
		}
		if diff := cmp.Diff(typed(flags), completed(t, append(words, "-")...)); diff != "" {
			t.Errorf("%q (-has +offers):\n%s", words, diff)
		}
	}
	var verbs []string
	for _, c := range commands("", &status) {
		if c.Hidden {
			continue
		}
		verbs = append(verbs, c.Name)
		check(c.Flags, "brainbox", c.Name)
		for _, sub := range c.Subcommands {
			check(sub.Flags, "brainbox", c.Name, sub.Name)
		}
	}
	slices.Sort(verbs)
	got := slices.DeleteFunc(completed(t, "brainbox", ""), func(word string) bool { return word == "--help" })
	if diff := cmp.Diff(verbs, got); diff != "" {
		t.Errorf("verbs (-has +offers):\n%s", diff)
	}
}

func TestCompletionOffersValues(t *testing.T) {
	for name, test := range map[string]struct {
		words []string
		want  []string
	}{
		"a value of a flag":         {[]string{"brainbox", "run", "--isolation", "n"}, []string{"namespaces"}},
		"a clause":                  {[]string{"brainbox", "check", "--allow-degraded", "pro"}, []string{"processes", "protect"}},
		"a number takes nothing":    {[]string{"brainbox", "run", "--pids", ""}, nil},
		"a verb below policy":       {[]string{"brainbox", "policy", "v"}, []string{"validate"}},
		"what is exported":          {[]string{"brainbox", "policy", "export", "--to", "s"}, []string{"seccomp"}},
		"a gap":                     {[]string{"brainbox", "policy", "export", "--allow-gap", "ti"}, []string{"time"}},
		"an operation":              {[]string{"brainbox", "why", "sys"}, []string{"syscall"}},
		"the end of the flags":      {[]string{"brainbox", "run", ""}, []string{"--"}},
		"flags are not the program": {[]string{"brainbox", "run", "--", "--isola"}, nil},
		"a file to have removed":    {[]string{"brainbox", "rm", "completion_te"}, []string{"completion_test.go"}},
		"an id is no file":          {[]string{"brainbox", "approve", "--deny", "completion_te"}, nil},
		"but a path is":             {[]string{"brainbox", "run", "--deny", "completion_te"}, []string{"completion_test.go"}},
		"an exported program":       {[]string{"brainbox", "policy", "export", "--", "mkfif"}, []string{"mkfifo"}},
		"a hash is not completed":   {[]string{"brainbox", "write", "--base", ""}, nil},
		"a signal":                  {[]string{"brainbox-kill", "7", "K"}, []string{"KILL"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := completed(t, test.words...)
			if len(got) == 0 {
				got = nil
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%q (-want +got):\n%s", test.words, diff)
			}
		})
	}
}
