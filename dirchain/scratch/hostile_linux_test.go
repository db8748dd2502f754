package scratch

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brainbox/dirchain"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// TestNothingOfTheRepositoryRuns has a control: as a person would call it, git runs
// what the configuration says.
func TestNothingOfTheRepositoryRuns(t *testing.T) {
	a, dir := place(t)
	canary := t.TempDir()
	script := dir + "/evil"
	write(t, script, "#!/bin/sh\necho \"$0 $*\" >> "+canary+"/ran\n")
	write(t, dir+"/.gitattributes", "* filter=evil diff=evil merge=evil\n")
	write(t, dir+"/.gitignore", Location+"/\n")
	write(t, dir+"/"+Location+"/f", "x")
	git(t, dir, "init", "-q")
	for _, hook := range []string{
		"post-index-change", "fsmonitor-watchman", "pre-auto-gc", "reference-transaction", "post-checkout", "pre-commit",
	} {
		write(t, dir+"/.git/hooks/"+hook, "#!/bin/sh\necho hook >> "+canary+"/ran\n")
	}
	hostile := `[core]
	repositoryformatversion = 1
	fsmonitor = SCRIPT
	untrackedCache = true
	hooksPath = .git/hooks
	pager = SCRIPT
	editor = SCRIPT
	sshCommand = SCRIPT
	askPass = SCRIPT
	gitProxy = SCRIPT
	alternateRefsCommand = SCRIPT
	attributesFile = .gitattributes
[pager]
	check-ignore = SCRIPT
[alias]
	check-ignore = !SCRIPT
[credential]
	helper = SCRIPT
[filter "evil"]
	clean = SCRIPT
	smudge = SCRIPT
	process = SCRIPT
	required = true
[diff]
	external = SCRIPT
[diff "evil"]
	textconv = SCRIPT
	command = SCRIPT
[merge "evil"]
	driver = SCRIPT
[gpg]
	program = SCRIPT
[uploadpack]
	packObjectsHook = SCRIPT
[protocol]
	allow = always
[extensions]
	partialClone = origin
	worktreeConfig = true
[remote "origin"]
	url = ext::SCRIPT
	promisor = true
	vcs = evil
[trace2]
	eventTarget = CANARY/trace
	normalTarget = CANARY/trace
	perfTarget = CANARY/trace
[include]
	path = included
`
	write(t, dir+"/.git/included", "[core]\n\tfsmonitor = SCRIPT\n\texcludesFile = ~/none\n")
	for _, name := range []string{"config", "included", "config.worktree"} {
		text := strings.NewReplacer("SCRIPT", script, "CANARY", canary).Replace(hostile)
		if name != "config" {
			text = "[core]\n\tfsmonitor = " + script + "\n\texcludesFile = ~/none\n"
		}
		write(t, dir+"/.git/"+name, text)
	}
	err := filepath.WalkDir(dir+"/.git/hooks", func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chmod(path, 0o755))
	})
	if err = errors.Join(err, os.Chmod(script, 0o755)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_TRACE", canary+"/trace") // nothing of the host's environment either
	t.Setenv("GIT_TRACE2", canary+"/trace")
	t.Setenv("GIT_EXTERNAL_DIFF", script)
	t.Setenv("GIT_DIR", "/nonexistent")
	wantAnswer(t, a, true)
	write(t, dir+"/.gitignore", "")
	wantAnswer(t, a, false)
	if got := list(t, canary); got != "" {
		t.Fatalf("git made %s", got)
	}
	git(t, dir, "-c", "extensions.partialClone=", "status", "--porcelain")
	if got := list(t, canary); got != "ran" {
		t.Errorf("control: a person's git made %q, want it to run what the repository says", got)
	}
}

