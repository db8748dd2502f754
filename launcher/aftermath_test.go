package launcher

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// aftermath looks at a checkout, lets a program do its worst, and looks again.
func aftermath(t *testing.T, dir, text string, inside bool, worst func()) *Aftermath {
	t.Helper()
	p, f := lookInside(t, dir, text)
	if !inside {
		f.Inside.close()
		f.observeTop(p)
	}
	plan := newPlan(p, f, inside)
	if plan.Refusal != nil {
		t.Fatalf("refused: %+v", plan.Refusal)
	}
	worst()
	return plan.After(f)
}

// listAfter shows an aftermath relative to the checkout.
func listAfter(a *Aftermath, dir, run string) []string {
	var list []string
	short := func(s string) string {
		if s = strings.ReplaceAll(s, dir+"/", ""); run != "" {
			s = strings.ReplaceAll(s, run, "RUN")
		}
		return s
	}
	for _, c := range a.Protected {
		line := "created " + short(c.Path)
		if c.Moved != "" {
			line += " -> " + short(c.Moved)
		}
		if c.Err != nil {
			line += " failed: " + c.Err.Error()
		}
		list = append(list, line)
	}
	for _, r := range a.Repositories {
		list = append(list, "repository "+short(r))
	}
	for _, c := range a.Config {
		list = append(list, "config "+short(c))
	}
	for _, u := range a.Unread {
		list = append(list, "unread "+short(u))
	}
	slices.Sort(list)
	return list
}

