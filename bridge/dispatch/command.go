package dispatch

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"brainbox/bridge/envelope"
	"brainbox/internal/trustpath"

	"golang.org/x/sys/unix"
)

// Transport is how a request gets to a command and its result back.
type Transport string

// The transports.
const (
	Stdio Transport = "stdio" // the default
	File  Transport = "file"  // BRAINBOX_PARENT_TOOL_REQUEST_FILE and _RESULT_FILE
)

// DefaultPath is where a command is looked for.
const DefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Bounds of a configuration (section A.2).
const (
	maxArgs     = 64
	maxArgBytes = 32 << 10
	maxEnv      = 64
)

// CommandConfig says what a command is. The zero value is refused.
type CommandConfig struct {
	Argv      []string          // verbatim; the first is a name in Path, or absolute
	CwdEnv    string            // name of the variable with its folder; empty: a fresh one
	Env       map[string]string // added to its environment
	Inherit   []string          // names of variables that it has from the launcher
	Transport Transport
	Timeout   time.Duration // deadline of one call; 0 is 30 s

	// Keeper is the executable that stands between (package internal/keeper): brainbox-host,
	// "/proc/self/exe" in it, or a program whose main calls Keep.
	Keeper string

	Path     string   // of the host, fixed; empty: DefaultPath
	Writable []string // what a sandbox can write to, with everything below
	Roots    []string // what the folder in CwdEnv has to be inside of
	Scratch  string   // where fresh folders are made; empty: the system's temporary folder

	// AgentGroups are those that a sandbox is in which runs as another user.
	AgentGroups []uint32

	// Cgroup is a delegated folder of cgroup v2; each call gets a group in it. Empty: none.
	Cgroup string

	// Grace is how long after SIGTERM SIGKILL follows; 0 is 2 s.
	Grace time.Duration
}

// Command is the dispatcher host_command. It may be used by several goroutines.
type Command struct {
	argv      []string
	env       []string
	transport Transport
	timeout   time.Duration
	grace     time.Duration
	rule      trustpath.Rule
	program   *program // nil with a problem
	problem   *Problem
	keeper    *os.File
	folder    folder
	cgroup    string
}

const defaultGrace = 2 * time.Second

