package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"brainbox/export"
	"brainbox/policy"
)

const (
	fishCompletion = "../../completions/brainbox.fish"
	zshCompletion  = "../../completions/_brainbox"
)

// valueKind is what a flag takes.
type valueKind struct {
	words   []string // of a closed set
	files   bool
	folders bool
	other   string // what a function of the completions finds: "env" or "session"
}

// valueOf says what a flag that takes a value takes. A flag that is not here fails the
// test: a new one needs its line, if only among those for which nothing can be offered.
func valueOf(t *testing.T, verb, name string) valueKind {
	t.Helper()
	switch verb + " " + name {
	case "approve deny":
		return valueKind{}
	}
	switch name {
	case "policy", "gate", "bridge", "ro", "rox", "rw", "rwx", "protect", "deny", "no-protect", "env-file", "unix",
		"socket", "audit", "output":
		return valueKind{files: true}
	case "cwd", "rootfs":
		return valueKind{folders: true}
	case "home":
		return valueKind{words: []string{"run", "keep"}, folders: true}
	case "seccomp":
		return valueKind{words: []string{"default", "debug", "none"}, files: true}
	case "profile":
		return valueKind{words: policy.BuiltinNames()}
	case "net":
		return valueKind{words: []string{"none", "ports", "proxy", "host"}}
	case "dns":
		return valueKind{words: []string{"none", "host"}}
	case "isolation":
		return valueKind{words: []string{"auto", "landlock", "namespaces"}}
	case "allow-degraded":
		return valueKind{words: policy.Clauses()}
	case "allow-gap":
		return valueKind{words: export.Clauses()}
	case "to":
		return valueKind{words: []string{"oci", "seccomp"}}
	case "env", "session":
		return valueKind{other: name}
	case "connect-tcp", "bind-tcp", "publish", "allow-host", "resolver", "timeout", "kill-after", "memory", "cpu", "pids",
		"nofile", "fsize", "output-limit", "pass-fd", "status-fd", "since", "head", "revoke", "hold", "root", "base",
		"instruction":
		return valueKind{}
	}
	t.Errorf("brainbox %s --%s takes a value, and valueOf does not say which", verb, name)
	return valueKind{}
}

// completedFlag is a flag as the completions tell it.
type completedFlag struct {
	long, short string
	text        string
	takes       bool // a value
	repeated    bool
	kind        valueKind
}

// completedVerb is a verb, "policy show" for one below policy.
type completedVerb struct {
	name, text string
	flags      []completedFlag
}

// completedVerbs is the command's table.
func completedVerbs(t *testing.T) (list []completedVerb) {
	t.Helper()
	status := 0
	for _, c := range commands("", &status) {
		if c.Hidden {
			continue
		}
		list = append(list, completedVerb{c.Name, c.Usage, completedFlags(t, c.Name, c.Flags)})
		for _, sub := range c.Subcommands {
			name := c.Name + " " + sub.Name
			list = append(list, completedVerb{name, sub.Usage, completedFlags(t, name, sub.Flags)})
		}
	}
	return list
}

func completedFlags(t *testing.T, verb string, flags []cli.Flag) (list []completedFlag) {
	t.Helper()
	for _, f := range flags {
		var c completedFlag
		for _, name := range f.Names() {
			if len(name) == 1 {
				c.short = name
			} else {
				c.long = name
			}
		}
		c.text = textOf(c.long, f.(cli.DocGenerationFlag).GetUsage())
		c.takes = f.(cli.DocGenerationFlag).TakesValue()
		_, c.repeated = f.(*listOfFlag)
		if c.takes {
			c.kind = valueOf(t, verb, c.long)
		}
		list = append(list, c)
	}
	return list
}

// textOf is what a flag does, without the word for its value that a list's text ends with.
func textOf(name, usage string) string {
	for _, f := range listFlags() {
		if f.name == name {
			usage = strings.TrimSuffix(usage, " `"+f.value+"`")
		}
	}
	return strings.ReplaceAll(usage, "`", "")
}

// same says whether two verbs' flags can share a line.
func (f completedFlag) same(g completedFlag) bool {
	return f.long == g.long && f.short == g.short && f.text == g.text && f.takes == g.takes
}

func hasFlag(list []completedFlag, f completedFlag) bool { return slices.ContainsFunc(list, f.same) }

// wantsProgram are the verbs after whose "--" stands a program with its arguments.
func wantsProgram() []string { return []string{"run", "check", "learn", "policy export"} }

// wantsFiles are the verbs whose arguments are files.
func wantsFiles() []string {
	return []string{"why", "policy validate", "policy compile", "events", "write", "edit", "mask", "rm", "mv"}
}

func isEmpty(k valueKind) bool {
	return len(k.words) == 0 && !k.files && !k.folders && k.other == ""
}

// TestCompletionsAreWritten holds the completions of fish and zsh to the table; -update
// writes them.
func TestCompletionsAreWritten(t *testing.T) {
	verbs := completedVerbs(t)
	for name, want := range map[string]string{fishCompletion: fishScript(verbs), zshCompletion: zshScript(verbs)} {
		if *update {
			if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s is not what the flags say: go test ./cmd/brainbox -run TestCompletionsAreWritten -update", name)
		}
	}
}

// TestCompletionsTakeTheSameValues holds the closed sets to the command's own words, and
// what bash offers to the table.
func TestCompletionsTakeTheSameValues(t *testing.T) {
	sets := 0
	for _, v := range completedVerbs(t) {
		for _, f := range v.flags {
			if len(f.kind.words) == 0 {
				continue
			}
			sets++
			offered := completed(t, append(append([]string{"brainbox"}, strings.Fields(v.name)...), "--"+f.long, "")...)
			for _, word := range f.kind.words {
				if !slices.Contains(offered, word) {
					t.Errorf("brainbox %s --%s: bash does not offer %s: %q", v.name, f.long, word, offered)
				}
				if !strings.Contains(f.text, word) && !strings.HasPrefix(f.long, "allow-") && f.long != "profile" {
					t.Errorf("brainbox %s --%s: its text does not tell of %s: %q", v.name, f.long, word, f.text)
				}
			}
			if !f.kind.files && !f.kind.folders && len(offered) != len(f.kind.words) {
				t.Errorf("brainbox %s --%s: bash offers %q, the set is %q", v.name, f.long, offered, f.kind.words)
			}
		}
	}
	if sets < 30 {
		t.Fatalf("%d closed sets: too few to be all", sets)
	}
}
