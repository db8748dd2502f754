package launcher

import (
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/namescan"
)

// esc/TH-01: an earlier run may fill a git directory until a look at it ends before what
// matters; that is found nevertheless.
func TestAFilledGitDirectoryHidesNothing(t *testing.T) {
	dir := checkout(t, ".git/hooks/pre-commit: x", ".git/config: x")
	fd, err := unix.Open(dir+"/.git", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	kinds := kindsOf(fd, &namescan.Result{Partial: true})
	if len(kinds) != 2 || kinds["hooks"] != namescan.Folder || !has(kinds, "config") {
		t.Errorf("found %v", kinds)
	}
	if kinds = kindsOf(fd, &namescan.Result{}); len(kinds) != 0 { // positive control
		t.Errorf("not what was read: %v", kinds)
	}
}

// The search for submodules has an end, and says so.
func TestManyModules(t *testing.T) {
	dir := checkout(t, ".git/HEAD: x", ".git/config: x", ".git/modules/m/HEAD: x")
	list, stopped := modulesBelow(dir + "/.git/modules")
	if !slices.Equal(list, []string{dir + "/.git/modules/m"}) || stopped != "" {
		t.Errorf("found %q, stopped in %q", list, stopped)
	}
	fill := func() {
		for i := range maxModuleNames {
			if err := os.Mkdir(dir+"/.git/modules/"+itoa(i), 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	a := aftermath(t, dir, "", true, fill)
	if !slices.Contains(a.Unread, dir+"/.git/modules") {
		t.Errorf("unread %q", a.Unread)
	}
	p, f := lookInside(t, dir, "")
	plan := newPlan(p, f, true)
	open := slices.ContainsFunc(plan.Clauses, func(c Clause) bool {
		return c.Name == "protect" && c.State == StateOpen && slices.ContainsFunc(c.Entries, func(e Entry) bool {
			return strings.Contains(e.Note, "it ended in")
		})
	})
	if !open {
		t.Error("the next run is said to protect what it has not looked at")
	}
}
