package main

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"brainbox/internal/trustpath"
	"brainbox/internal/userdb"

	"github.com/pelletier/go-toml/v2"
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

// parseConfig reads the two keys that the killer needs. The values of the others
// are the wrapper's to judge; their names are judged here too, for a misspelt
// identity would otherwise be no identity.
func parseConfig(text []byte) (helperConfig, error) {
	var file map[string]any
	if err := toml.Unmarshal(text, &file); err != nil {
		return helperConfig{}, err
	}
	if err := onlyKeys("", file, "version", "extends", "filesystem", "network", "env", "process", "sandbox"); err != nil {
		return helperConfig{}, err
	}
	if file["version"] != int64(1) {
		return helperConfig{}, errors.New("version: want 1")
	}
	if err := checkExtends(file["extends"]); err != nil {
		return helperConfig{}, err
	}
	sandbox, err := table("sandbox", file["sandbox"])
	if err != nil {
		return helperConfig{}, err
	}
	if err := onlyKeys("sandbox.", sandbox, "identity", "callers", "tmp_root", "home", "degraded"); err != nil {
		return helperConfig{}, err
	}
	var cfg helperConfig
	if cfg.callers, err = parseCallers(sandbox["callers"]); err != nil {
		return helperConfig{}, err
	}
	if sandbox["identity"] == nil {
		return cfg, nil
	}
	cfg.identity, err = parseIdentity(sandbox["identity"])
	return cfg, err
}

func parseCallers(value any) ([]string, error) {
	list, ok := value.([]any)
	if !ok && value != nil {
		return nil, errors.New("sandbox.callers: want a list")
	}
	var callers []string
	for _, value := range list {
		name, err := account("sandbox.callers", value)
		if err != nil {
			return nil, err
		}
		callers = append(callers, name)
	}
	return callers, nil
}

func parseIdentity(value any) (*identity, error) {
	fields, err := table("sandbox.identity", value)
	if err != nil {
		return nil, err
	}
	if err := onlyKeys("sandbox.identity.", fields, "user", "group", "groups"); err != nil {
		return nil, err
	}
	var id identity
	if id.user, err = account("sandbox.identity.user", fields["user"]); err != nil {
		return nil, err
	}
	if fields["group"] == nil {
		return &id, nil
	}
	if id.group, err = account("sandbox.identity.group", fields["group"]); err != nil {
		return nil, err
	}
	return &id, nil
}

func table(key string, value any) (map[string]any, error) {
	fields, ok := value.(map[string]any)
	if !ok && value != nil {
		return nil, errors.New(key + ": want a table")
	}
	return fields, nil
}

func onlyKeys(prefix string, have map[string]any, known ...string) error {
	for key := range have {
		if !slices.Contains(known, key) {
			return errors.New("unknown key " + strconv.Quote(prefix+key))
		}
	}
	return nil
}

// checkExtends lets built-in profiles pass, which name no identity. What a file
// would add is not read here, and ignoring it could mean the wrong identity.
func checkExtends(value any) error {
	names, ok := value.([]any)
	if !ok && value != nil {
		names = []any{value}
	}
	for _, name := range names {
		switch name {
		case "default", "minimal":
		default:
			return errors.New("extends: only built-in profiles, the identity must stand in the file itself")
		}
	}
	return nil
}

// account is a user's or group's name or number.
func account(key string, value any) (string, error) {
	switch v := value.(type) {
	case string:
		if v != "" {
			return v, nil
		}
	case int64:
		if v >= 0 {
			return strconv.FormatInt(v, 10), nil
		}
	}
	return "", errors.New(key + ": want a name or a number")
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
