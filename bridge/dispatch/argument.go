package dispatch

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"brainbox/internal/trustpath"
)

// checkArguments refuses an argument that names a file which a sandbox can write to, or could
// make: a program that is given it may run it (sh FILE). A folder is data, as a checkout is.
func checkArguments(argv []string, rule trustpath.Rule) error {
	for _, arg := range argv {
		if _, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(arg, "-") {
			arg = value
		}
		if !filepath.IsAbs(arg) {
			continue
		}
		if st, err := os.Stat(arg); err == nil && st.IsDir() {
			continue
		}
		if writable(filepath.Clean(arg), rule) || writable(resolve(arg), rule) {
			return &ConfigError{Code: CodeArgvInvalid, Msg: fmt.Sprintf("the argument %q is a file that is writable from inside a sandbox", arg)}
		}
	}
	return nil
}

// writable reports whether what a path names, or a folder above it, is a tree of the rule's.
func writable(path string, rule trustpath.Rule) bool {
	for {
		if id, err := trustpath.Identify(path); err == nil && slices.Contains(rule.Trees, id) {
			return true
		}
		if path == "/" || path == "." {
			return false
		}
		path = filepath.Dir(path)
	}
}

// resolve follows the links of as much of a path as there is.
func resolve(path string) string {
	rest := ""
	for at := filepath.Clean(path); ; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		}
		if at == "/" {
			return path
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}
