package main

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"brainbox/internal/userdb"

	"github.com/google/go-cmp/cmp"
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
		{
			"agent as a caller", agentUID, with(func(c *helperConfig) { c.callers = []string{"agent"} }),
			"is the identity itself",
		},
		{
			"agent as a caller by number, root calls", 0, with(func(c *helperConfig) { c.callers = []string{"10002"} }),
			"is the identity itself",
		},
		{
			"unknown caller, root calls", 0, with(func(c *helperConfig) { c.callers = []string{"brain", "gone"} }),
			`caller: "gone"`,
		},
		{"unknown identity", 0, with(func(c *helperConfig) { c.identity.user = "gone" }), `identity user: "gone"`},
		{"unknown group", 0, with(func(c *helperConfig) { c.identity.group = "gone" }), `identity group: "gone"`},
		{"identity is root", 0, with(func(c *helperConfig) { c.identity.user = "root" }), "is root"},
		{"identity is root by number", 0, with(func(c *helperConfig) { c.identity.user = "0" }), "is root"},
		{"identity left empty", 0, with(func(c *helperConfig) { c.identity.user = "" }), "identity user"},
		{"a number without a group", 0, with(func(c *helperConfig) { c.identity.user = "555" }), "has no group"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := decide(tt.caller, false, tt.cfg, testAccounts)
			if err == nil || !strings.Contains(err.Error(), tt.want) || got != (target{}) {
				t.Errorf("decide = %+v, %v, want %q", got, err, tt.want)
			}
		})
	}
	if _, err := decide(thirdUID, false, testConfig(), testAccounts); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%v does not answer to fs.ErrPermission", err)
	}
	unreadable := func() (accounts, error) { return nil, fs.ErrPermission }
	if _, err := decide(0, false, testConfig(), unreadable); !errors.Is(err, fs.ErrPermission) {
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
			got, err := decide(tt.caller, false, tt.cfg, testAccounts)
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(target{})); err != nil || diff != "" {
				t.Errorf("decide = %v (-want +got):\n%s", err, diff)
			}
		})
	}
}