// NewCommand finds the program and holds it. An error is a *ConfigError, and refuses the launch;
// a program that is not there is the answer to every call. Close the command when no call is
// under way.
func NewCommand(cfg CommandConfig, getenv func(string) string) (*Command, error) {
	c := &Command{argv: slices.Clone(cfg.Argv), transport: cfg.Transport, grace: cfg.Grace, cgroup: cfg.Cgroup}
	var ok bool
	if c.timeout, ok = timeoutOf(cfg.Timeout); !ok || c.grace < 0 || c.grace > MaxTimeout {
		return nil, &ConfigError{Code: CodeTimeoutInvalid, Msg: "not between 1 ms and 10 min"}
	}
	if c.grace == 0 {
		c.grace = defaultGrace
	}
	if c.transport == "" {
		c.transport = Stdio
	}
	if c.transport != Stdio && c.transport != File {
		return nil, &ConfigError{Code: CodeHostInvalid, Msg: fmt.Sprintf("no transport %q", string(c.transport))}
	}
	if err := c.judgeTrees(cfg); err != nil {
		return nil, err
	}
	if err := c.setEnv(cfg, getenv); err != nil {
		return nil, err
	}
	if err := c.open(cfg, getenv); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// judgeTrees makes the rule by which programs and folders are judged.
func (c *Command) judgeTrees(cfg CommandConfig) error {
	c.rule = trustpath.Rule{
		Owners: []uint32{0, uint32(os.Geteuid())}, Groups: slices.Clone(cfg.AgentGroups), Sticky: true,
	}
	for _, tree := range cfg.Writable {
		id, err := trustpath.Identify(tree)
		if err != nil {
			return &ConfigError{Code: CodeHostInvalid, Msg: "a writable tree", Err: err}
		}
		c.rule.Trees = append(c.rule.Trees, id)
	}
	return nil
}

// open takes everything that the command needs to be found once.
func (c *Command) open(cfg CommandConfig, getenv func(string) string) error {
	var err error
	if cfg.Keeper == "" {
		return &ConfigError{Code: CodeHostInvalid, Msg: "no keeper"}
	}
	if c.keeper, err = openKeeper(cfg.Keeper, c.rule); err != nil {
		return &ConfigError{Code: CodeHostInvalid, Msg: "the keeper", Err: err}
	}
	if c.folder, err = newFolder(cfg, c.rule, getenv); err != nil {
		return err
	}
	if c.cgroup != "" {
		if _, err := os.Stat(filepath.Join(c.cgroup, "cgroup.kill")); err != nil {
			return &ConfigError{Code: CodeHostInvalid, Msg: "the cgroup", Err: err}
		}
	}
	if err := checkArgv(c.argv); err != nil {
		return err
	}
	if err := checkArguments(c.argv[1:], c.rule); err != nil {
		return err
	}
	path := cfg.Path
	if path == "" {
		path = DefaultPath
	}
	c.program, err = findProgram(c.argv[0], path, c.rule)
	if errors.Is(err, errNoProgram) {
		c.problem = &Problem{Code: envelope.CodeCommandNotFound, Msg: fmt.Sprintf("%q", c.argv[0])}
		return nil
	}
	if err != nil {
		return &ConfigError{Code: CodeArgvInvalid, Msg: fmt.Sprintf("%q", c.argv[0]), Err: err}
	}
	return nil
}

// ownExecutable is the keeper of a host that is one itself.
const ownExecutable = "/proc/self/exe"

// openKeeper opens an executable as what it is now. What this process runs is not judged again.
func openKeeper(path string, rule trustpath.Rule) (*os.File, error) {
	if path != ownExecutable {
		return trustpath.Open(path, rule)
	}
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// Problem is why every call is unavailable, or nil.
func (c *Command) Problem() *Problem { return c.problem }

// Close lets go of the program and the folders.
func (c *Command) Close() {
	if c.keeper != nil {
		c.keeper.Close()
	}
	if c.program != nil {
		c.program.file.Close()
	}
	c.folder.close()
}

func checkArgv(argv []string) error {
	total := 0
	for _, arg := range argv {
		if strings.ContainsRune(arg, 0) {
			return &ConfigError{Code: CodeArgvInvalid, Msg: "an argument has a NUL"}
		}
		total += len(arg)
	}
	switch {
	case len(argv) == 0 || argv[0] == "":
		return &ConfigError{Code: CodeArgvInvalid, Msg: "no program"}
	case len(argv) > maxArgs || total > maxArgBytes:
		return &ConfigError{Code: CodeArgvInvalid, Msg: "more than 64 arguments or 32 KiB"}
	}
	return nil
}

// ownPrefix begins the names of brainbox's own variables, which are for it to set.
const ownPrefix = "BRAINBOX_"

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// setEnv makes the environment: PATH, what is inherited, what is configured (section A.7).
func (c *Command) setEnv(cfg CommandConfig, getenv func(string) string) error {
	if len(cfg.Env) > maxEnv {
		return &ConfigError{Code: CodeEnvNameInvalid, Msg: "more than 64 variables"}
	}
	path := cfg.Path
	if path == "" {
		path = DefaultPath
	}
	env := map[string]string{"PATH": strings.Join(trustedDirs(path, c.rule), ":")}
	for _, name := range cfg.Inherit {
		if value := getenv(name); value != "" {
			env[name] = value
		}
	}
	maps.Copy(env, cfg.Env)
	for _, name := range slices.Concat(cfg.Inherit, slices.Collect(maps.Keys(cfg.Env))) {
		if !envName.MatchString(name) || strings.HasPrefix(name, ownPrefix) || strings.ContainsRune(env[name], 0) {
			return &ConfigError{Code: CodeEnvNameInvalid, Msg: fmt.Sprintf("%q", name)}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		c.env = append(c.env, name+"="+env[name])
	}
	return nil
}
