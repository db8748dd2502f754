package main

import (
	"errors"
	"io/fs"
	"os"

	"brainbox/internal/trustpath"
	"brainbox/internal/userdb"
	"brainbox/policy"
)

// execPolicy is the wrapper's policy. No variable leads elsewhere: who may point
// the killer to a policy of his own would choose his own callers.
const execPolicy = "/etc/brainbox/exec.toml"

// fileLimit bounds what is read of a file, in bytes.
const fileLimit = 1 << 20

// rootsOwn is the rule for the policy and its folders.
func rootsOwn() trustpath.Rule { return trustpath.Rule{Owners: []uint32{0}, AnyGroup: true} }

// readConfig reads the policy. That there is none is an answer; one that cannot
// be read, or that somebody else could have written, is an error.
func readConfig() (helperConfig, error) {
	text, err := trustpath.ReadFile(execPolicy, rootsOwn(), fileLimit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return helperConfig{}, nil
	case err != nil:
		return helperConfig{}, err
	}
	cfg, err := parseConfig(text)
	if err != nil {
		return helperConfig{}, about(execPolicy, err)
	}
	return cfg, nil
}

// parseConfig reads the two keys that the killer needs, by the parser that judges the
// whole file. What an extended file would add is not read here, and ignoring it could
// mean the wrong identity, so only built-in profiles, which name none, may be extended.
func parseConfig(text []byte) (helperConfig, error) {
	layer, err := policy.Parse(policy.KindExec, execPolicy, text)
	if err != nil {
		return helperConfig{}, err
	}
	for _, e := range layer.Extends {
		if _, ok := policy.Builtin(e.V); !ok {
			return helperConfig{}, errors.New("extends: only built-in profiles, the identity must stand in the file itself")
		}
	}
	var cfg helperConfig
	for _, c := range layer.Policy.Sandbox.Callers {
		cfg.callers = append(cfg.callers, c.V)
	}
	if id := layer.Policy.Sandbox.Identity; id.Set {
		cfg.identity = &identity{user: id.V.User, group: id.V.Group}
	}
	return cfg, nil
}

// readAccounts reads both files once. They are root's, but not every system
// keeps them from the groups that manage them, so only the content is trusted.
func readAccounts() (accounts, error) {
	passwd, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return nil, err
	}
	group, err := os.ReadFile("/etc/group")
	if err != nil {
		return nil, err
	}
	return userdb.DB{Passwd: string(passwd), Group: string(group)}, nil
}
