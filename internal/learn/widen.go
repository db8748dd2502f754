package learn

import (
	"slices"
	"strings"

	"brainbox/policy"
)

// many is how many entries of one folder make a line for the folder of them.
const many = 8

// bounds says how far a line may be widened.
type bounds struct {
	home    string
	cwd     string
	secrets *secrets
}

// never reports whether a place may be in no active line at all.
func (b *bounds) never(path string) bool {
	if path == "/" || b.home != "" && policy.Below(b.home, path) || b.secrets.around(path) {
		return true
	}
	_, secret := b.secrets.holds(path)
	return secret
}

// mayWiden reports whether a line may grow to a folder that was not itself asked for. The
// folders of the root hold what has nothing to do with each other, and so does what is around
// the working directory.
func (b *bounds) mayWiden(dir string) bool {
	if b.never(dir) || b.cwd != dir && policy.Below(b.cwd, dir) {
		return false
	}
	return dir == b.cwd || strings.Count(dir, "/") > 1 && !kernelPlace(dir)
}

// kernelPlace reports whether what is there are no files, but the kernel.
func kernelPlace(path string) bool {
	for _, dir := range [...]string{"/proc", "/sys", "/dev"} {
		if policy.Below(path, dir) {
			return true
		}
	}
	return false
}

// lift returns the place that stands for a need whatever else is needed, and why it is
// another: the folder of a version or of a cache, or that of a temporary name.
func (b *bounds) lift(n *need) (path, why string) {
	if kernelPlace(n.path) {
		return n.path, ""
	}
	for i := 1; i < len(n.path); i++ {
		if n.path[i] != '/' {
			continue
		}
		if why := keepsTogether(n.path[:i]); why != "" && b.mayWiden(n.path[:i]) {
			return n.path[:i], why
		}
	}
	if n.folder {
		if why := keepsTogether(n.path); why != "" {
			return n.path, why
		}
	}
	if isTemporary(base(n.path)) && b.mayWiden(parent(n.path)) {
		return parent(n.path), "a temporary name"
	}
	return n.path, ""
}

// keepsTogether says why a folder is needed as a whole as soon as anything in it is.
func keepsTogether(dir string) string {
	name := base(dir)
	switch {
	case base(parent(dir)) == ".cache":
		return "a cache"
	case name == "__pycache__", name == "node_modules", strings.HasSuffix(name, "_cache"):
		return "a cache"
	case isVersioned(name):
		return "one version"
	}
	return ""
}

// isVersioned reports whether a name ends in a version: tool-1.2.3, v20.1.0, 1.2.
func isVersioned(name string) bool {
	i := len(name)
	for i > 0 && (name[i-1] == '.' || isDigit(name[i-1])) {
		i--
	}
	number := name[i:]
	if number == "" || !isDigit(number[0]) || !isDigit(number[len(number)-1]) || !strings.Contains(number, ".") {
		return false
	}
	head := strings.TrimSuffix(name[:i], "v")
	return head == "" || strings.HasSuffix(head, "-") || strings.HasSuffix(head, "_") || strings.HasSuffix(head, "@")
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isTemporary reports whether a name looks like one that will be another the next time.
func isTemporary(name string) bool {
	switch {
	case strings.HasSuffix(name, "~"), strings.HasPrefix(name, ".#"), strings.HasPrefix(name, "#") && strings.HasSuffix(name, "#"):
		return true
	case strings.HasPrefix(name, ".") && (strings.HasSuffix(name, ".swp") || strings.HasSuffix(name, ".swx")):
		return true
	case strings.HasPrefix(name, "tmp") && looksRandom(name[3:]):
		return true
	}
	for part := range strings.SplitSeq(name, ".") {
		switch part {
		case "tmp", "temp", "part", "partial":
			return part != name
		}
	}
	i := strings.LastIndexAny(name, ".-_")
	return i > 0 && looksRandom(name[i+1:])
}

// looksRandom reports whether a part of a name is like those of mkstemp(3), of who counts
// processes, and of who names by a hash.
func looksRandom(s string) bool {
	if strings.Trim(s, "0123456789") == "" {
		return len(s) >= 4 && len(s) <= 10
	}
	if len(s) >= 8 && strings.Trim(s, "0123456789abcdef") == "" && strings.ContainsAny(s, "0123456789") {
		return true
	}
	var digit, upper, lower bool
	for i := range len(s) {
		switch c := s[i]; {
		case isDigit(c):
			digit = true
		case c >= 'A' && c <= 'Z':
			upper = upper || i > 0 // Config is a word
		case c >= 'a' && c <= 'z', c == '_':
			lower = true
		default:
			return false
		}
	}
	return len(s) >= 6 && upper && (digit || lower) && (digit || len(s) == 6)
}

// group replaces many entries of one folder by the folder, the deepest folders first. Only
// entries of one right count together.
func (b *bounds) group(set map[string]*need) {
	var levels [][]string // paths by depth
	at := func(depth int) *[]string {
		for len(levels) <= depth {
			levels = append(levels, nil)
		}
		return &levels[depth]
	}
	for path := range set {
		level := at(strings.Count(path, "/"))
		*level = append(*level, path)
	}
	for depth := len(levels) - 1; depth > 1; depth-- {
		folders := map[string][]string{} // of one right, in one folder
		for _, path := range levels[depth] {
			if n := set[path]; n != nil {
				key := n.bits.right().String() + parent(path)
				folders[key] = append(folders[key], path)
			}
		}
		for key, paths := range folders {
			dir := key[strings.IndexByte(key, '/'):]
			slices.Sort(paths)
			paths = slices.Compact(paths)
			if len(paths) >= many && b.mayWiden(dir) {
				merge(set, dir, paths)
				up := at(depth - 1)
				*up = append(*up, dir)
			}
		}
	}
}

func merge(set map[string]*need, dir string, paths []string) {
	to := &need{path: dir, folder: true, why: reason{widened: grouped}}
	for _, path := range paths {
		n := set[path]
		delete(set, path)
		to.bits |= n.bits
		to.why.add(n.why)
	}
	join(set, to)
}

// join adds a need to those of the same place.
func join(set map[string]*need, n *need) {
	have := set[n.path]
	if have == nil {
		set[n.path] = n
		return
	}
	have.bits |= n.bits
	have.folder = have.folder || n.folder
	have.why.add(n.why)
}
