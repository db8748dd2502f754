package scratch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brainbox/internal/needs"
)

// ignoreVectors are those of contract brainkit §4.3, in its order. setup gets the root.
func ignoreVectors() []struct {
	name, gitignore string
	setup           func(t *testing.T, dir string)
	missing         bool // the area does not exist
	want            bool
} {
	return []struct {
		name, gitignore string
		setup           func(t *testing.T, dir string)
		missing         bool
		want            bool
	}{
		{name: "the directory with a slash", gitignore: ".brain/scratch/\n", want: true},
		{name: "the directory without a slash", gitignore: ".brain/scratch\n", want: true},
		{name: "the directory above", gitignore: ".brain/\n", want: true},
		{name: "everything", gitignore: "*\n", want: true},
		{name: "info/exclude", setup: func(t *testing.T, dir string) {
			write(t, dir+"/.git/info/exclude", ".brain/scratch/\n")
		}, want: true},
		{name: "a file in the directory above", setup: func(t *testing.T, dir string) {
			write(t, dir+"/.brain/.gitignore", "scratch/\n")
		}, want: true},
		{name: "only what is in it", gitignore: ".brain/scratch/*\n"},
		{name: "taken back", gitignore: ".brain/scratch/\n!.brain/scratch/\n"},
		{name: "an empty file"},
		{name: "a directory that does not exist", gitignore: ".brain/scratch/\n", missing: true},
		{name: "a tracked file in it", gitignore: ".brain/scratch/\n", setup: func(t *testing.T, dir string) {
			write(t, dir+"/.brain/scratch/tracked", "x")
			git(t, dir, "add", "-f", ".brain/scratch/tracked")
			git(t, dir, "commit", "-q", "-m", "x")
		}, want: true},
	}
}

func TestIgnoreCheck(t *testing.T) {
	for _, tt := range ignoreVectors() {
		t.Run(tt.name, func(t *testing.T) {
			a, dir := place(t)
			git(t, dir, "init", "-q")
			write(t, dir+"/.gitignore", tt.gitignore)
			if !tt.missing {
				mkdir(t, dir+"/"+Location)
			}
			if tt.setup != nil {
				tt.setup(t, dir)
			}
			wantAnswer(t, a, tt.want)
		})
	}
}

func wantAnswer(t *testing.T, a *Area, want bool) {
	t.Helper()
	err := a.git.ask(t.Context(), a.root)
	switch {
	case want && err != nil:
		t.Errorf("ask: %v, want ignored", err)
	case !want && (!errors.Is(err, ErrNotIgnored) || !errors.Is(err, fs.ErrPermission)):
		t.Errorf("ask: %v, want %v", err, ErrNotIgnored)
	}
}

// TestIgnoreCheckWithoutRepository: what a later "git init" would say.
func TestIgnoreCheckWithoutRepository(t *testing.T) {
	for _, tt := range ignoreVectors() {
		if strings.HasPrefix(tt.name, "info/") || strings.HasPrefix(tt.name, "a tracked") {
			continue // these need a repository
		}
		t.Run(tt.name, func(t *testing.T) {
			a, dir := place(t)
			write(t, dir+"/.gitignore", tt.gitignore)
			if !tt.missing {
				mkdir(t, dir+"/"+Location)
			}
			if tt.setup != nil {
				tt.setup(t, dir)
			}
			wantAnswer(t, a, tt.want)
			if left := list(t, a.opts.Temp); left != "" {
				t.Errorf("left in the temporary folder: %s", left)
			}
			if _, err := os.Lstat(dir + "/.git"); err == nil {
				t.Error("a repository was made in the root")
			}
		})
	}
}

