package scratch

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// verdict is what one answer of git means.
type verdict int

const (
	unanswered    verdict = iota // git failed: no answer is not a yes
	ignored                      // the only yes
	notIgnored                   // git would let what is in there be committed
	notRepository                // ask again, as a later "git init" would be asked
)

// judgeAnswer gives the exit status of check-ignore and the start of what it wrote
// to standard error their meaning (git-check-ignore(1), EXIT STATUS). That there is
// no repository at all is told by the message alone; a broken one is worded
// differently, and is no reason to ask about another. Pure.
func judgeAnswer(status int, stderr string) verdict {
	switch {
	case status == 0:
		return ignored
	case status == 1:
		return notIgnored
	case status == 128 && strings.HasPrefix(stderr, "fatal: not a git repository (or any"):
		return notRepository
	}
	return unanswered
}

// question is the argument list. Everything in it outranks the repository's own
// configuration, which is a program's to write: hooks and the file system monitor
// are commands, and so are what a missing object is fetched with. check-ignore
// --no-index reads neither index nor objects; this holds if a later git does.
// What the repository may still choose is which files are read as configuration
// and as ignore rules.
func question(safe []string) []string {
	args := []string{
		"git", "--no-pager", "--no-optional-locks",
		"-c", "core.hooksPath=/dev/null",
		"-c", "core.fsmonitor=false",
		"-c", "core.pager=cat",
		"-c", "protocol.allow=never",
		"-c", "safe.bareRepository=explicit",
	}
	for _, dir := range safe {
		args = append(args, "-c", "safe.directory="+dir)
	}
	return append(args, "check-ignore", "--quiet", "--no-index", "--", Location)
}

// environment is all that git gets: nothing of the host's own, in which GIT_DIR
// would name another repository and GIT_TRACE a file to write. HOME is a place
// where nobody can put anything; without one, a "~" in the configuration is fatal.
// The global configuration is given by startLimited.
func environment() []string {
	return []string{
		"PATH=/usr/bin:/bin",
		"HOME=/dev/null",
		"LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_ATTR_NOSYSTEM=1",
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_NO_LAZY_FETCH=1",
		"GIT_NO_REPLACE_OBJECTS=1",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_ASKPASS=",
	}
}

// owned is one directory from the root's parent upwards that may be the top of a
// repository which the root lies in.
type owned struct {
	path string
	dir  uint32 // its owner
	git  uint32 // the owner of the .git in it
}

// safeDirectories names the tops of repositories that git may trust although they
// belong to somebody else than the host's user: the root itself, which the host
// chose, and a directory above it if it and its .git belong to one of owners. What
// a third user puts above the root (/tmp/.git, CVE-2022-24765) is left to git, which
// refuses it. Pure.
func safeDirectories(root string, above []owned, owners []uint32) []string {
	theirs := func(uid uint32) bool { return slices.Contains(owners, uid) }
	safe := []string{root}
	for _, o := range above {
		if theirs(o.dir) && theirs(o.git) {
			safe = append(safe, o.path)
		}
	}
	return safe
}

// parents are the directories above an absolute path, the nearest first. Pure.
func parents(path string) []string {
	var list []string
	for dir := filepath.Dir(path); dir != path; path, dir = dir, filepath.Dir(dir) {
		list = append(list, dir)
	}
	return list
}

// below says whether path is dir or lies in it; both are absolute and clean. Pure.
func below(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// said is the first line of what git wrote, for a message.
func said(stderr string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(stderr), "\n")
	if line == "" {
		return "it said nothing"
	}
	return fmt.Sprintf("it said %q", line)
}
