package confirm

import "slices"

// Defaults is the table that holds when nothing is configured: [Shared], then [Added].
// An entry has an effect, and may change from version to version.
func Defaults() []Source { return slices.Concat(Shared(), Added()) }

// Shared is the table of the contract (brainkit §3.2). It comes first, so that a command
// that it knows is asked about in its words.
func Shared() []Source {
	return []Source{
		{Pattern: `\bbrain\s+archive\b`, Effect: "take a document out of search and briefings"},
		{Pattern: `\brm\s+(-[a-zA-Z]*\s+)*-[a-zA-Z]*[rR]`, Effect: "remove a directory and everything inside it"},
		{Pattern: `\bgit\s+push\b.*--force`, Effect: "overwrite the history of a remote repository"},
		{Pattern: `\bgit\s+reset\b.*--hard`, Effect: "drop all uncommitted changes"},
		{Pattern: `\bgit\s+clean\b.*-[a-zA-Z]*f`, Effect: "remove files that git does not track"},
		{Pattern: `\bgit\s+checkout\b.*\s--\s`, Effect: "drop the changes to the named files"},
	}
}

// git is the program with options of its own before the verb, as in git -C DIR.
const git = `\bgit\s+(?:-.*\s)?`

// Added is what brainbox adds to the table: other spellings of the same, and other
// commands whose effect cannot be taken back.
func Added() []Source {
	return []Source{
		{Pattern: `\brm\b.*\s--r[a-z]*\b`, Effect: "remove a directory and everything inside it"},
		{Pattern: git + `push\b.*(?:\s-[a-zA-Z]*f|--force)`, Effect: "overwrite the history of a remote repository"},
		{Pattern: git + `push\b.*\s\+\S`, Effect: "overwrite the history of a remote branch"},
		{Pattern: git + `reset\b.*--hard`, Effect: "drop all uncommitted changes"},
		{Pattern: git + `clean\b.*-[a-zA-Z]*f`, Effect: "remove files that git does not track"},
		{Pattern: git + `checkout\b.*\s--\s`, Effect: "drop the changes to the named files"},
		{Pattern: git + `restore\b`, Effect: "drop the changes to the named files"},
		// The letter counts: -d refuses a branch that is not merged.
		{Pattern: git + `branch\b.*\s-(?-i:[a-zA-Z]*D)`, Effect: "delete a branch that may not be merged"},
		{Pattern: `\bfind\b.*\s-delete\b`, Effect: "delete every file that find meets"},
		{Pattern: `\bdd\b.*\bof=`, Effect: "overwrite a file or a device, byte by byte"},
		{Pattern: `\bmkfs\b`, Effect: "make a new file system, which erases the old one"},
		{Pattern: `\bshred\b`, Effect: "overwrite files so that they cannot be recovered"},
		{Pattern: `\btruncate\b`, Effect: "cut off the content of a file or a table"},
	}
}
