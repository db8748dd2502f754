package mask

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"brainbox/dirchain/scratch"

	"golang.org/x/text/unicode/norm"
)

const (
	// MaxPath is the longest path in UTF-16 units, as the original counts.
	MaxPath = 1024
	// ScratchDir is the scratch area of the repository.
	ScratchDir = scratch.Location
	// PolicyDir holds the policy. A root for masks is opened with it in
	// [brainbox/dirchain.Options].Protect, so that it is known by identity too.
	PolicyDir = "context/policies"
)

// CheckPath says whether unsafePath can be an image or a mask of the hosted
// operation: at most [MaxPath] long, relative, UTF-8, without an empty, "." or ".."
// component, backslash and control character; not of the policy, however it is
// spelt; without a component that begins with a dot, but for the leading pair of
// [ScratchDir]; with the extension of an image. The error is a [*Refusal] with
// [InvalidTarget] or [PolicyDenied]. It makes no system call (contract brainkit §4.1).
func CheckPath(unsafePath string) error {
	if err := checkShape(unsafePath); err != nil {
		return err
	}
	if ofPolicy(unsafePath) {
		return &Refusal{Code: PolicyDenied}
	}
	inner := strings.TrimPrefix(unsafePath, ScratchDir+"/")
	for _, spelling := range []string{inner, fold(inner)} {
		for part := range strings.SplitSeq(spelling, "/") {
			if strings.HasPrefix(part, ".") {
				return refuse(InvalidTarget, "a component begins with a dot")
			}
		}
	}
	if !isImage(unsafePath) {
		return refuse(InvalidTarget, "it has no extension of an image")
	}
	return nil
}

func checkShape(unsafePath string) error {
	switch {
	case !utf8.ValidString(unsafePath):
		return refuse(InvalidTarget, "it is not valid UTF-8")
	case units(unsafePath) > MaxPath:
		return refuse(InvalidTarget, "it is longer than 1024 characters")
	case strings.ContainsRune(unsafePath, '\\'):
		return refuse(InvalidTarget, "it has a backslash")
	case strings.ContainsFunc(unsafePath, unicode.IsControl):
		return refuse(InvalidTarget, "it has a control character")
	}
	for part := range strings.SplitSeq(unsafePath, "/") {
		if part == "" || part == "." || part == ".." {
			return refuse(InvalidTarget, `it has an empty, "." or ".." component, or a slash at an end`)
		}
	}
	return nil
}

// units counts UTF-16 units.
func units(s string) int {
	n := 0
	for _, r := range s {
		if n++; r > 0xffff {
			n++
		}
	}
	return n
}

// fold gives the spelling in which names of the policy are compared: NFKC and
// lower case, for what a file system may take for the same name.
func fold(s string) string { return strings.ToLower(norm.NFKC.String(s)) }

// ofPolicy: the path is the policy's directory, its parent, or lies in it.
func ofPolicy(path string) bool {
	folded := fold(path)
	above, _, _ := strings.Cut(PolicyDir, "/")
	return folded == above || folded == PolicyDir || strings.HasPrefix(folded, PolicyDir+"/")
}

// ofGit: a component is the directory of a git repository, however it is spelt.
func ofGit(path string) bool {
	return strings.Contains("/"+fold(path)+"/", "/.git/")
}

func isImage(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".png", ".jpg", ".jpeg", ".webp", ".gif", ".avif", ".heic", ".bmp", ".tif", ".tiff", ".svg":
		return true
	}
	return false
}

// inScratch: the path is the scratch area or lies in it.
func inScratch(path string) bool {
	return path == ScratchDir || strings.HasPrefix(path, ScratchDir+"/")
}
