package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brainbox/internal/needs"
)

// outside runs a script on the host, in a folder.
func outside(t *testing.T, dir, script string) string {
	t.Helper()
	r := run(t, dir, exec.Command("/bin/sh", "-euc", script))
	if r.status != 0 {
		t.Fatalf("outside: status %d\n%s%s", r.status, r.out, r.err)
	}
	return r.out
}

const gitIdentity = `export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_CONFIG_GLOBAL=/dev/null; `

// TestRepositoryOfTheRunIsWhole is esc/LA-13 for what the program makes itself: what it
// clones and what it starts is a repository like any other afterwards, hooks and all.
func TestRepositoryOfTheRunIsWhole(t *testing.T) {
	kernel(t)
	needs.Program(t, "git")
	w := newWorld(t)
	outside(t, w.dir("R"), gitIdentity+`git init -q --bare -b main origin.git; git clone -q origin.git work 2>&1; cd work; echo x >f
		git add f; git commit -qm one; git push -q origin HEAD:main`)
	r := confined(t, w, []string{"--ro", w.dir("R")}, "/bin/sh", "-euc", gitIdentity+`git config --global --add safe.directory '*' 2>/dev/null || :
		export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
		git clone -q "$1" clone; git init -q -b main new; cd new; echo y >g; git add g; git commit -qm two`, "sh", w.dir("R")+"/origin.git")
	if r.status != 0 {
		t.Fatalf("status %d\n%s%s", r.status, r.out, r.err)
	}
	for _, repo := range []string{"clone", "new"} {
		got := outside(t, filepath.Join(w.dir("W"), repo), `git fsck --strict; git status --porcelain; git log --format=%s; ls -d .git/hooks .git/config`)
		if want := map[string]string{"clone": "one\n", "new": "two\n"}[repo] + ".git/config\n.git/hooks\n"; got != want {
			t.Errorf("%s: %q, want %q", repo, got, want)
		}
	}
	if _, err := os.Lstat(filepath.Join(w.dir("W"), ".brainbox")); err == nil {
		t.Error("something was moved to quarantine")
	}
}

// TestTwoRunsProtect is esc/LA-14 for what is protected and for the quarantine: two runs in
// one checkout hold it as each alone, while both run and when one has ended, and what they
// made is in quarantine, none of it lost.
func TestTwoRunsProtect(t *testing.T) {
	kernel(t)
	w := newWorld(t)
	repository(t, w)
	at := func(name string) string { return filepath.Join(w.dir("W"), name) }
	must(t, os.WriteFile(at(".git/config"), []byte("[core]\n"), 0o644))
	must(t, os.WriteFile(at("mine"), []byte("mine"), 0o644))
	before := tree(t, w.dir("W"))
	first, second := w.box(t), w.box(t)
	held := func(s *side, who string) {
		t.Helper()
		if got := s.ask(t, "write "+at(".git/config")+" 0 x"); inside() && !hit(got, errnos("EROFS")) {
			t.Errorf("%s: .git/config: %q", who, got)
		}
		if got := s.ask(t, "write "+at("plain-"+who)+" 0x40 x"); got != "ok" { // control
			t.Errorf("%s: %q", who, got)
		}
	}
	if inside() {
		held(first, "first")
		held(second, "second")
	}
	for s, name := range map[*side]string{first: ".envrc", second: ".npmrc"} {
		if got := s.ask(t, "write "+at(name)+" 0x40 "+name); got != "ok" {
			t.Fatalf("%s: %q", name, got)
		}
	}
	first.done()
	if inside() {
		held(second, "second-alone")
	}
	if got := second.ask(t, "write "+at(".mcp.json")+" 0x40 late"); got != "ok" {
		t.Fatalf("late: %q", got)
	}
	second.done()
	for _, name := range []string{".envrc", ".npmrc", ".mcp.json"} {
		moved, err := filepath.Glob(at(".brainbox/quarantine/*/*-" + name))
		if _, serr := os.Lstat(at(name)); err != nil || len(moved) != 1 || serr == nil {
			t.Errorf("%s is in quarantine as %q, and where it was: %v", name, moved, serr == nil)
		}
	}
	outside(t, w.dir("W"), `rm -rf .brainbox plain-*`)
	if diff := cmp.Diff(withoutTimes(before), withoutTimes(tree(t, w.dir("W")))); diff != "" {
		t.Errorf("the checkout changed (-before +after):\n%s", diff)
	}
}

// withoutTimes leaves out the folders, whose times say that something was in them.
func withoutTimes(all map[string]string) map[string]string {
	files := map[string]string{}
	for path, text := range all {
		if st, err := os.Lstat(path); err == nil && !st.IsDir() {
			files[path] = text
		}
	}
	return files
}

// TestProtectedRepositories is esc/TH-01 to esc/TH-10 with git's own repositories, from one
// end to the other: .git as a folder, a file and a link, nested, and of a linked worktree. git
// works in them, nothing that a host's git would run can be changed, no folder on the way can
// be moved, and no placeholder is left.
func TestProtectedRepositories(t *testing.T) {
	kernel(t)
	needs.Program(t, "git")
	if !inside() {
		return // clause protect is open there: TestOpenListIsOpen
	}
	w := newWorld(t)
	outside(t, w.dir("W"), gitIdentity+`make() { git init -q -b main "$1"; (cd "$1"; echo x >f; git add f; git commit -qm one); }
		make .; make vendor/deep/nested; make real; mkdir filed linked; mv real/.git store.git; rm -r real
		echo "gitdir: ../store.git" >filed/.git; git --git-dir=store.git config core.bare false
		ln -s ../store.git linked/.git; git worktree add -q tree`)
	before := tree(t, w.dir("W"))
	side := w.box(t)
	for _, name := range []string{
		".git/hooks/pre-commit", "vendor/deep/nested/.git/hooks/pre-commit", "store.git/hooks/pre-commit", "filed/.git", "tree/.git",
	} {
		if got := side.ask(t, "write "+filepath.Join(w.dir("W"), name)+" 0x40 x"); !hit(got, errnos("EROFS")) {
			t.Errorf("write %s: %q", name, got)
		}
	}
	for _, name := range []string{
		".git", ".git/hooks", ".git/config", "vendor", "vendor/deep", "vendor/deep/nested", "vendor/deep/nested/.git", "store.git", "filed",
		"filed/.git", "linked", "linked/.git", "tree", "tree/.git",
	} {
		path := filepath.Join(w.dir("W"), name)
		if got := side.ask(t, renameat2(path, path+"-gone", 0)); !hit(got, errnos("EBUSY")) {
			t.Errorf("move %s: %q", name, got)
		}
	}
	side.done()
	if diff := cmp.Diff(before, tree(t, w.dir("W"))); diff != "" {
		t.Errorf("the tree changed (-before +after):\n%s", diff)
	}
	// Positive control: git works in all of them.
	r := confined(t, w, nil, "/bin/sh", "-euc", gitIdentity+`for d in . vendor/deep/nested tree; do (cd $d; echo y >g; git add g; git commit -qm two; git log --format=%s -1); done
		git -C filed log --format=%s; git -C linked log --format=%s`)
	if r.status != 0 || r.out != strings.Repeat("two\n", 3)+"one\none\n" {
		t.Errorf("status %d, %q\n%s", r.status, r.out, r.err)
	}
	names, err := os.ReadDir(w.dir("W"))
	must(t, err)
	for _, n := range names {
		if known := []string{".git", "f", "g", "vendor", "store.git", "filed", "linked", "tree"}; !slices.Contains(known, n.Name()) {
			t.Errorf("%q is left in the checkout", n.Name())
		}
	}
}
