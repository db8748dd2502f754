package mask

import (
	"path/filepath"
	"strings"
)

// Backend is the adapter that a turn runs on, as the host knows it: it alone
// decides what a mask is called and how its path is told.
type Backend int

const (
	// Claude derives from the path as it was submitted: x.png gives x-mask.png.
	Claude Backend = iota
	// Pi derives from the canonical path beneath the root: x.png gives x.mask.png.
	Pi
)

// MaskPath derives the path of the mask of an image. The result is a name only:
// it has to pass [CheckPath], and nothing of imagePath is checked here, except that
// the names refuse on which the original of Pi ate the whole path or failed: it made
// a regular expression of the extension (contract brainkit §4.4). The error is a
// [*Refusal].
func (b Backend) MaskPath(imagePath string) (string, error) {
	ext := extension(imagePath)
	switch {
	case b == Claude:
		return imagePath[:len(imagePath)-len(ext)] + "-mask.png", nil
	case b != Pi:
		return "", refuse(InvalidTarget, "an unknown backend")
	case pathological(ext):
		return "", refuse(InvalidTarget, "its extension cannot be replaced")
	case strings.ContainsAny(strings.TrimPrefix(ext, "."), `\^$.|?*+()[]{}`):
		return imagePath + ".mask.png", nil
	}
	return imagePath[:len(imagePath)-len(ext)] + ".mask.png", nil
}

// extension is the last component of a path from its last dot on, if that is not
// its first byte.
func extension(path string) string {
	base := path[strings.LastIndexByte(path, '/')+1:]
	at := strings.LastIndexByte(base, '.')
	if at <= 0 || base == ".." {
		return ""
	}
	return base[at:]
}

// pathological: read as a regular expression the extension matches more than
// itself (".*"), or is none (".p(", ".[").
func pathological(ext string) bool {
	rest := strings.TrimPrefix(ext, ".")
	if strings.HasPrefix(rest, "*") || strings.HasPrefix(rest, "+") {
		return true
	}
	depth := 0
	for rest != "" {
		switch rest[0] {
		case '(':
			depth++
		case ')':
			depth--
		case '[':
			end := strings.IndexByte(rest, ']')
			if end < 0 {
				return true
			}
			rest = rest[end:]
		}
		if depth < 0 {
			return true
		}
		rest = rest[1:]
	}
	return depth != 0
}

// Report is the path of a written mask as the backend's model is told. root is the
// root as it was configured, absolute; submitted the mask path that was derived from
// the submitted image path; written the absolute name of the file. Claude tells the
// submitted path, cleaned as text; Pi tells the written one beneath the configured
// root, and the absolute one when it is not beneath that (because a link leads
// there). Prefixes are compared by component: "/brain" does not contain "/brain2/x".
func (b Backend) Report(root, submitted, written string) string {
	root = filepath.Clean(root)
	if b == Claude {
		if rel, err := filepath.Rel(root, filepath.Join(root, submitted)); err == nil {
			return rel
		}
		return filepath.Clean(submitted)
	}
	if rel, ok := strings.CutPrefix(written, strings.TrimSuffix(root, "/")+"/"); ok {
		return rel
	}
	return written
}
