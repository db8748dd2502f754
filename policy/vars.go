package policy

import (
	"errors"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Vars is the fixed table that paths expand from. The caller fills it from what
// it has verified, never from the raw environment. An empty field has no value:
// a path that needs it is an error, or absent if it may be missing.
type Vars struct {
	Home, Pwd, TmpDir                                  string
	XDGConfig, XDGCache, XDGData, XDGState, XDGRuntime string
	User                                               string
	Git                                                string // @git: the top level of the caller's checkout
	Cwd                                                string // @cwd: the caller's directory at start
	ProjectDir                                         string // the folder of the project file
}

// ErrNoValue is wrapped by the error of a path that names a variable without a
// value here: @git outside a checkout, ~ without a home.
var ErrNoValue = errors.New("no value here")

// varNames are the names that ${NAME} knows.
var varNames = [...]string{
	"HOME", "PWD", "TMPDIR", "USER",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME",
}

func (v Vars) lookup(name string) (value string, known bool) {
	switch name {
	case "HOME":
		return v.Home, true
	case "PWD":
		return v.Pwd, true
	case "TMPDIR":
		return v.TmpDir, true
	case "USER":
		return v.User, true
	case "XDG_CACHE_HOME":
		return v.XDGCache, true
	case "XDG_CONFIG_HOME":
		return v.XDGConfig, true
	case "XDG_DATA_HOME":
		return v.XDGData, true
	case "XDG_RUNTIME_DIR":
		return v.XDGRuntime, true
	case "XDG_STATE_HOME":
		return v.XDGState, true
	}
	return "", false
}

const literalHint = `{ path = "…", literal = true } takes every character for itself`

// CheckPath reports what is wrong with a path as it is written, whatever the
// table holds: an empty one, a glob, a control byte, an unknown variable, ~user,
// and in exec.toml what is neither absolute nor begins with ~ or @cwd.
func CheckPath(kind SourceKind, text string) error {
	if err := checkBytes(text); err != nil {
		return err
	}
	if strings.ContainsAny(text, "*?[") {
		return flawf("name the folder that holds the files; "+literalHint, "globs are not supported: ", strconv.Quote(text))
	}
	head, _, _ := strings.Cut(text, "/")
	switch {
	case strings.HasPrefix(head, "~") && head != "~":
		return flawf("write the folder out", "~user is not supported: ", strconv.Quote(text))
	case strings.HasPrefix(head, "@") && head != "@git" && head != "@cwd":
		return flawf("@git and @cwd are known; ./"+head+" for a file of that name",
			"unknown variable ", strconv.Quote(head))
	case kind == KindExec && !strings.HasPrefix(text, "/") && head != "~" && head != "@cwd":
		return flawf("write an absolute path, ~/… or @cwd/…", "a path that depends on the caller: ", strconv.Quote(text))
	}
	return checkDollars(kind, text)
}

func checkBytes(text string) error {
	plain := true
	for i := range len(text) {
		plain = plain && text[i] >= ' ' && text[i] < 0x7f
	}
	switch {
	case text == "":
		return flawf(`"." is the current directory`, "an empty path")
	case plain && len(text) <= 4095:
		return nil
	case !utf8.ValidString(text):
		return flawf("rename it, or name the folder above it", "a path that is not UTF-8: ", strconv.Quote(text))
	case strings.ContainsFunc(text, unicode.IsControl):
		return flawf("rename it, or name the folder above it", "a control character in a path: ", strconv.Quote(text))
	case len(text) > 4095:
		return flawf("at most 4095 bytes", "a path that is too long")
	}
	return nil
}

func checkDollars(kind SourceKind, text string) error {
	for rest := text; ; {
		i := strings.IndexByte(rest, '$')
		if i < 0 {
			return nil
		}
		name, after, ok := strings.Cut(strings.TrimPrefix(rest[i+1:], "{"), "}")
		if !ok || !strings.HasPrefix(rest[i+1:], "{") {
			return flawf("write ${NAME}; "+literalHint, "a $ that begins no variable: ", strconv.Quote(text))
		}
		if _, known := (Vars{}).lookup(name); !known {
			hint := oneOf(varNames[:])
			if n := nearest(name, varNames[:]); n != "" {
				hint = "did you mean ${" + n + "}?"
			}
			return flawf(hint, "unknown variable ", strconv.Quote(name))
		}
		if kind == KindExec {
			return flawf("write an absolute path, ~/… or @cwd/…", "a variable of the caller: ", strconv.Quote(text))
		}
		rest = after
	}
}

// Expand returns the absolute, lexically clean path that text means in a source
// of this kind. Links are not followed, so "link/.." is the folder that holds
// link. Relative paths are the caller's (flags, files), the project folder's
// (project file), or refused (exec.toml).
func Expand(kind SourceKind, text string, v Vars) (string, error) {
	if err := CheckPath(kind, text); err != nil {
		return "", err
	}
	head, tail, _ := strings.Cut(text, "/")
	base := ""
	switch head {
	case "~":
		base = v.Home
	case "@git":
		base = v.Git
	case "@cwd":
		base = v.Cwd
	default:
		full, err := v.substitute(text)
		if err != nil {
			return "", err
		}
		return absolute(kind, full, v)
	}
	if base == "" {
		return "", noValue(head)
	}
	tail, err := v.substitute(tail)
	if err != nil {
		return "", err
	}
	return finish(base, tail)
}

func noValue(name string) error {
	hint := `{ path = "…", missing = "skip" } leaves the entry out there`
	if name == "@git" {
		hint = "not in a git checkout; " + hint
	}
	return &novalue{flawf(hint, name, " has no value here")}
}

type novalue struct{ *flaw }

func (*novalue) Unwrap() error { return ErrNoValue }

// absolute puts a relative path on its base.
func absolute(kind SourceKind, text string, v Vars) (string, error) {
	if strings.HasPrefix(text, "/") {
		return finish("/", text)
	}
	base := v.Cwd
	switch kind {
	case KindProject:
		base = v.ProjectDir
	case KindProfile, KindExec:
		return "", flawf("write an absolute path", "a relative path: ", strconv.Quote(text))
	case KindFile, KindFlag:
	}
	if base == "" {
		return "", noValue("the current directory")
	}
	return finish(base, text)
}

func finish(base, tail string) (string, error) {
	if !strings.HasPrefix(base, "/") {
		return "", flawf("this is brainbox's own table", "not an absolute folder: ", strconv.Quote(base))
	}
	full := base
	if tail != "" {
		full = base + "/" + tail
	}
	if err := checkBytes(full); err != nil {
		return "", err
	}
	return path.Clean(full), nil
}

// substitute replaces every ${NAME}; CheckPath has seen text.
func (v Vars) substitute(text string) (string, error) {
	if !strings.Contains(text, "${") {
		return text, nil
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		name, after, _ := strings.Cut(rest, "}")
		value, _ := v.lookup(name)
		switch {
		case value == "":
			return "", noValue("${" + name + "}")
		case name == "USER" && strings.Contains(value, "/") || value == "..":
			return "", flawf("this is brainbox's own table", "not a user name: ", strconv.Quote(value))
		case name != "USER" && value[0] != '/':
			return "", flawf("this is brainbox's own table", "not an absolute folder: ", strconv.Quote(value))
		}
		b.WriteString(value)
		text = after
	}
}
