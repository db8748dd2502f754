package dispatch

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestNewCommandRefuses(t *testing.T) {
	b := newBench(t)
	mine := b.config(`cat $good`)
	b.write("work/tool", "#!/bin/sh\n", 0o755)
	b.write("work/sh", "#!/bin/sh\n", 0o755)
	b.write("bin/by-work", "#!"+b.path("work/sh")+"\n", 0o755)
	b.write("bin/by-nothing", "#!\n", 0o755)
	b.write("bin/by-relative", "#! bin/sh\n", 0o755)
	for name, target := range map[string]string{
		"bin/linked": "../work/tool", "work/link": mine.Argv[0], "bin/through": b.path("work/link"),
	} {
		if err := os.Symlink(target, b.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(b.path("open"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(b.path("open"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(b.path("bin/fifo"), 0o700); err != nil {
		t.Fatal(err)
	}
	b.write("bin/by-fifo", "#!"+b.path("bin/fifo")+"\n", 0o755)
	b.write("open/tool", "#!/bin/sh\n", 0o755)
	argv := func(list ...string) func(*CommandConfig) { return func(c *CommandConfig) { c.Argv = list } }
	for _, c := range []struct {
		id, code string
		change   func(*CommandConfig)
	}{
		{"bg/A73", CodeArgvInvalid, argv(b.path("work/tool"))},
		{"bg/A73 by a link", CodeArgvInvalid, argv(b.path("bin/linked"))},
		{"bg/A73 by a link inside", CodeArgvInvalid, argv(b.path("work/link"))},
		{"bg/A73 by two links", CodeArgvInvalid, argv(b.path("bin/through"))},
		{"bg/A73 interpreter", CodeArgvInvalid, argv(b.path("bin/by-work"))},
		{"bg/A73 the tree by another name", CodeArgvInvalid, func(c *CommandConfig) {
			c.Writable = []string{b.path("bin/../work/../bin")}
		}},
		{"bg/A73 the file itself", CodeArgvInvalid, func(c *CommandConfig) { c.Writable = slices.Clone(c.Argv) }},
		{"bg/A73 an argument", CodeArgvInvalid, argv("sh", b.path("work/tool"))},
		{"bg/A73 an argument by a link", CodeArgvInvalid, argv("sh", "--", b.path("bin/linked"))},
		{"bg/A73 an argument by a link inside", CodeArgvInvalid, argv("sh", b.path("work/link"))},
		{"bg/A73 an argument of a flag", CodeArgvInvalid, argv("sh", "--rcfile="+b.path("bin/../work/tool"))},
		{"bg/A73 an argument that could be made", CodeArgvInvalid, argv("sh", b.path("work/none/x"))},
		{"a folder that others write to", CodeArgvInvalid, argv(b.path("open/tool"))},
		{"a script by nothing", CodeArgvInvalid, argv(b.path("bin/by-nothing"))},
		{"a script by a relative path", CodeArgvInvalid, argv(b.path("bin/by-relative"))},
		{"a script by a FIFO", CodeArgvInvalid, argv(b.path("bin/by-fifo"))},
		{"relative", CodeArgvInvalid, argv("bin/tool")},
		{"relative to here", CodeArgvInvalid, argv("./tool")},
		{"not clean", CodeArgvInvalid, argv(b.dir + "/work/../bin/tool")},
		{"nothing", CodeArgvInvalid, argv()},
		{"no name", CodeArgvInvalid, argv("", "a")},
		{"a NUL", CodeArgvInvalid, argv("sh", "a\x00b")},
		{"65 arguments", CodeArgvInvalid, argv(slices.Repeat([]string{"sh"}, 65)...)},
		{"too long", CodeArgvInvalid, argv("sh", strings.Repeat("x", maxArgBytes))},
		{"variable", CodeEnvNameInvalid, func(c *CommandConfig) { c.Env = map[string]string{"A B": "x"} }},
		{"value", CodeEnvNameInvalid, func(c *CommandConfig) { c.Env = map[string]string{"A": "x\x00y"} }},
		{"own variable", CodeEnvNameInvalid, func(c *CommandConfig) { c.Env = map[string]string{"BRAINBOX_X": "x"} }},
		{"own variable inherited", CodeEnvNameInvalid, func(c *CommandConfig) { c.Inherit = []string{"BRAINBOX_SOCKET"} }},
		{"inherited", CodeEnvNameInvalid, func(c *CommandConfig) { c.Inherit = []string{"A=B"} }},
		{"negative", CodeTimeoutInvalid, func(c *CommandConfig) { c.Timeout = -1 }},
		{"too patient", CodeTimeoutInvalid, func(c *CommandConfig) { c.Timeout = MaxTimeout + 1 }},
		{"transport", CodeHostInvalid, func(c *CommandConfig) { c.Transport = "socket" }},
		{"no keeper", CodeHostInvalid, func(c *CommandConfig) { c.Keeper = "" }},
		{"a relative keeper", CodeHostInvalid, func(c *CommandConfig) { c.Keeper = "brainbox-host" }},
		{"a keeper in a tree", CodeHostInvalid, func(c *CommandConfig) { c.Keeper = b.path("work/tool") }},
		{"scratch in a tree", CodeHostInvalid, func(c *CommandConfig) { c.Scratch = b.path("work") }},
		{"a tree that is not there", CodeHostInvalid, func(c *CommandConfig) { c.Writable = []string{b.path("none")} }},
		{"a cgroup that is none", CodeHostInvalid, func(c *CommandConfig) { c.Cgroup = b.dir }},
		{"the zero value", CodeHostInvalid, func(c *CommandConfig) { *c = CommandConfig{} }},
	} {
		t.Run(c.id, func(t *testing.T) {
			settled(t)
			cfg := mine
			if good, err := NewCommand(cfg, variables()); err != nil {
				t.Fatalf("unchanged: %v", err)
			} else {
				good.Close()
			}
			c.change(&cfg)
			got, err := NewCommand(cfg, variables())
			var refusal *ConfigError
			if got != nil || !errors.As(err, &refusal) || refusal.Code != c.code {
				t.Errorf("%v, want %s", err, c.code)
			}
		})
	}
}

// A folder that a sandbox writes to may be an argument, and any file elsewhere.
func TestCommandTakesFolders(t *testing.T) {
	b := newBench(t)
	cfg := b.config(`cat $good`)
	cfg.Argv = append(cfg.Argv, "--repo="+b.path("work"), b.path("work"), b.path("good"), b.path("none"), "work/tool", "a=/b")
	check(t, b.command(cfg, variables()).Dispatch(context.Background(), request()), "succeeded")
}

// The PATH is the host's, and leaves out what a sandbox writes to.
func TestCommandIsFoundInThePath(t *testing.T) {
	b := newBench(t)
	cfg := b.config(`echo "$PATH" >$notes/path; cat $good`)
	b.write("work/tool", "#!/bin/sh\ntouch "+b.path("notes/hacked")+"\n", 0o755)
	if err := os.Symlink(b.path("work"), b.path("bin-link")); err != nil {
		t.Fatal(err)
	}
	cfg.Argv = []string{"tool"}
	cfg.Path = strings.Join([]string{"", ".", "work", b.path("work"), b.path("bin-link"), b.dir + "/bin/../work", b.path("none"), b.path("bin"), "/usr/bin", "/bin"}, ":")
	t.Chdir(b.path("work"))
	t.Setenv("PATH", b.path("work")+":"+os.Getenv("PATH"))
	check(t, b.command(cfg, os.Getenv).Dispatch(context.Background(), request()), "succeeded")
	if _, err := os.Stat(b.path("notes/hacked")); err == nil {
		t.Error("the program of the sandbox ran")
	}
	got, err := os.ReadFile(b.path("notes/path"))
	if want := b.path("bin") + ":/usr/bin:/bin\n"; err != nil || string(got) != want {
		t.Errorf("PATH=%q, %v, want %q", got, err, want)
	}
}

func TestCommandEnvironment(t *testing.T) {
	b := newBench(t)
	cfg := b.config(`tr '\0' '\n' </proc/self/environ >$notes/env; cat $good`)
	t.Setenv("HOST_SECRET", "never")
	t.Setenv("GIT_DIR", "never")
	cfg.Env = map[string]string{"A": "1", "MODE": "configured"}
	cfg.Inherit = []string{"LANG", "MODE", "UNSET"}
	getenv := variables("LANG", "C.UTF-8", "MODE", "inherited", "OTHER", "x")
	check(t, b.command(cfg, getenv).Dispatch(context.Background(), request()), "succeeded")
	text, err := os.ReadFile(b.path("notes/env"))
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.DeleteFunc(strings.Fields(string(text)), func(s string) bool { // what the shell adds
		return strings.HasPrefix(s, "PWD=") || strings.HasPrefix(s, "OLDPWD=") || strings.HasPrefix(s, "_=") || strings.HasPrefix(s, "SHLVL=")
	})
	want := []string{"A=1", "LANG=C.UTF-8", "MODE=configured", "PATH=" + strings.Join(trustedDirs(DefaultPath, b.command(cfg, getenv).rule), ":")}
	slices.Sort(lines)
	if !slices.Equal(lines, want) {
		t.Errorf("%q, want %q", lines, want)
	}
}

func TestProblemNamesNoValue(t *testing.T) {
	b := newBench(t)
	cfg := b.config("")
	cfg.Argv = []string{"no-such-prog"}
	if p := b.command(cfg, variables()).Problem(); p == nil || p.Error() != `command_not_found: "no-such-prog"` {
		t.Errorf("%v", p)
	}
	for _, c := range []struct {
		cfg  EndpointConfig
		want string
	}{
		{EndpointConfig{}, "no variable"},
		{EndpointConfig{URLEnv: "U"}, "U is not set"},
		{EndpointConfig{URLEnv: "BAD"}, "the value of BAD"},
		{EndpointConfig{URLEnv: "OK", TokenEnv: "T"}, "T is not set"},
		{EndpointConfig{URLEnv: "OK", TokenEnv: "LF"}, "LF has no token"},
	} {
		p := NewEndpoint(c.cfg, variables("BAD", "https://user:s3cret@h/", "OK", "https://h/", "LF", "s3cret\n")).Problem()
		if p == nil || !strings.Contains(p.Error(), c.want) || strings.Contains(p.Error(), "s3cret") {
			t.Errorf("%+v: %v", c.cfg, p)
		}
	}
}

func FuzzScriptInterpreter(f *testing.F) {
	for _, s := range []string{"#!/bin/sh\n", "#! /usr/bin/env python3 -x\n", "#!\n", "\x7fELF", "#!/bin/sh\x00x"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		got := scriptInterpreter(head)
		if (got != "") != bytes.HasPrefix(head, []byte("#!")) || strings.ContainsAny(got, " \t\n\x00") {
			t.Errorf("%q: %q", head, got)
		}
	})
}

func TestDefaultDeadline(t *testing.T) {
	b := newBench(t)
	cfg := b.config("")
	cfg.Timeout = 0
	if got := b.command(cfg, variables()).timeout; got != 30*time.Second {
		t.Errorf("%v", got)
	}
	for timeout, want := range map[time.Duration]time.Duration{0: 30 * time.Second, -1: 30 * time.Second, time.Hour: MaxTimeout, time.Second: time.Second} {
		if got := NewEndpoint(EndpointConfig{Timeout: timeout}, variables()).timeout; got != want {
			t.Errorf("%v became %v", timeout, got)
		}
	}
}
