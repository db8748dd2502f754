package procfs

import (
	"os"
	"os/exec"
	"slices"
	"testing"
)

func TestParseStat(t *testing.T) {
	got, ok := ParseStat([]byte("12 (a) b) c) S 1 12 13 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 987 1 1"))
	if want := (Stat{State: 'S', Parent: 1, Group: 12, Session: 13, Begun: 987}); !ok || got != want {
		t.Errorf("%+v, %v; want %+v", got, ok, want)
	}
	for _, bad := range []string{"", ")", "12 (a) S 1 12 13", "12 (a) S x 12 13 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 987 1 1"} {
		if got, ok := ParseStat([]byte(bad)); ok {
			t.Errorf("%q: %+v", bad, got)
		}
	}
}

// Both ways to find the children of a process find the same.
func TestChildren(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	for name, list := range map[string]func(int) []int{"task": Children, "parent": ChildrenByParent} {
		if got := list(os.Getpid()); !slices.Contains(got, pid) {
			t.Errorf("%s: %v, without %d", name, got, pid)
		}
		if got := list(pid); len(got) != 0 {
			t.Errorf("%s: %v, want none", name, got)
		}
	}
	if s, ok := ReadStat(pid); !ok || s.Parent != os.Getpid() || s.Begun == 0 {
		t.Errorf("%+v, %v", s, ok)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if s, ok := ReadStat(pid); ok {
		t.Errorf("a process that has gone: %+v", s)
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("12 (a) b) c) S 1 12 12 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 987 1 1"))
	f.Add([]byte(")"))
	f.Fuzz(func(_ *testing.T, text []byte) { _, _ = ParseStat(text) })
}