func TestIgnoreCheckFindsTheRepository(t *testing.T) {
	t.Run("a linked worktree has its own ignore files and the common exclude file", func(t *testing.T) {
		a, dir := place(t)
		main := filepath.Dir(dir) + "/main"
		mkdir(t, main)
		git(t, main, "init", "-q")
		git(t, main, "commit", "-q", "--allow-empty", "-m", "x")
		git(t, main, "worktree", "add", "-q", dir)
		mkdir(t, dir+"/"+Location)
		wantAnswer(t, a, false)
		write(t, main+"/.git/info/exclude", Location+"/\n")
		wantAnswer(t, a, true)
		write(t, main+"/.git/info/exclude", "")
		write(t, dir+"/.gitignore", Location+"/\n")
		wantAnswer(t, a, true)
		mkdir(t, main+"/gone")
		if err := os.Rename(main+"/.git", main+"/gone/git"); err != nil {
			t.Fatal(err)
		}
		if err := a.git.ask(t.Context(), a.root); !errors.Is(err, ErrGit) { // it is no "no repository"
			t.Errorf("a .git that leads nowhere: %v", err)
		}
	})
	t.Run("inside a larger repository that one is asked", func(t *testing.T) {
		a, dir := place(t)
		mkdir(t, dir+"/"+Location)
		git(t, filepath.Dir(dir), "init", "-q")
		wantAnswer(t, a, false)
		write(t, filepath.Dir(dir)+"/.gitignore", "/root/.brain/scratch/\n")
		wantAnswer(t, a, true)
		write(t, dir+"/.gitignore", "!.brain/scratch/\n")
		wantAnswer(t, a, false)
	})
	t.Run("a root that is laid out as a bare repository is none", func(t *testing.T) {
		a, dir := place(t)
		git(t, dir, "init", "-q", "--bare")
		git(t, dir, "config", "core.bare", "false")
		git(t, dir, "config", "core.worktree", dir)
		write(t, dir+"/info/exclude", "*\n")
		mkdir(t, dir+"/"+Location)
		if err := a.git.ask(t.Context(), a.root); !errors.Is(err, ErrGit) || !strings.Contains(err.Error(), "bare") {
			t.Errorf("ask: %v", err)
		}
	})
}

func TestOwnersOfRepositories(t *testing.T) {
	needs.Root(t)
	const other, third = 61001, 61002
	setup := func(t *testing.T) (*Area, string) {
		a, dir := place(t)
		top := filepath.Dir(dir)
		git(t, top, "init", "-q")
		write(t, top+"/.gitignore", "/root/.brain/scratch/\n")
		mkdir(t, dir+"/"+Location)
		return a, dir
	}
	chown := func(t *testing.T, uid int, names ...string) {
		for _, name := range names {
			if err := os.Chown(name, uid, uid); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Run("of the root's owner", func(t *testing.T) {
		a, dir := setup(t)
		chown(t, other, dir, filepath.Dir(dir), filepath.Dir(dir)+"/.git")
		wantAnswer(t, a, true)
	})
	t.Run("of the root's owner, in the root", func(t *testing.T) {
		a, dir := place(t)
		git(t, dir, "init", "-q")
		write(t, dir+"/.gitignore", Location+"/\n")
		mkdir(t, dir+"/"+Location)
		chown(t, other, dir, dir+"/.git")
		wantAnswer(t, a, true)
	})
	t.Run("of a third user above the root", func(t *testing.T) {
		a, dir := setup(t)
		chown(t, other, dir)
		chown(t, third, filepath.Dir(dir)+"/.git")
		if err := a.git.ask(t.Context(), a.root); !errors.Is(err, ErrGit) || !strings.Contains(err.Error(), "ownership") {
			t.Errorf("ask: %v", err)
		}
	})
}

func TestJudgeAnswer(t *testing.T) {
	const none = "fatal: not a git repository (or any of the parent directories): .git\n"
	tests := []struct {
		status int
		stderr string
		want   verdict
	}{
		{0, "", ignored},
		{1, "", notIgnored},
		{1, none, notIgnored},
		{128, none, notRepository},
		{128, "fatal: not a git repository (or any parent up to mount point /srv)\n", notRepository},
		{128, "fatal: not a git repository: /gone/.git/worktrees/x\n", unanswered},
		{128, "warning: x\n" + none, unanswered},
		{128, "fatal: detected dubious ownership in repository at '/srv'\n", unanswered},
		{-1, none, unanswered},
		{2, "", unanswered},
		{127, none, unanswered},
	}
	for _, tt := range tests {
		if got := judgeAnswer(tt.status, tt.stderr); got != tt.want {
			t.Errorf("judgeAnswer(%d, %q) = %v, want %v", tt.status, tt.stderr, got, tt.want)
		}
	}
}