// TestUnanswered: whatever keeps git from answering is no yes, and ends.
func TestUnanswered(t *testing.T) {
	fifo := func(t *testing.T, name string) {
		mkdir(t, filepath.Dir(name))
		_ = os.Remove(name)
		if err := unix.Mkfifo(name, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name  string
		setup func(t *testing.T, dir string)
	}{
		{"an ignore file that is a FIFO", func(t *testing.T, dir string) { fifo(t, dir+"/.gitignore") }},
		{"a configuration that is a FIFO", func(t *testing.T, dir string) { fifo(t, dir+"/.git/config") }},
		{"an included FIFO", func(t *testing.T, dir string) {
			fifo(t, dir+"/fifo")
			git(t, dir, "config", "include.path", dir+"/fifo")
		}},
		{"an ignore file of more than git may have in memory", func(t *testing.T, dir string) {
			write(t, dir+"/.gitignore", Location+"/\n")
			if err := os.Truncate(dir+"/.gitignore", maxMemory+1<<20); err != nil {
				t.Fatal(err)
			}
		}},
		{"a broken configuration", func(t *testing.T, dir string) { write(t, dir+"/.git/config", "[core\n") }},
		{"a repository of a later format", func(t *testing.T, dir string) {
			write(t, dir+"/.git/config", "[core]\n\trepositoryformatversion = 99\n")
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if strings.Contains(tt.name, "in memory") {
				needs.Kernel(t) // that limits memory: an emulator's is its own
			}
			a, dir := place(t)
			git(t, dir, "init", "-q")
			write(t, dir+"/.gitignore", Location+"/\n")
			mkdir(t, dir+"/"+Location)
			wantAnswer(t, a, true) // control
			tt.setup(t, dir)
			if strings.Contains(tt.name, "FIFO") {
				a.git.limit = 300 * time.Millisecond
			}
			err := a.git.ask(t.Context(), a.root)
			if !errors.Is(err, ErrGit) || !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), Fix) {
				t.Errorf("ask: %v", err)
			}
			if strings.Contains(tt.name, "FIFO") && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("ask: %v, want it to end by its time limit", err)
			}
		})
	}
}

func TestGitProgram(t *testing.T) {
	_, dir := place(t)
	write(t, dir+"/.gitignore", Location+"/\n")
	mkdir(t, dir+"/"+Location)
	canary := filepath.Dir(dir) + "/ran"
	fake := dir + "/git"
	write(t, fake, "#!/bin/sh\n: > "+canary+"\n")
	if err := os.Chmod(fake, 0o755); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, path string
		trust      func(string) (string, error)
		want       error
	}{
		{"not absolute", "git", trusted, ErrGit},
		{"others could change it", fake, trusted, ErrGit}, // beneath a sticky directory
		{"in the root", fake, filepath.EvalSymlinks, ErrGit},
		{"missing", "/nonexistent/git", trusted, fs.ErrNotExist},
		{"a directory", "/usr/bin", trusted, ErrGit},
		{"no program", "/etc/passwd", trusted, ErrGit},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := areaOf(t, dir)
			a.git.git, a.git.trust = tt.path, tt.trust
			if err := a.Check(t.Context()); !errors.Is(err, tt.want) || !errors.Is(err, ErrGit) {
				t.Errorf("Check: %v, want %v", err, tt.want)
			}
			if _, err := os.Lstat(canary); err == nil {
				t.Error("it was run")
			}
		})
	}
	if err := areaOf(t, dir).Check(t.Context()); err != nil { // control
		t.Error(err)
	}
}

// TestAnotherDirectoryAbove: what git was asked about is named by its way, which has
// ignore files too.
func TestAnotherDirectoryAbove(t *testing.T) {
	a, dir, _ := ignoredPlace(t)
	mkdir(t, dir+"/"+Location)
	a.hook = func(point, _ string) {
		if point == "asked" {
			if err := errors.Join(os.Rename(dir+"/.brain", dir+"/away"), os.Mkdir(dir+"/.brain", 0o755),
				os.Rename(dir+"/away/scratch", dir+"/"+Location)); err != nil {
				t.Error(err)
			}
		}
	}
	if err := a.Ready(t.Context()); !errors.Is(err, dirchain.ErrChanged) {
		t.Errorf("Ready: %v", err)
	}
}
