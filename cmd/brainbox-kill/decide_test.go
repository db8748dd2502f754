package main

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"brainbox/internal/userdb"
)

// The users of the vectors: the host's, the agent's, and a third one.
const (
	hostUID  = 10001
	agentUID = 10002
	thirdUID = 10003
)

const (
	testPasswd = "root:x:0:0::/root:/bin/sh\nbrain:x:10001:20001::/:/bin/sh\nagent:x:10002:20002::/:/bin/sh\n"
	testGroup  = "root:x:0:\nbrain:x:20001:agent\nagents:x:20003:\n"
)

func testAccounts() (accounts, error) { return userdb.DB{Passwd: testPasswd, Group: testGroup}, nil }

func testConfig() helperConfig {
	return helperConfig{identity: &identity{user: "agent"}, callers: []string{"brain"}}
}

func TestDecideRefuses(t *testing.T) {
	with := func(change func(*helperConfig)) helperConfig {
		cfg := testConfig()
		change(&cfg)
		return cfg
	}
	tests := []struct {
		name   string
		caller uint32
		cfg    helperConfig
		want   string
	}{
		{"bk/P8 agent (H1)", agentUID, testConfig(), "uid 10002 is not among the callers"},
		{"bk/P9 third user", thirdUID, testConfig(), "uid 10003 is not among the callers"},
		{"host without callers", hostUID, with(func(c *helperConfig) { c.callers = nil }), "not among the callers"},
		{"agent as a caller", agentUID, with(func(c *helperConfig) { c.callers = []string{"agent"} }), "is the identity itself"},
		{"agent as a caller by number, root calls", 0, with(func(c *helperConfig) { c.callers = []string{"10002"} }), "is the identity itself"},
		{"unknown caller, root calls", 0, with(func(c *helperConfig) { c.callers = []string{"brain", "gone"} }), `caller: "gone"`},
		{"unknown identity", 0, with(func(c *helperConfig) { c.identity.user = "gone" }), `identity user: "gone"`},
		{"unknown group", 0, with(func(c *helperConfig) { c.identity.group = "gone" }), `identity group: "gone"`},
		{"identity is root", 0, with(func(c *helperConfig) { c.identity.user = "root" }), "is root"},
		{"identity is root by number", 0, with(func(c *helperConfig) { c.identity.user = "0" }), "is root"},
		{"identity left empty", 0, with(func(c *helperConfig) { c.identity.user = "" }), "identity user"},
		{"a number without a group", 0, with(func(c *helperConfig) { c.identity.user = "555" }), "has no group"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := decide(tt.caller, tt.cfg, testAccounts)
			if err == nil || !strings.Contains(err.Error(), tt.want) || got != (target{}) {
				t.Errorf("decide = %+v, %v, want %q", got, err, tt.want)
			}
		})
	}
	if _, err := decide(thirdUID, testConfig(), testAccounts); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%v does not answer to fs.ErrPermission", err)
	}
	unreadable := func() (accounts, error) { return nil, fs.ErrPermission }
	if _, err := decide(0, testConfig(), unreadable); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("unreadable accounts = %v, want their error", err)
	}
}

