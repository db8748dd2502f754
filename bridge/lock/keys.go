package lock

import (
	"path"
	"sort"
	"strings"
	"unicode/utf8"
)

// The keys of contract brainkit §7.2 that are not paths.
const (
	RepoGit   = "repo-git"   // what touches the index or the history of git
	BrainDocs = "brain-docs" // what changes documents, and masks
)

// PathKey is the key of one file, whose path is absolute and has no links in it: two names
// of one file are two keys. ok is false for a path that can be none; the tool refuses it
// anyhow, and no lock is better than one under a name that means nothing.
func PathKey(file string) (key string, ok bool) {
	if !strings.HasPrefix(file, "/") || strings.IndexByte(file, 0) >= 0 {
		return "", false
	}
	return "path:" + path.Clean(file), true
}

// BashKey is the key under which a shell command runs, empty for none (contract brainkit
// §7.3). It is for the command as it was written, after an approved edit and before any
// rewriting. A command too many is serialised by it; one that it misses meets git's own lock,
// and fails visibly.
//
// It is the three expressions of the contract as one pass over the words: a machine for them
// follows up to 120 places at once, and a command is as long as whoever writes it likes.
func BashKey(command string) string {
	var s scan
	docs := false
	for i := 0; i < len(command); {
		n := wordLen(command[i:])
		if n == 0 {
			i += s.between(command[i:])
			continue
		}
		word := command[i : i+n]
		if word == "cherry" && strings.HasPrefix(command[i+n:], "-pick") && wordLen(command[i+n+1:]) == len("pick") {
			word = "cherry-pick"
		}
		if s.git && s.after <= window && gitVerb(word) || s.brain && s.blank && (word == "sync" || word == "import") {
			return RepoGit
		}
		docs = docs || s.brain && s.blank && (word == "add" || word == "update" || word == "archive")
		s.word(command[i : i+n])
		i += n
	}
	if docs {
		return BrainDocs
	}
	return ""
}

// window is how many characters may stand between git and its verb.
const window = 120

// scan is what the text up to a place tells about the next word.
type scan struct {
	git   bool // the word git came, and nothing that ends a command
	after int  // characters since
	brain bool // the word brain came, and nothing but blanks
	blank bool // at least one
}

// word goes past one.
func (s *scan) word(w string) {
	s.after += len(w)
	if w == "git" {
		s.git, s.after = true, 0
	}
	s.brain, s.blank = w == "brain", false
}

// between goes past one character that is in no word, and gives its length in bytes.
func (s *scan) between(text string) int {
	_, n := utf8.DecodeRuneInString(text)
	s.after++
	switch text[0] {
	case '\n', '|', ';', '&':
		s.git = false
	}
	s.blank = strings.IndexByte("\t\n\f\r ", text[0]) >= 0
	s.brain = s.brain && s.blank
	return n
}

// wordLen is how many bytes of a word the text begins with.
func wordLen(text string) int {
	for i := range len(text) {
		c := text[i]
		if c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return i
		}
	}
	return len(text)
}

func gitVerb(word string) bool {
	switch word {
	case "add", "commit", "rm", "mv", "restore", "rebase", "merge", "cherry-pick", "revert", "reset", "checkout", "switch",
		"stash", "apply", "am", "pull", "push", "clean", "worktree":
		return true
	}
	return false
}

// keyOf is the key that is taken for a key.
func (s *Set) keyOf(key string) string {
	if s.whole && key != "" {
		return wholeKey
	}
	return key
}

const wholeKey = "*"

// sorted is the keys in their order, each once.
func (s *Set) sorted(keys []string) []string {
	out := make([]string, 0, len(keys))
	for _, k := range keys {
		out = append(out, s.keyOf(k))
	}
	sort.Strings(out)
	n := 0
	for i, k := range out {
		if i == 0 || k != out[n-1] {
			out[n] = k
			n++
		}
	}
	return out[:n]
}
