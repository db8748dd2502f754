package lock

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// TestBashKey is the table of contract brainkit §7.3.
func TestBashKey(t *testing.T) {
	const git, docs, none = RepoGit, BrainDocs, ""
	for command, want := range map[string]string{
		"git add -A": git, "git commit -m x": git, "git rm": git, "git mv a b": git, "git stash": git, "git push": git, "git pull": git,
		"git reset": git, "git checkout x": git, "git clean -n": git, "git worktree list": git, "git stash list": git,

		"git status": none, "git log": none, "git diff": none, "git show": none, "git blame f": none, "git branch -D x": none,
		"git fetch": none, "git tag v1": none, "git rev-parse HEAD": none, "git ls-files": none,

		"git -C /x --no-pager commit": git,
		"GIT ADD x":                   none, "Git add": none,

		"git log --grep add": git, "git config user.name add": git, "git remote add o u": git, "git help commit": git,
		"git merge-base a b": git, "git commit-tree x": git, "git-add x": git,

		"git log | grep commit": none, "echo git && echo add": none, "git status && rm x": none,

		"git status; git add x": git, "git status\ngit add .": git, "git log --oneline | xargs git add": git, "sudo git add": git,

		"git" + strings.Repeat(" -q", 44) + " add": none, // 132 characters and a blank
		"git" + strings.Repeat(" ", 120) + "add":   git,
		"git" + strings.Repeat(" ", 121) + "add":   none,

		"brain sync": git, "brain import x": git, "brain sync && brain add": git,

		"brain search add": none, "mybrain add": none, "gitk add": none, "./script.sh": none, "make": none, "npm test": none,

		"brain add x": docs, "brain\tupdate": docs, "brain archive x": docs, "brain add && git commit": git, "": none,
	} {
		if got := BashKey(command); got != want {
			t.Errorf("%.60q: %q, want %q", command, got, want)
		}
	}
}

// TestBashKeyLong: a command of 10 MiB is read in one pass, also one made to match late. More
// than a pass would not end before the test's time is over.
func TestBashKeyLong(t *testing.T) {
	for _, part := range []string{"git status ", "git ", "brain ", "cherry-", "x", "é"} {
		command := strings.Repeat(part, (10<<20)/len(part))
		if key := BashKey(command); key != "" {
			t.Errorf("%q: %q", part, key)
		}
		if key := BashKey(command + " git add"); key != RepoGit {
			t.Errorf("%q and git add: %q", part, key)
		}
	}
}

func TestPathKey(t *testing.T) {
	for file, want := range map[string]string{
		"/a/b": "path:/a/b", "/a//b/": "path:/a/b", "/a/./c/../b": "path:/a/b", "/": "path:/",
		"": "", "a/b": "", "./a": "", "~/a": "", "/a\x00b": "",
	} {
		if got, ok := PathKey(file); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v", file, got, ok)
		}
	}
}

// expressions are those of the contract, which BashKey stands for.
var expressions = []struct {
	re  *regexp.Regexp
	key string
}{
	{regexp.MustCompile(`\bgit\b[^\n|;&]{0,120}?\b(add|commit|rm|mv|restore|rebase|merge|cherry-pick|revert|reset|checkout|switch|stash|apply|am|pull|push|clean|worktree)\b`), RepoGit},
	{regexp.MustCompile(`\bbrain\s+(sync|import)\b`), RepoGit},
	{regexp.MustCompile(`\bbrain\s+(add|update|archive)\b`), BrainDocs},
}

func agree(t *testing.T, command string) {
	t.Helper()
	want := ""
	for _, e := range expressions {
		if e.re.MatchString(command) {
			want = e.key
			break
		}
	}
	if got := BashKey(command); got != want {
		t.Errorf("%q: %q, the expressions say %q", command, got, want)
	}
}

// TestBashKeyAgrees: random texts made of what the expressions look at.
func TestBashKeyAgrees(t *testing.T) {
	parts := []string{
		"git", "brain", "add", "commit", "cherry-pick", "cherry", "-pick", "-", " ", "\t", "\n", "|", ";", "&", "sync", "import", "update",
		"archive", "x", "_", "é", "\xff", "\v", strings.Repeat("a ", 30), strings.Repeat("é", 59), "merge-base", "git add", "am", "pick", "brain ", "brain\t", "brain add",
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	keys := map[string]int{}
	for range 30_000 {
		var b strings.Builder
		for range 1 + rnd.IntN(9) {
			b.WriteString(parts[rnd.IntN(len(parts))])
		}
		agree(t, b.String())
		keys[BashKey(b.String())]++
	}
	if len(keys) != 3 || keys[BrainDocs] < 30 {
		t.Errorf("the texts were all alike: %v", keys)
	}
}

// FuzzBashKey: no command means anything else than the expressions say.
func FuzzBashKey(f *testing.F) {
	for _, s := range []string{"git add", "brain\tadd", "git\xff add", "brain sync", "git \u2028 add", "git cherry-picks", "git cherry-pick"} {
		f.Add(s)
	}
	f.Fuzz(agree)
}
