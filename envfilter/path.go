package envfilter

import (
	"slices"
	"strings"
)

// Path returns the PATH of the program: the elements of callerPath that are
// absolute and accepted by ok, in their order, then /usr/local/bin, /usr/bin and
// /bin where they are missing and ok accepts them. No element occurs twice.
//
// ok is asked with the element less repeated and trailing slashes and "."
// parts; it says whether the folder exists, lies in an execute grant and outside
// every write grant. A nil ok accepts nothing, and the result may be empty.
func Path(callerPath string, ok func(dir string) bool) string {
	if ok == nil {
		return ""
	}
	var dirs []string
	seen := make(map[string]struct{})
	add := func(dir string) {
		if !strings.HasPrefix(dir, "/") || strings.IndexByte(dir, 0) >= 0 {
			return
		}
		dir = squeeze(dir)
		if _, dup := seen[dir]; dup {
			return
		}
		seen[dir] = struct{}{}
		if ok(dir) {
			dirs = append(dirs, dir)
		}
	}
	for dir := range strings.SplitSeq(callerPath, ":") {
		add(dir)
	}
	for _, dir := range [...]string{"/usr/local/bin", "/usr/bin", "/bin"} {
		add(dir)
	}
	return strings.Join(dirs, ":")
}

// squeeze removes empty and "." parts. A ".." part stays: behind a link it does
// not mean what the text says.
func squeeze(dir string) string {
	parts := strings.Split(dir, "/")
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" || p == "." })
	return "/" + strings.Join(parts, "/")
}
