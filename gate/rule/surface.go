package rule

import (
	"slices"
	"strings"

	"brainbox/internal/spell"
)

// The surfaces that the gate itself knows.
const (
	Bash          = "bash"
	PathRead      = "path_read"
	PathWrite     = "path_write"
	ExternalRead  = "external_directory_read"
	ExternalWrite = "external_directory_write"
	Fallback      = "*" // what no rule of the surface matches
)

// The sugar: each stands for both of its directions.
const (
	pathBoth     = "path"
	externalBoth = "external_directory"
)

var builtinSurfaces = []string{
	Bash, "read", "write", "edit", "grep", "find", "ls", "mcp", "skill",
	PathRead, PathWrite, ExternalRead, ExternalWrite,
}

var directional = []string{pathBoth, externalBoth, PathRead, PathWrite, ExternalRead, ExternalWrite}

// spread returns the surfaces that a name stands for; sugar says that explicit
// entries come after it.
func spread(name string) (surfaces []string, sugar bool) {
	switch name {
	case pathBoth:
		return []string{PathRead, PathWrite}, true
	case externalBoth:
		return []string{ExternalRead, ExternalWrite}, true
	}
	return []string{name}, false
}

// checkSurface refuses a name that must be a misspelled directional one: a denial
// that is dropped protects nothing. Any other unknown name is kept: it may be a
// tool that is declared elsewhere.
func checkSurface(name string, tools []string) (known bool, err string) {
	if name == Fallback || slices.Contains(builtinSurfaces, name) || slices.Contains(directional, name) ||
		slices.Contains(tools, name) {
		return true, ""
	}
	if name == "" || strings.ContainsAny(name, "*?") {
		return false, "not the name of a surface; only \"*\" alone stands for all"
	}
	lower := strings.ToLower(name)
	for _, d := range directional {
		if spell.Distance(lower, d) <= 2 || strings.HasPrefix(lower, "path") || strings.HasPrefix(lower, "external") {
			return false, "unknown surface; is " + nearest(lower) + " meant?"
		}
	}
	return false, ""
}

func nearest(name string) string {
	best := directional[0]
	for _, d := range directional {
		if spell.Distance(name, d) < spell.Distance(name, best) {
			best = d
		}
	}
	return best
}
