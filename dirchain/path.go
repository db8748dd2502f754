package dirchain

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a mediated path.
const (
	MaxPath  = 4096 // bytes, the whole path
	MaxPart  = 255  // bytes, one component (NAME_MAX)
	MaxDepth = 128  // components: each costs a descriptor while the effect lasts
)

// SplitPath says whether unsafePath is a path that a mediated operation may use,
// and returns its components. It must be relative and valid UTF-8, without an
// empty, "." or ".." component (so neither a leading nor a trailing slash),
// without control characters and without a backslash, and within [MaxPath],
// [MaxPart] and [MaxDepth]. The root itself has no such path. It makes no system
// call; the error wraps [ErrPath] (contract brainkit §4.2 step 0, §5.12).
func SplitPath(unsafePath string) ([]string, error) {
	switch {
	case unsafePath == "":
		return nil, badPath("it is empty")
	case len(unsafePath) > MaxPath:
		return nil, badPath(fmt.Sprintf("it is longer than %d bytes", MaxPath))
	case unsafePath[0] == '/':
		return nil, badPath("it is not relative")
	case !utf8.ValidString(unsafePath):
		return nil, badPath("it is not valid UTF-8")
	case strings.ContainsRune(unsafePath, '\\'):
		return nil, badPath("it has a backslash")
	case strings.ContainsFunc(unsafePath, unicode.IsControl):
		return nil, badPath("it has a control character")
	}
	parts := strings.Split(unsafePath, "/")
	if len(parts) > MaxDepth {
		return nil, badPath(fmt.Sprintf("it has more than %d components", MaxDepth))
	}
	for _, part := range parts {
		switch {
		case part == "":
			return nil, badPath("it has an empty component")
		case part == "." || part == "..":
			return nil, badPath(fmt.Sprintf("it has the component %q", part))
		case len(part) > MaxPart:
			return nil, badPath(fmt.Sprintf("a component is longer than %d bytes", MaxPart))
		}
	}
	return parts, nil
}

func badPath(why string) error { return fmt.Errorf("%w: %s", ErrPath, why) }
