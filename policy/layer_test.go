package policy

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"testing"
)

// TestFlagsShareKeys has every key of a file that is one word settable by a flag,
// and no other.
func TestFlagsShareKeys(t *testing.T) {
	values := map[string]string{
		"network.mode": "none", "network.dns": "none", "network.upstream": "http://p:1", "network.connect_tcp": "1",
		"network.resolver": "192.0.2.53",
		"network.bind_tcp": "1", "network.publish": "1", "network.allow_hosts": "a.b", "network.unix": "/x",
		"env.allow": "A", "env.set": "A=1", "env.files": "/x", "env.ca_bundle": "/x",
		"process.timeout": "1s", "process.kill_after": "1s", "process.memory": "1MiB", "process.cpu": "1",
		"process.pids": "1", "process.nofile": "1", "process.fsize": "1", "process.output_limit": "1",
		"process.seccomp": "./x", "sandbox.isolation": "auto", "sandbox.home": "run", "sandbox.degraded": "ipc",
		"sandbox.git_config": "true", "sandbox.allow_protected": "/x", "sandbox.cwd": "/x",
		"sandbox.keep_created": "false", "gate.allowed_tools": "bash", "gate.confirm": "x",
		"gate.confirm_more": "x", "bridge.envelope": "/x",
		"filesystem.read": "/x", "filesystem.exec": "/x", "filesystem.write": "/x",
		"filesystem.write_exec": "/x", "filesystem.protect": "/x", "filesystem.deny": "/x",
	}
	unset := map[string]bool{
		"gate.rule": true, "sandbox.identity": true, "sandbox.callers": true, "sandbox.tmp_root": true,
		"bridge.roots": true,
	}
	seen := 0
	for _, table := range []string{"filesystem", "network", "env", "process", "sandbox", "gate", "bridge"} {
		for _, name := range keysOf(table) {
			key := table + "." + name
			if isTable(key) {
				continue
			}
			l := NewFlagLayer()
			err := l.Set(key, "--x", values[key])
			if _, ok := values[key]; ok == (err != nil) || !ok && !unset[key] {
				t.Errorf("Set(%q): %v", key, err)
				continue
			}
			if err == nil {
				seen++
				if l.Policy.Sources[0] != (Source{Kind: KindFlag, Name: "--x"}) {
					t.Errorf("Set(%q) has source %+v", key, l.Policy.Sources[0])
				}
			}
		}
	}
	if seen != len(values) {
		t.Errorf("%d keys set, want %d", seen, len(values))
	}
	for _, key := range []string{
		"", "version", "extends", "filesystem", "filesystem.remove", "filesystem.remove.read", "x.y", ".",
	} {
		if err := NewFlagLayer().Set(key, "--x", "1"); err == nil {
			t.Errorf("Set(%q) is accepted", key)
		}
	}
	if err := NewFlagLayer().AddGrant("--x", "/x", RightNone); err == nil {
		t.Error("a grant of nothing is accepted")
	}
	if err := NewFlagLayer().AddGrant("--x", "/x", RightDeny+1); err == nil {
		t.Error("an unknown right is accepted")
	}
}

func TestParseBounds(t *testing.T) {
	long := strings.Repeat("#", maxText)
	if _, err := Parse(KindFile, "p", []byte("version=1\n"+long)); err == nil {
		t.Error("a text beyond the bound is accepted")
	}
	if _, err := Parse(KindFile, "p", []byte("version=1\n"+long[:maxText-10])); err != nil {
		t.Errorf("a text at the bound: %v", err)
	}
	list := func(n int) []byte {
		return []byte("version = 1\nenv.allow = [" + strings.Repeat(`"A",`, n) + "]\n")
	}
	if _, err := Parse(KindProject, "p", list(maxKeys)); err != nil {
		t.Errorf("a list at the bound: %v", err)
	}
	if _, err := Parse(KindProject, "p", list(maxKeys+1)); err == nil {
		t.Error("a list beyond the bound is accepted")
	}
	var set strings.Builder
	set.WriteString("version = 1\n[env.set]\n")
	for i := range maxKeys + 1 {
		set.WriteString("A" + strconv.Itoa(i) + " = \"\"\n")
	}
	if _, err := Parse(KindFile, "p", []byte(set.String())); err == nil {
		t.Error("a table beyond the bound is accepted")
	}
	deep := "version = 1\nfilesystem.read = " + strings.Repeat("[", 50000)
	if _, err := Parse(KindFile, "p", []byte(deep)); err == nil {
		t.Error("a deep list is accepted")
	}
	var many Errors
	_, err := Parse(KindFile, "p", []byte("version = 1\nfilesystem.read = ["+strings.Repeat("1,", 1000)+"]\n"))
	if !errors.As(err, &many) || len(many) != maxErrors {
		t.Errorf("%d errors", len(many))
	}
	for _, kind := range []SourceKind{KindProfile, KindFlag} {
		if _, err := Parse(kind, "p", []byte("version = 1\n")); err == nil {
			t.Errorf("a %v is read from a text", kind)
		}
	}
}

