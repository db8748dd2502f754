package learn

import (
	"strconv"
	"strings"
	"testing"

	"brainbox/launcher"
	"brainbox/policy"
)

// The world of these tests: a checkout in a home folder.
func place() policy.Vars {
	return policy.Vars{
		Home: "/home/u", Pwd: "/home/u/src/app", Cwd: "/home/u/src/app", Git: "/home/u/src/app", TmpDir: "/tmp", User: "u",
		XDGConfig: "/home/u/.config", XDGCache: "/home/u/.cache", XDGData: "/home/u/.local/share", XDGState: "/home/u/.local/state",
	}
}

func secretList() []launcher.Critical {
	list := []launcher.Critical{{Path: "/home/u/.local/state/brainbox", What: "the operator's key"}}
	for _, s := range policy.Secrets() {
		list = append(list, launcher.Critical{Path: s.Expand("/home/u"), What: s.What})
	}
	return list
}

// bases are default and minimal as they resolve in that world.
func bases(t testing.TB) []Base {
	t.Helper()
	var list []Base
	for _, name := range []string{"default", "minimal"} {
		l, ok := policy.Builtin(name)
		if !ok {
			t.Fatalf("no profile %s", name)
		}
		p, err := policy.Resolve(policy.Input{Vars: place()}, l)
		if err != nil {
			t.Fatal(err)
		}
		b := Base{Extends: name}
		for _, g := range p.Grants {
			switch {
			case g.Right == policy.RightProtect:
				b.Guards = append(b.Guards, g.Abs)
			case g.Right.Grants():
				b.Grants = append(b.Grants, g)
			}
		}
		if name == "default" {
			b.Tools = []string{"/home/u/.pyenv", "/home/u/.cargo"}
		}
		list = append(list, b)
	}
	return list
}

func input(t testing.TB, uses ...Use) Input {
	t.Helper()
	return Input{
		Uses: uses, Place: place(), Secrets: secretList(), Bases: bases(t), Always: []string{"/proc", "/dev/null", "/tmp/brainbox-1000/r1/home"},
		Path: []string{"/usr/bin", "/home/u/bin"}, Command: "make", Isolation: "landlock",
	}
}

func ops() map[string]launcher.Op {
	return map[string]launcher.Op{
		"read": launcher.OpRead, "list": launcher.OpRead, "write": launcher.OpWrite, "truncate": launcher.OpTruncate,
		"exec": launcher.OpExec, "create": launcher.OpCreate, "mkdir": launcher.OpCreate, "remove": launcher.OpRemove,
		"rename": launcher.OpRename, "link": launcher.OpLink, "connect": launcher.OpConnect, "bind": launcher.OpBind,
		"unix": launcher.OpUnix, "syscall": launcher.OpSyscall,
	}
}

// used reads uses, one a line: "[!]OPERATION PATH [DEST] [by PROGRAM]"; "!" was refused.
func used(t testing.TB, text string) []Use {
	t.Helper()
	var list []Use
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		u := Use{Count: 1, First: len(list), Judgement: launcher.Judgement{Verdict: launcher.Allowed}}
		verb, refused := strings.CutPrefix(words[0], "!")
		if refused {
			u.Judgement.Verdict = launcher.Refused
		}
		if n := len(words); n > 2 && words[n-2] == "by" {
			u.By, words = words[n-1], words[:n-2]
		}
		op, ok := ops()[verb]
		if !ok || len(words) < 2 {
			t.Fatalf("no use: %q", line)
		}
		u.Op, u.Kind = op, launcher.KindRegular
		switch verb {
		case "list", "mkdir":
			u.Kind = launcher.KindFolder
		case "connect", "bind":
			port, err := strconv.ParseUint(words[1], 10, 16)
			if err != nil {
				t.Fatal(err)
			}
			u.Port, u.Kind = uint16(port), launcher.KindAbsent
			list = append(list, u)
			continue
		case "syscall":
			u.Call, u.Kind = words[1], launcher.KindAbsent
			list = append(list, u)
			continue
		}
		u.Path = words[1]
		if len(words) > 2 {
			u.Dest = words[2]
		}
		list = append(list, u)
	}
	return list
}

// parsed is a draft as brainbox run would have it.
func parsed(t testing.TB, text []byte) *policy.Policy {
	t.Helper()
	l, err := policy.Parse(policy.KindFile, "/home/u/.config/brainbox/x.toml", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	p, err := policy.Resolve(policy.Input{Vars: place()}, l)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return p
}

// model answers as Landlock does: the rights of all entries around a path add up. It fails
// the test where entries of the file take something from each other.
func model(t testing.TB, p *policy.Policy, text []byte) func(path string) bits {
	t.Helper()
	var entries []policy.Entry
	for _, g := range p.Grants {
		if g.Right.Grants() {
			entries = append(entries, policy.Entry{Path: g.Abs, Right: g.Right, Kind: p.Sources[g.Source].Kind})
		}
	}
	for i, n := range policy.Nest(entries) {
		if entries[i].Kind != policy.KindProfile && (n.Err != nil || n.Implied != policy.RightNone || n.Drop) {
			t.Errorf("the entry %v: %+v\n%s", entries[i], n, text)
		}
	}
	return func(path string) bits {
		var all bits
		for _, e := range entries {
			if policy.Below(path, e.Path) {
				all |= bitsOf(e.Right)
			}
		}
		return all
	}
}