func TestDecideAllows(t *testing.T) {
	agent := target{change: true, uid: agentUID, gid: 20002}
	tests := []struct {
		name   string
		caller uint32
		cfg    helperConfig
		want   target
	}{
		{"bk/P1 host (H1)", hostUID, testConfig(), agent},
		{"bk/P2 root", 0, testConfig(), agent},
		{"root without callers", 0, helperConfig{identity: &identity{user: "agent"}}, agent},
		{"own group", 0, helperConfig{identity: &identity{user: "agent", group: "agents"}}, target{true, agentUID, 20003}},
		{"numbers", 0, helperConfig{identity: &identity{user: "555", group: "556"}}, target{true, 555, 556}},
		{"caller by number", thirdUID, helperConfig{identity: &identity{user: "agent"}, callers: []string{"10003"}}, agent},
		{"no identity, ordinary user", thirdUID, helperConfig{}, target{}},
		{"no identity, root", 0, helperConfig{}, target{}},
		{"no identity, callers do not matter", thirdUID, helperConfig{callers: []string{"brain"}}, target{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := decide(tt.caller, tt.cfg, testAccounts)
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(target{})); err != nil || diff != "" {
				t.Errorf("decide = %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestPrivilegeCheck(t *testing.T) {
	raised := []privilege{
		{ruid: hostUID, euid: 0, secure: true},
		{ruid: hostUID, euid: 0},
		{ruid: 0, euid: hostUID},
		{ruid: hostUID, euid: hostUID, rgid: 1, egid: 2},
		{ruid: hostUID, euid: hostUID, secure: true}, // file capabilities
	}
	for _, p := range raised {
		if err := p.check(); err == nil || !strings.Contains(err.Error(), "set-uid") {
			t.Errorf("%+v.check() = %v, want a refusal", p, err)
		}
	}
	for _, p := range []privilege{{}, {ruid: 5, euid: 5, rgid: 6, egid: 6}} {
		if err := p.check(); err != nil {
			t.Errorf("%+v.check() = %v, want none", p, err)
		}
	}
}

func TestParseConfig(t *testing.T) {
	agent := &identity{user: "agent"}
	tests := []struct {
		name, text string
		want       helperConfig
		err        string
	}{
		{"empty", "", helperConfig{}, ""},
		{"no sandbox", "version = 1\nextends = [\"default\"]\n[network]\nmode = \"none\"\n", helperConfig{}, ""},
		{"user only", "[sandbox]\nidentity = { user = \"agent\" }\n", helperConfig{identity: agent}, ""},
		{
			"all", "[sandbox]\nidentity = { user = \"agent\", group = 20002, groups = [] }\ncallers = [\"brain\", 10003]\n",
			helperConfig{identity: &identity{"agent", "20002"}, callers: []string{"brain", "10003"}}, "",
		},
		{"number", "[sandbox]\nidentity = { user = 0 }\n", helperConfig{identity: &identity{user: "0"}}, ""},
		{"not TOML", "[sandbox", helperConfig{}, "toml"},
		{"twice", "[sandbox]\ncallers = []\ncallers = [\"x\"]\n", helperConfig{}, "toml"},
		{"misspelt key", "[sandbox]\nidentiy = { user = \"agent\" }\n", helperConfig{}, `"sandbox.identiy"`},
		{"misspelt table", "[sandox]\nidentity = { user = \"agent\" }\n", helperConfig{}, `"sandox"`},
		{"misspelt user", "[sandbox]\nidentity = { usr = \"agent\" }\n", helperConfig{}, `"sandbox.identity.usr"`},
		{"no user", "[sandbox]\nidentity = { group = \"agent\" }\n", helperConfig{}, "identity.user"},
		{"empty user", "[sandbox]\nidentity = { user = \"\" }\n", helperConfig{}, "identity.user"},
		{"negative", "[sandbox]\nidentity = { user = -1 }\n", helperConfig{}, "identity.user"},
		{"empty group", "[sandbox]\nidentity = { user = \"agent\", group = \"\" }\n", helperConfig{}, "identity.group"},
		{"identity is a word", "[sandbox]\nidentity = \"agent\"\n", helperConfig{}, "want a table"},
		{"sandbox is a list", "sandbox = []\n", helperConfig{}, "want a table"},
		{"callers is a word", "[sandbox]\ncallers = \"brain\"\n", helperConfig{}, "want a list"},
		{"caller is a truth value", "[sandbox]\ncallers = [true]\n", helperConfig{}, "callers"},
		{"extends a file", "extends = [\"./base.toml\"]\n", helperConfig{}, "extends"},
		{"extends a file, alone", "extends = \"base.toml\"\n", helperConfig{}, "extends"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseConfig([]byte(tt.text))
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) || got.identity != nil || got.callers != nil {
					t.Errorf("parseConfig = %+v, %v, want %q", got, err, tt.err)
				}
				return
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(helperConfig{}, identity{})); err != nil || diff != "" {
				t.Errorf("parseConfig = %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte("[sandbox]\nidentity = { user = \"agent\", group = 5 }\ncallers = [\"brain\", 10003]\n"))
	f.Add([]byte("extends = [\"default\"]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		cfg, err := parseConfig(text)
		if err == nil && cfg.identity != nil && cfg.identity.user == "" {
			t.Errorf("parseConfig(%q) has an identity without a user", text)
		}
	})
}

// fakeSystem counts what run does.
type fakeSystem struct {
	system
	out, errs strings.Builder
	dropped   []target
	signalled []int
}

func newFakeSystem(caller uint32) *fakeSystem {
	f := &fakeSystem{}
	f.system = system{
		privilege: func() privilege { return privilege{ruid: caller, euid: caller} },
		config:    func() (helperConfig, error) { return testConfig(), nil },
		accounts:  testAccounts,
		pidMax:    func() int { return 32768 },
		drop:      func(to target) error { f.dropped = append(f.dropped, to); return nil },
		kill: func(pgid int, sig unix.Signal) error {
			f.signalled = append(f.signalled, pgid, int(sig))
			return nil
		},
		stdout: &f.out, stderr: &f.errs,
	}
	return f
}

func TestRunSignals(t *testing.T) {
	tests := []struct {
		name   string
		caller uint32
		word   string
		sig    unix.Signal
	}{
		{"bk/P1", hostUID, "TERM", unix.SIGTERM},
		{"bk/P2 KILL", 0, "KILL", unix.SIGKILL},
		{"bk/P2 INT", 0, "INT", unix.SIGINT},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFakeSystem(tt.caller)
			if got := run([]string{"1234", tt.word}, f.system); got != 0 {
				t.Fatalf("run = %d, %s", got, f.errs.String())
			}
			want := []target{{change: true, uid: agentUID, gid: 20002}}
			if diff := cmp.Diff(want, f.dropped, cmp.AllowUnexported(target{})); diff != "" {
				t.Errorf("drops (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]int{1234, int(tt.sig)}, f.signalled); diff != "" {
				t.Errorf("signals (-want +got):\n%s", diff)
			}
			if f.out.Len()+f.errs.Len() != 0 {
				t.Errorf("a success speaks: %q %q", f.out.String(), f.errs.String())
			}
		})
	}
}

func TestRunRefuses(t *testing.T) {
	failing := errors.New("first line\nsecond line")
	tests := []struct {
		name   string
		caller uint32
		args   []string
		change func(*fakeSystem)
	}{
		{"bk/P3", hostUID, []string{"1234", "HUP"}, nil},
		{"bk/P4", hostUID, []string{"-1", "TERM"}, nil},
		{"bk/P5", hostUID, []string{"4294967297", "TERM"}, nil},
		{"bk/P6", hostUID, []string{"+12", "TERM"}, nil},
		{"bk/P7", hostUID, nil, nil},
		{"bk/P7 a flag and a call", hostUID, []string{"--help", "TERM"}, nil},
		{"unknown flag", hostUID, []string{"-h"}, nil},
		{"bk/P8", agentUID, []string{"1234", "TERM"}, nil},
		{"bk/P9", thirdUID, []string{"1234", "TERM"}, nil},
		{"set-uid start", hostUID, []string{"1234", "TERM"}, func(f *fakeSystem) {
			f.system.privilege = func() privilege { return privilege{ruid: hostUID, euid: 0} }
		}},
		{"policy unreadable", 0, []string{"1234", "TERM"}, func(f *fakeSystem) {
			f.config = func() (helperConfig, error) { return helperConfig{}, failing }
		}},
		{"drop fails", 0, []string{"1234", "TERM"}, func(f *fakeSystem) {
			f.drop = func(target) error { return failing }
		}},
		{"bk/P10, bk/P11 kill fails", 0, []string{"1234", "TERM"}, func(f *fakeSystem) {
			f.kill = func(int, unix.Signal) error { return unix.ESRCH }
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFakeSystem(tt.caller)
			if tt.change != nil {
				tt.change(f)
			}
			if got := run(tt.args, f.system); got != 126 {
				t.Errorf("run(%q) = %d, want 126", tt.args, got)
			}
			if len(f.signalled) != 0 {
				t.Errorf("run(%q) signalled %v", tt.args, f.signalled)
			}
			text := f.errs.String()
			if !strings.HasPrefix(text, "brainbox-kill: ") || strings.Count(text, "\n") != 1 || f.out.Len() != 0 {
				t.Errorf("run(%q) says %q and %q, want one line on standard error", tt.args, text, f.out.String())
			}
		})
	}
}

func TestRunHelp(t *testing.T) {
	for arg, want := range map[string]string{"--help": "usage: brainbox-kill PGID", "--version": "brainbox-kill " + version} {
		f := newFakeSystem(thirdUID)
		if got := run([]string{arg}, f.system); got != 0 || !strings.HasPrefix(f.out.String(), want) || f.errs.Len() != 0 {
			t.Errorf("run(%q) = %d, %q, %q", arg, got, f.out.String(), f.errs.String())
		}
	}
}