// treeOf lists a folder, with types and contents.
func treeOf(t *testing.T, dir string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		line := strings.TrimPrefix(path, dir+"/")
		switch {
		case d.IsDir():
			line += "/"
		case d.Type()&os.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			line += " -> " + to
		case d.Type().IsRegular():
			b, err := os.ReadFile(path)
			line += fmt.Sprintf(": %s %v", b, err)
		}
		list = append(list, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// esc/TH-01 to esc/TH-05, esc/TH-11, esc/TH-15: what a run made where nothing was is gone.
func TestCreatedNamesGoToQuarantine(t *testing.T) {
	for _, inside := range []bool{true, false} {
		t.Run(fmt.Sprintf("namespaces %v", inside), func(t *testing.T) {
			dir := checkout(t, ".git/HEAD: x", ".git/config: x", "src/a: x")
			before := treeOf(t, dir)
			if got := aftermath(t, dir, "", inside, func() { plant(t, dir, "src/b: x") }); len(listAfter(got, dir, "")) != 0 {
				t.Errorf("nothing was made: %+v", got)
			}
			if err := os.Remove(dir + "/src/b"); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, treeOf(t, dir)); diff != "" {
				t.Fatalf("without need (-before +after):\n%s", diff)
			}
			var run string
			a := aftermath(t, dir, "", inside, func() {
				plant(t, dir, ".git/hooks/pre-commit: evil", ".git/config.worktree: evil", ".git/info/attributes: evil", ".envrc: evil",
					".vscode/tasks.json: evil", ".config/git/config: evil", ".npmrc -> /etc/passwd", "src/c: fine", ".git/index: fine")
			})
			if len(a.Protected) > 0 {
				run = filepath.Base(filepath.Dir(a.Protected[0].Moved))
			}
			at := ".brainbox/quarantine/RUN/"
			want := []string{
				"created .config/git -> " + at + "N-git",
				"created .envrc -> " + at + "N-.envrc",
				"created .git/config.worktree -> " + at + "N-config.worktree",
				"created .git/hooks -> " + at + "N-hooks",
				"created .git/info/attributes -> " + at + "N-attributes",
				"created .npmrc -> " + at + "N-.npmrc",
				"created .vscode -> " + at + "N-.vscode",
			}
			got := listAfter(a, dir, run)
			for i := range got {
				for n := range 10 {
					got[i] = strings.ReplaceAll(got[i], "RUN/"+itoa(n)+"-", "RUN/N-")
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("after the run (-want +got):\n%s", diff)
			}
			left := treeOf(t, dir)
			for _, line := range left {
				if strings.Contains(line, "evil") && !strings.HasPrefix(line, ".brainbox/quarantine/"+run+"/") {
					t.Errorf("left behind: %s", line)
				}
			}
			for _, want := range []string{"src/c: fine <nil>", ".git/index: fine <nil>", ".brainbox/quarantine/" + run + "/.gitignore: *\n <nil>"} {
				if !slices.Contains(left, want) {
					t.Errorf("missing %q in\n%s", want, strings.Join(left, "\n"))
				}
			}
		})
	}
}

func TestCreatedNamesAreKeptOnRequest(t *testing.T) {
	dir := checkout(t, ".git/HEAD: x")
	a := aftermath(t, dir, "extends = [\"default\"]\n[sandbox]\nkeep_created = true\n", true, func() { plant(t, dir, ".envrc: x") })
	if got := listAfter(a, dir, ""); !slices.Equal(got, []string{"created .envrc"}) {
		t.Errorf("got %q", got)
	}
	if _, err := os.Stat(dir + "/.envrc"); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(dir + "/.brainbox"); err == nil {
		t.Error("a quarantine was made")
	}
}

// A repository that the run made is whole afterwards, and told.
func TestCreatedRepositoriesAreWhole(t *testing.T) {
	git := needs.Tool(t, "git")
	dir := checkout(t, "a: x")
	a := aftermath(t, dir, "", true, func() { gitRun(t, git, dir, "init", "-q") })
	if got := listAfter(a, dir, ""); !slices.Equal(got, []string{"repository .git"}) {
		t.Errorf("after init: %q", got)
	}
	gitRun(t, git, dir, "commit", "-q", "--allow-empty", "-m", "x")
	lib := filepath.Dir(dir) + "/lib"
	plant(t, filepath.Dir(dir), "lib/")
	gitRun(t, git, lib, "init", "-q")
	gitRun(t, git, lib, "commit", "-q", "--allow-empty", "-m", "x")
	a = aftermath(t, dir, "extends = [\"default\"]\n[sandbox]\ngit_config = true\n", true, func() {
		gitRun(t, git, dir, "submodule", "add", "-q", "--name", "x/y", lib, "sub")
		gitRun(t, git, dir, "clone", "-q", lib, dir+"/cloned")
		gitRun(t, git, dir, "config", "core.fsmonitor", "evil")
		gitRun(t, git, dir, "remote", "add", "origin", "https://example.org/x")
	})
	want := []string{"config .git/config: core.fsmonitor", "repository .git/modules/x/y"}
	got := listAfter(a, dir, "")
	got = slices.DeleteFunc(got, func(s string) bool { return strings.Contains(s, ".gitmodules") })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("after submodule, clone and config (-want +got):\n%s", diff)
	}
	gitRun(t, git, dir+"/sub", "-c", "core.fsmonitor=", "log", "-1")
	gitRun(t, git, dir+"/cloned", "log", "-1")
}

func TestChangedConfigurationIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		change func(file string) error
		want   []string
	}{
		"nothing":       {func(string) error { return nil }, nil},
		"another value": {func(f string) error { return os.WriteFile(f, []byte("[core]\n\thooksPath = b\n"), 0o600) }, []string{"config .git/config: core.hookspath"}},
		"gone":          {os.Remove, []string{"config .git/config: core.hookspath"}},
		"unreadable for git": {
			func(f string) error { return os.WriteFile(f, []byte("[core\n"), 0o600) },
			[]string{"config .git/config: it cannot be read any more"},
		},
		"too long": {func(f string) error { return os.Truncate(f, maxSmall+1) }, []string{"config .git/config: it cannot be read any more"}},
		"a FIFO": {
			func(f string) error { _ = os.Remove(f); return unix.Mkfifo(f, 0o600) },
			[]string{"config .git/config: it cannot be read any more"},
		},
		"a key that says where it is from": {func(f string) error {
			return os.WriteFile(f, []byte("[core]\n\thooksPath = a\n[filter \"x\\\"\x1b\"]\n\tclean = evil\n"), 0o600)
		}, []string{"config .git/config: filter.x\"\x1b.clean"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := checkout(t, ".git/HEAD: x", ".git/config: [core]\n\thooksPath = a\n")
			var a *Aftermath
			within(t, name, func() {
				a = aftermath(t, dir, "", false, func() {
					if err := c.change(dir + "/.git/config"); err != nil {
						t.Error(err)
					}
				})
			})
			if diff := cmp.Diff(c.want, listAfter(a, dir, "")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What a program can put in the way of the quarantine: nothing outside is touched, and what
// it made is gone all the same.
func TestQuarantineOfAHostileTree(t *testing.T) {
	mode := func(path string, m os.FileMode) error { return os.Chmod(path, m) }
	for name, worst := range map[string]func(t *testing.T, dir, out, run string){
		"the quarantine is a link out": func(t *testing.T, dir, out, _ string) { plant(t, dir, ".brainbox -> "+out) },
		"a part of it is a link out":   func(t *testing.T, dir, out, _ string) { plant(t, dir, ".brainbox/quarantine -> "+out) },
		"it is a file":                 func(t *testing.T, dir, _, _ string) { plant(t, dir, ".brainbox: x") },
		"the run's folder is there":    func(t *testing.T, dir, _, run string) { plant(t, dir, ".brainbox/quarantine/"+run+"/.git/config: x") },
		"the run's folder is a link":   func(t *testing.T, dir, out, run string) { plant(t, dir, ".brainbox/quarantine/"+run+" -> "+out) },
		"the name is a closed folder": func(t *testing.T, dir, _, _ string) {
			if err := mode(dir+"/.git/hooks", 0o555); err != nil {
				t.Error(err)
			}
		},
		"its folder is closed": func(t *testing.T, dir, _, _ string) {
			if err := mode(dir+"/.git", 0o555); err != nil {
				t.Error(err)
			}
		},
		"the checkout is closed": func(t *testing.T, dir, _, _ string) {
			if err := mode(dir, 0o555); err != nil {
				t.Error(err)
			}
		},
		"the name is a set-id file": func(t *testing.T, dir, _, _ string) {
			if err := os.RemoveAll(dir + "/.git/hooks"); err != nil {
				t.Error(err)
			}
			plant(t, dir, ".git/hooks: evil")
			if err := unix.Chmod(dir+"/.git/hooks", 0o2755); err != nil {
				t.Error(err)
			}
		},
		"the name is a FIFO": func(t *testing.T, dir, _, _ string) {
			if err := os.RemoveAll(dir + "/.git/hooks"); err != nil {
				t.Error(err)
			}
			if err := unix.Mkfifo(dir+"/.git/hooks", 0o600); err != nil {
				t.Error(err)
			}
		},
		"the name is a link out": func(t *testing.T, dir, out, _ string) {
			if err := os.RemoveAll(dir + "/.git/hooks"); err != nil {
				t.Error(err)
			}
			plant(t, dir, ".git/hooks -> "+out)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := checkout(t, ".git/HEAD: x", "src/a: x")
			out := filepath.Dir(dir) + "/outside"
			plant(t, filepath.Dir(dir), "outside/keep: x")
			t.Cleanup(func() { openAll(dir) })
			p, f := lookInside(t, dir, "")
			plan := newPlan(p, f, true)
			plant(t, dir, ".git/hooks/pre-commit: evil")
			worst(t, dir, out, filepath.Base(f.RunDir))
			before := treeOf(t, out)
			a := plan.After(f)
			if len(a.Protected) != 1 || a.Protected[0].Err != nil || a.Protected[0].Path != dir+"/.git/hooks" {
				t.Fatalf("after the run: %+v", a)
			}
			if diff := cmp.Diff(before, treeOf(t, out)); diff != "" {
				t.Errorf("outside (-before +after):\n%s", diff)
			}
			if _, err := os.Lstat(dir + "/.git/hooks"); err == nil {
				t.Error("the hooks are still there")
			}
			if got, err := os.Lstat(a.Protected[0].Moved); err != nil || filepath.Base(a.Protected[0].Moved) != "1-hooks" {
				t.Errorf("moved to %q: %v, %v", a.Protected[0].Moved, got, err)
			}
			if b, err := os.ReadFile(filepath.Dir(a.Protected[0].Moved) + "/.gitignore"); err != nil || string(b) != "*\n" {
				t.Errorf("the .gitignore: %q, %v", b, err)
			}
		})
	}
}

// openAll lets the test's own cleanup remove what a case has closed.
func openAll(dir string) {
	_ = os.Chmod(dir, 0o755)
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o755)
		}
		return nil
	})
}

