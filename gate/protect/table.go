package protect

import "fmt"

// Kind is how a row matches. The zero value is the widest for one name.
type Kind uint8

const (
	// Segment matches when any segment of the path is the name.
	Segment Kind = iota
	// Basename matches when the last segment is the name.
	Basename
	// SegmentRun matches when segments in a row are the parts of the name.
	SegmentRun
)

var kinds = [...]string{Segment: "segment", Basename: "basename", SegmentRun: "segment-run"}

// String is the name that a configuration uses.
func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Row is one line of the table: a literal name, which messages cite, and how it matches.
type Row struct {
	Name string
	Kind Kind
}

// TableVersion changes with the rows of [DefaultTable].
const TableVersion = 1

// DefaultTable is what holds where nothing is configured: 47 rows after the list of
// protected paths that Claude Code documents (contract bridge-and-gate §C.2).
func DefaultTable() []Row {
	var rows []Row
	for _, name := range []string{
		".git", ".vscode", ".idea", ".husky", ".cargo", ".devcontainer", ".yarn", ".mvn", ".claude",
	} {
		rows = append(rows, Row{name, Segment})
	}
	rows = append(rows, Row{".config/git", SegmentRun})
	for _, name := range []string{
		".gitconfig", ".gitmodules",
		".bashrc", ".bash_profile", ".bash_login", ".bash_aliases", ".bash_logout",
		".zshrc", ".zprofile", ".zshenv", ".zlogin", ".zlogout", ".profile", ".envrc",
		".npmrc", ".yarnrc", ".yarnrc.yml", ".pnp.cjs", ".pnp.loader.mjs", ".pnpmfile.cjs", "bunfig.toml", ".bunfig.toml",
		".bazelrc", ".bazelversion", ".bazeliskrc",
		".pre-commit-config.yaml", "lefthook.yml", "lefthook.yaml", ".lefthook.yml", ".lefthook.yaml",
		"gradle-wrapper.properties", "maven-wrapper.properties",
		".devcontainer.json", ".ripgreprc", "pyrightconfig.json", ".mcp.json", ".claude.json",
	} {
		rows = append(rows, Row{name, Basename})
	}
	return rows
}
