package launcher

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"brainbox/internal/trustpath"
)

// The variables that name the wrapper and the killer (contract brainkit §1.2).
// A host reads them once, when it makes its [ExecWrapper]; nothing in this
// package reads the environment.
const (
	ExecWrapperEnv = "BRAIN_UI_EXEC_WRAPPER"
	ExecKillerEnv  = "BRAIN_UI_EXEC_KILLER"
)

// ValidateExecWrapper reads the value of BRAIN_UI_EXEC_WRAPPER. It trims
// surrounding white space; what is then empty means no wrapper and is returned
// as "". Everything else must be an absolute path and is returned as it stands:
// it is one file name, never a command line, and nothing splits or cleans it
// (contract brainkit §1.2). It does not look at the file system; that is
// [CheckHelper]. The error names the variable, quotes the value and answers to
// fs.ErrInvalid.
func ValidateExecWrapper(raw string) (string, error) {
	return wrapValidate(ExecWrapperEnv, raw)
}

// ValidateExecKiller is [ValidateExecWrapper] for BRAIN_UI_EXEC_KILLER
// (contract brainkit §11, A3).
func ValidateExecKiller(raw string) (string, error) {
	return wrapValidate(ExecKillerEnv, raw)
}

func wrapValidate(variable, raw string) (string, error) {
	value := strings.TrimSpace(raw)
	switch {
	case value == "":
		return "", nil
	case !strings.HasPrefix(value, "/"):
		return "", fmt.Errorf("launcher: %s=%q is not an absolute path: %w", variable, raw, fs.ErrInvalid)
	case strings.ContainsRune(value, 0):
		return "", fmt.Errorf("launcher: %s=%q contains a NUL byte: %w", variable, raw, fs.ErrInvalid)
	}
	return value, nil
}

// HostPath is the list of directories in which the host looks up programs,
// fixed when it was made. The zero HostPath has no directory and finds nothing.
type HostPath struct {
	dirs    []string
	rule    trustpath.Rule
	checked bool // what is found must pass rule
}

// NewHostPath reads the value of a PATH variable, the host's own. Empty and
// relative elements are skipped, for they would name a directory that the agent
// may have chosen; so are directories that do not exist now. Each remaining
// directory must pass the ownership rule of [CheckHelper], else the error names
// the component (contract brainkit §1.3, rules 7 and 8).
func NewHostPath(value string, who Identity) (HostPath, error) {
	rule, err := who.rule()
	if err != nil {
		return HostPath{}, fmt.Errorf("launcher: %w", err)
	}
	host := HostPath{rule: rule, checked: true}
	for _, dir := range wrapPathElements(value) {
		switch err := wrapCheckDir(dir, rule); {
		case err == nil:
			host.dirs = append(host.dirs, dir)
		case !wrapIsAbsent(err):
			return HostPath{}, fmt.Errorf("launcher: PATH element %q: %w", dir, err)
		}
	}
	return host, nil
}

// wrapPathElements keeps the absolute elements in order.
func wrapPathElements(value string) []string {
	var dirs []string
	for dir := range strings.SplitSeq(value, ":") {
		if strings.HasPrefix(dir, "/") && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// Lookup returns the absolute path of the first regular file called name, with
// an execute bit, in the fixed directories. The name must not contain a slash.
// A file that the agent could change is an error, not a reason to look further:
// the host would believe it started a trusted program (contract brainkit H8,
// R11). Not found answers to fs.ErrNotExist.
func (h HostPath) Lookup(name string) (string, error) {
	file, err := h.lookup(name)
	if err != nil {
		return "", fmt.Errorf("launcher: %w", err)
	}
	return file, nil
}

func (h HostPath) lookup(name string) (string, error) {
	if name == "" || strings.ContainsAny(name, "/\x00") {
		return "", fmt.Errorf("program %q is not a plain name: %w", name, fs.ErrInvalid)
	}
	for _, dir := range h.dirs {
		file := strings.TrimSuffix(dir, "/") + "/" + name
		info, err := os.Stat(file)
		if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
			continue
		}
		if h.checked {
			if err := wrapCheckProgram(file, h.rule); err != nil {
				return "", fmt.Errorf("program %q: %w", name, err)
			}
		}
		return file, nil
	}
	return "", fmt.Errorf("program %q is in no directory of the host's PATH: %w", name, fs.ErrNotExist)
}

// WrapCommand turns the argument vector of a program into the one that starts
// it through wrapper: the wrapper, the program as an absolute path, the other
// arguments untouched (contract brainkit §1.3). Without a wrapper it returns a
// copy. A bare program name is looked up in host and never in the PATH that the
// program will get; a relative name with a slash and an absolute one that is
// not lexically clean are refused. Errors name the program and the wrapper.
func WrapCommand(argv []string, wrapper string, host HostPath) ([]string, error) {
	if wrapper == "" {
		return append([]string{}, argv...), nil
	}
	file, err := wrapProgram(argv, host)
	if err != nil {
		return nil, fmt.Errorf("launcher: wrapper %q: %w", wrapper, err)
	}
	wrapped := make([]string, 0, len(argv)+1)
	wrapped = append(wrapped, wrapper, file)
	return append(wrapped, argv[1:]...), nil
}

func wrapProgram(argv []string, host HostPath) (string, error) {
	if len(argv) == 0 {
		return "", fmt.Errorf("no program to start: %w", fs.ErrInvalid)
	}
	name := argv[0]
	switch {
	case name == "":
		return "", fmt.Errorf("program %q has no name: %w", name, fs.ErrInvalid)
	case !strings.HasPrefix(name, "/") && strings.Contains(name, "/"):
		return "", fmt.Errorf("program %q is relative to a directory the agent may write: %w", name, fs.ErrInvalid)
	case !strings.HasPrefix(name, "/"):
		return host.lookup(name)
	case path.Clean(name) != name:
		return "", fmt.Errorf("program %q is not a clean path: %w", name, fs.ErrInvalid)
	}
	return name, nil
}
