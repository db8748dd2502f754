package policy

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Clauses returns the clause names, the words of degraded and --allow-degraded.
func Clauses() []string {
	return []string{
		"files", "protect", "deny", "metadata", "network", "hosts", "unix", "ipc", "shared_memory",
		"processes", "tree", "pids", "memory", "cpu", "time", "output", "nofile", "fsize", "core",
		"env", "seccomp", "capabilities",
	}
}

// ParseClause returns text if it is the name of a clause.
func ParseClause(text string) (string, error) {
	if slices.Contains(Clauses(), text) {
		return text, nil
	}
	hint := oneOf(Clauses())
	if n := nearest(text, Clauses()); n != "" {
		hint = "did you mean " + strconv.Quote(n) + "?"
	}
	return "", flawf(hint, "unknown clause ", strconv.Quote(text))
}

// rightWords are the keys of [filesystem], in the order of Right.
var rightWords = [...]string{"", "read", "exec", "write", "write_exec", "protect", "deny"}

// ParseRight reads one of the keys of [filesystem]: read, exec, write,
// write_exec, protect or deny.
func ParseRight(text string) (Right, error) {
	for i, w := range rightWords {
		if i > 0 && w == text {
			return Right(i), nil //nolint:gosec // i is at most 6
		}
	}
	return RightNone, flawf(oneOf(rightWords[1:]), "unknown right ", strconv.Quote(text))
}

// ParseNetworkMode reads a word of [network] mode.
func ParseNetworkMode(text string) (NetworkMode, error) {
	for m := NetNone; m <= NetHost; m++ {
		if m.String() == text {
			return m, nil
		}
	}
	return NetNone, flawf(oneOf([]string{"none", "ports", "proxy", "host"}),
		"unknown network mode ", strconv.Quote(text))
}

const sizeHint = `write "512MiB", "2GiB", "10MB" or a number of bytes`

// ParseSize reads a number of bytes: an integer with an optional unit, KiB, MiB,
// GiB, TiB (powers of 1024) or kB, KB, MB, GB, TB (powers of 1000). The result is
// at least 1.
func ParseSize(text string) (int64, error) {
	digits := strings.TrimRight(text, "BKMGTikb")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || digits == "" || digits[0] == '+' || digits[0] == '-' {
		return 0, flawf(sizeHint, "not a size: ", strconv.Quote(text))
	}
	unit := int64(0)
	switch text[len(digits):] {
	case "", "B":
		unit = 1
	case "KiB":
		unit = 1 << 10
	case "MiB":
		unit = 1 << 20
	case "GiB":
		unit = 1 << 30
	case "TiB":
		unit = 1 << 40
	case "kB", "KB":
		unit = 1e3
	case "MB":
		unit = 1e6
	case "GB":
		unit = 1e9
	case "TB":
		unit = 1e12
	default:
		return 0, flawf(sizeHint, "unknown unit of size: ", strconv.Quote(text))
	}
	if n < 1 {
		return 0, flawf("leave the key out for no limit", "a size must be at least one byte: ", strconv.Quote(text))
	}
	if n > math.MaxInt64/unit {
		return 0, flawf(sizeHint, "too large: ", strconv.Quote(text))
	}
	return n * unit, nil
}

// ParseDuration reads a time as Go writes it, such as "10m" or "1h30m". It is
// longer than zero.
func ParseDuration(text string) (time.Duration, error) {
	const hint = `write "90s", "10m" or "1h30m"`
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, flawf(hint, "not a duration: ", strconv.Quote(text))
	}
	if d <= 0 {
		return 0, flawf("leave the key out for no limit", "a duration must be longer than zero: ", strconv.Quote(text))
	}
	return d, nil
}

// ParsePort reads a port number, 1 to 65535.
func ParsePort(text string) (uint16, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || text[0] == '0' || text[0] == '+' {
		return 0, flawf("1 to 65535", "not a port: ", strconv.Quote(text))
	}
	return uint16(n), nil
}

// ParseCount reads a whole number, at least 1: pids, nofile.
func ParseCount(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || text[0] == '+' {
		return 0, flawf("a whole number, at least 1", "not a count: ", strconv.Quote(text))
	}
	return n, nil
}

// ParseCPU reads a number of CPUs such as "2" or "1.5": at least 0.01, at most
// 4096, with at most two decimals. It returns the shortest spelling.
func ParseCPU(text string) (string, error) {
	bad := flawf(`write a number of CPUs such as 2 or "1.5"`, "not a number of CPUs: ", strconv.Quote(text))
	whole, frac, dot := strings.Cut(text, ".")
	if !digits(whole) || (dot && !digits(frac)) || len(frac) > 2 {
		return "", bad
	}
	n, err := strconv.ParseUint(whole, 10, 16)
	if err != nil || n > 4096 {
		return "", bad
	}
	frac = strings.TrimRight(frac, "0")
	if n == 0 && frac == "" {
		return "", bad
	}
	if frac != "" {
		frac = "." + frac
	}
	return strconv.FormatUint(n, 10) + frac, nil
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// ParseEnvName reads the name of a variable: letters, digits and underscores,
// not beginning with a digit.
func ParseEnvName(text string) (string, error) {
	if !envName(text) {
		return "", flawf("letters, digits and _, not beginning with a digit",
			"not the name of a variable: ", strconv.Quote(text))
	}
	return text, nil
}

// ParseEnvPattern reads an entry of [env] allow: a name, or the beginning of
// names followed by one *, such as "LC_*".
func ParseEnvPattern(text string) (string, error) {
	prefix := strings.TrimSuffix(text, "*")
	if text == "*" {
		return "", flawf("name the variables; LC_* stands for every name that begins with LC_",
			`"*" would pass every variable of the caller, secrets included`)
	}
	if _, err := ParseEnvName(prefix); err != nil {
		return "", flawf("a name, or the beginning of names followed by one *",
			"not the name of a variable: ", strconv.Quote(text))
	}
	return text, nil
}

func envName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// ParseEnvVar reads NAME=VALUE.
func ParseEnvVar(text string) (Var, error) {
	name, value, ok := strings.Cut(text, "=")
	if !ok {
		return Var{}, flawf("write NAME=VALUE", "no value: ", strconv.Quote(text))
	}
	if _, err := ParseEnvName(name); err != nil {
		return Var{}, err
	}
	return newVar(name, value)
}

func newVar(name, value string) (Var, error) {
	if strings.IndexByte(value, 0) >= 0 {
		return Var{}, flawf("a variable ends at its first NUL byte", "NUL byte in the value of ", strconv.Quote(name))
	}
	return Var{Name: name, Value: value}, nil
}