// TestExtendsWide stops files that each extend many others.
func TestExtendsWide(t *testing.T) {
	reads := 0
	in := Input{Vars: testVars(), Read: func(string) ([]byte, error) {
		reads++
		var b strings.Builder
		b.WriteString("version = 1\nextends = [")
		for i := range 10 {
			b.WriteString(`"./` + strconv.Itoa(reads) + "-" + strconv.Itoa(i) + `.toml",`)
		}
		return []byte(b.String() + "]\n"), nil
	}}
	l, err := Parse(KindFile, "p.toml", []byte("version = 1\nextends = [\"./x.toml\"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Resolve(in, l); err == nil {
		t.Error("accepted")
	}
	if reads > maxRead {
		t.Errorf("%d files read", reads)
	}
}

func TestErrorCauses(t *testing.T) {
	l, err := Parse(KindFile, "p\x1b[31m.toml", []byte("version = 1\nextends = [\"./x.toml\"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = Resolve(Input{Read: func(p string) ([]byte, error) {
		return nil, &fs.PathError{Op: "open", Path: p, Err: fs.ErrPermission}
	}}, l)
	if !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%v hides its cause", err)
	}
	if strings.ContainsRune(err.Error(), '\x1b') {
		t.Errorf("%q reaches the terminal raw", err)
	}
	if _, err := Resolve(Input{}, l); err == nil {
		t.Error("a file is extended without a way to read it")
	}
	l, err = Parse(KindFile, "p.toml", []byte("version = 1\nfilesystem.read = [\"@git\"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = Resolve(Input{Vars: Vars{Cwd: "/x"}}, l)
	var one *Error
	if !errors.Is(err, ErrNoValue) || !errors.As(err, &one) || one.Source.Line != 2 {
		t.Errorf("@git outside a checkout: %v", err)
	}
	skipped, err := Parse(KindFile, "p.toml",
		[]byte("version = 1\nfilesystem.read = [{ path = \"@git\", missing = \"skip\" }]\n"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := Resolve(Input{Vars: Vars{Cwd: "/x"}}, skipped)
	if err != nil || len(p.Grants) != 0 {
		t.Errorf("@git outside a checkout, to be skipped: %v, %v", p, err)
	}
}

func TestResolveRefusesLayers(t *testing.T) {
	parse := func(kind SourceKind) *Layer {
		l, err := Parse(kind, "p.toml", []byte("version = 1\nfilesystem.write = [\"/\"]\n"))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	in := Input{Vars: testVars()}
	if _, err := Resolve(in, parse(KindProject)); err == nil {
		t.Error("a project file grants")
	}
	if _, err := Resolve(in, parse(KindExec), NewFlagLayer()); err == nil {
		t.Error("exec.toml is merged with flags")
	}
	if _, err := Resolve(in, parse(KindExec)); err != nil {
		t.Errorf("exec.toml alone: %v", err)
	}
	if _, err := Resolve(in, parse(KindFile), NewFlagLayer()); err != nil {
		t.Errorf("a file and flags: %v", err)
	}
}

func TestHint(t *testing.T) {
	_, size := ParseSize("2G")
	_, value := Expand(KindFile, "@git", Vars{})
	_, text := Parse(KindFile, "p", []byte("version = 2\nx = 1\n"))
	for _, err := range []error{
		size, value, text, CheckPath(KindFile, "*"), NewFlagLayer().Set("process.pids", "--pids", "x"),
	} {
		if err == nil || Hint(err) == "" {
			t.Errorf("%v has no hint", err)
		}
	}
	if Hint(nil) != "" || Hint(fs.ErrNotExist) != "" {
		t.Error("a hint from nowhere")
	}
}

func TestNearest(t *testing.T) {
	for got, want := range map[string]string{
		"wirte": "write", "reed": "read", "write-exec": "write_exec", "x": "", "zzzzzz": "", "": "",
		strings.Repeat("a", 1000): "",
	} {
		if n := nearest(got, rightWords[1:]); n != want {
			t.Errorf("nearest to %.20q is %q, want %q", got, n, want)
		}
	}
}

// TestNoValue has every path of the language report a variable without a value,
// with its place.
func TestNoValue(t *testing.T) {
	for _, line := range []string{
		`filesystem.read = ["@git"]`,
		`filesystem.remove.read = ["@git"]`,
		`network.unix = ["@git"]`,
		`env.files = ["@git"]`,
		`env.ca_bundle = "@git"`,
		`process.seccomp = "@git/s.json"`,
		`sandbox.home = "@git/home"`,
		`sandbox.cwd = "@git"`,
		`sandbox.allow_protected = ["@git"]`,
		`bridge.envelope = "@git"`,
		`bridge.roots = { a = "@git" }`,
	} {
		l, err := Parse(KindFile, "p.toml", []byte("version = 1\n"+line+"\n"))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		v := testVars()
		v.Git = ""
		_, err = Resolve(Input{Vars: v}, l)
		var one *Error
		if !errors.As(err, &one) || one.Source.Line != 2 || one.Source.Column < 14 || one.Key == "" {
			t.Errorf("%s: %v", line, err)
		}
	}
	project, err := Parse(KindProject, "p.toml", []byte("version = 1\nfilesystem.deny = [\"@git\"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Narrow(&Policy{}, project, Input{}); !errors.Is(err, ErrNoValue) {
		t.Errorf("a project's deny without a value: %v", err)
	}
}