// A link in place of a folder on the way leads host tools to a name that the run made.
func TestLinksOnTheWayToWatchedNames(t *testing.T) {
	dir := checkout(t, ".git/HEAD: x", ".git/info/exclude: x", "x: x")
	a := aftermath(t, dir, "", true, func() {
		plant(t, dir, "evil/attributes: x", "evil/git/config: x", ".config -> evil")
		if err := os.RemoveAll(dir + "/.git/info"); err != nil {
			t.Fatal(err)
		}
		plant(t, dir, ".git/info -> ../evil")
	})
	var got []string
	for _, c := range a.Protected {
		got = append(got, strings.TrimPrefix(c.Path, dir+"/"))
		if c.Err != nil || c.Moved == "" {
			t.Errorf("%+v", c)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, []string{".config", ".git/info"}) {
		t.Errorf("moved %q", got)
	}
	if _, err := os.Stat(dir + "/evil/attributes"); err != nil {
		t.Error("what the link led to is gone")
	}
}

// Names that no text has are watched and moved like others.
func TestQuarantineOfAnUnprintableFolder(t *testing.T) {
	dir := checkout(t, ".git/HEAD: x", "\xff\n/.git/HEAD: x")
	a := aftermath(t, dir, "", true, func() { plant(t, dir, "\xff\n/.git/hooks/x: evil") })
	if len(a.Protected) != 1 || a.Protected[0].Err != nil || !strings.HasPrefix(a.Protected[0].Moved, dir+"/"+quarantineDir) {
		t.Errorf("%+v", a)
	}
	if _, err := os.Lstat(dir + "/\xff\n/.git/hooks"); err == nil {
		t.Error("the hooks are still there")
	}
}

// A folder that the program closed is opened, and closed again: a host tool would still
// find a name in one that can only be searched.
func TestClosedFoldersHideNothing(t *testing.T) {
	needs.User(t)
	for _, mode := range []os.FileMode{0, 0o100, 0o300, 0o500, 0o600} {
		dir := checkout(t, ".git/HEAD: x", ".git/hooks/: x")
		closed := []string{dir + "/.git/info", dir + "/.git", dir}
		t.Cleanup(func() {
			_ = errors.Join(os.Chmod(dir, 0o700), os.Chmod(dir+"/.git", 0o700), os.Chmod(dir+"/.git/info", 0o700))
		})
		a := aftermath(t, dir, "", true, func() {
			plant(t, dir, ".envrc: evil", ".git/commondir: evil", ".git/info/attributes: evil", ".git/info/exclude: x")
			for _, path := range closed {
				if err := os.Chmod(path, mode); err != nil {
					t.Fatal(err)
				}
			}
		})
		if len(a.Protected) != 3 || len(a.Unread) != 0 {
			t.Errorf("%o: %q", mode, listAfter(a, dir, ""))
		}
		for i := len(closed) - 1; i >= 0; i-- {
			st, err := os.Stat(closed[i])
			if err != nil || st.Mode().Perm() != mode {
				t.Errorf("%o: %s is %v, %v", mode, closed[i], st, err)
			}
			if err := os.Chmod(closed[i], 0o700); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{".envrc", ".git/commondir", ".git/info/attributes"} {
			if _, err := os.Lstat(dir + "/" + name); err == nil {
				t.Errorf("%o: %s is still there", mode, name)
			}
		}
	}
}

// The folder of the checkout may have been moved or replaced: what is held counts.
func TestQuarantineFollowsTheHeldRoot(t *testing.T) {
	dir := checkout(t, ".git/HEAD: x")
	a := aftermath(t, dir, "", true, func() {
		plant(t, dir, ".envrc: evil")
		if err := os.Rename(dir, dir+"-moved"); err != nil {
			t.Fatal(err)
		}
		plant(t, filepath.Dir(dir), "co/.envrc: another")
	})
	if len(a.Protected) != 1 || a.Protected[0].Err != nil {
		t.Fatalf("%+v", a)
	}
	if b, err := os.ReadFile(dir + "/.envrc"); err != nil || string(b) != "another" {
		t.Errorf("the other folder was touched: %q, %v", b, err)
	}
	if _, err := os.Lstat(dir + "-moved/.envrc"); err == nil {
		t.Error("it is still in the checkout")
	}
}
