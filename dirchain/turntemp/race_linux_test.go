package turntemp

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// once interferes at the first visit of a point.
func once(a *Access, point, path string, do func() error) {
	done := false
	a.hook = func(at, name string) {
		if at == point && name == path && !done {
			if done = true; do() != nil {
				panic("the race could not be made")
			}
		}
	}
}

// TestExchangedEntries exchanges what a name means at a named point. What is outside
// must stay, and so must what was put there.
func TestExchangedEntries(t *testing.T) {
	tests := []struct {
		name        string
		tree        []string
		point, path string
		exchange    func(dir, outside string) error
		want        []string
		named       []Named
	}{
		{
			name: "bk/TT6 esc/DC-11 a directory becomes a link before it is entered",
			tree: []string{"a", "d/f", "z"}, point: "visit", path: "a",
			exchange: func(dir, outside string) error {
				return errors.Join(os.Rename(dir+"/d", dir+"/e"), os.Symlink(outside, dir+"/d"))
			},
			want:  []string{"d", "e", "e/f"},
			named: []Named{{Path: "d", Skipped: Changed}},
		},
		{
			name: "bk/TT6 a directory becomes a link after it was entered",
			tree: []string{"a", "d/f", "d/g", "z"}, point: "visit", path: "d",
			exchange: func(dir, outside string) error {
				return errors.Join(os.Rename(dir+"/d", dir+"/e"), os.Symlink(outside, dir+"/d"))
			},
			want: []string{"d", "e", "e/f", "e/g"},
			named: []Named{
				{Path: "d/f", Skipped: Changed},
				{Path: "d/g", Skipped: Changed},
				{Path: "d", Skipped: Changed},
			},
		},
		{
			name: "bk/TT6 a directory becomes a link between two of its files",
			tree: []string{"d/f", "d/g"}, point: "visit", path: "d/g",
			exchange: func(dir, outside string) error {
				return errors.Join(os.Rename(dir+"/d", dir+"/e"), os.Symlink(outside, dir+"/d"))
			},
			want:  []string{"d", "e", "e/g"},
			named: []Named{{Path: "d/g", Skipped: Changed}, {Path: "d", Skipped: Changed}},
		},
		{
			name: "a file becomes another right before its name is removed",
			tree: []string{"f", "other"}, point: "remove", path: "f",
			exchange: func(dir, _ string) error { return os.Rename(dir+"/other", dir+"/f") },
			want:     []string{"f"},
			named:    []Named{{Path: "f", Skipped: Changed}},
		},
		{
			name: "a file becomes a link right before its name is removed",
			tree: []string{"f"}, point: "remove", path: "f",
			exchange: func(dir, outside string) error {
				return errors.Join(os.Rename(dir+"/f", dir+"/g"), os.Symlink(outside+"/f", dir+"/f"))
			},
			want:  []string{"f", "g"},
			named: []Named{{Path: "f", Skipped: Changed}},
		},
		{
			name: "a file becomes an empty directory before it is looked at",
			tree: []string{"f"}, point: "visit", path: "f",
			exchange: func(dir, _ string) error { return errors.Join(os.Remove(dir+"/f"), os.Mkdir(dir+"/f", 0o755)) },
			want:     []string{"f"},
			named:    []Named{{Path: "f", Skipped: Changed}},
		},
		{
			name: "an entry that is gone is nothing to tell",
			tree: []string{"f", "g"}, point: "remove", path: "f",
			exchange: func(dir, _ string) error { return os.Remove(dir + "/f") },
			want:     []string{},
		},
		{
			name: "what is put into a directory meanwhile keeps it",
			tree: []string{"d/f"}, point: "remove", path: "d",
			exchange: func(dir, _ string) error { return os.WriteFile(dir+"/d/new", nil, 0o644) },
			want:     []string{"d", "d/new"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, sink, dir := access(t, tt.tree...)
			outside := filepath.Dir(dir) + "/outside"
			plant(t, outside, "f", "g")
			once(a, tt.point, tt.path, func() error { return tt.exchange(dir, outside) })
			purge(t, a)
			wantTree(t, dir, tt.want...)
			wantTree(t, outside, "f", "g")
			if diff := cmp.Diff(tt.named, sink.last(t).Named); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
			purge(t, a) // positive control: undisturbed, everything goes
			wantTree(t, dir)
			wantTree(t, outside, "f", "g")
		})
	}
}

func TestRenamedDirectory(t *testing.T) {
	a, sink, dir := access(t, "mine", "d/mine")
	outside := filepath.Dir(dir) + "/outside"
	moved := filepath.Dir(dir) + "/moved"
	plant(t, outside, "mine", "d/mine")
	if err := errors.Join(os.Rename(dir, moved), os.Symlink(outside, dir)); err != nil {
		t.Fatal(err)
	}
	u, err := a.Usage(t.Context(), turn)
	if err != nil || u.Files != 2 {
		t.Errorf("bk/TT7 usage: %+v, %v", u, err)
	}
	purge(t, a) // bk/TT7 esc/DC-19
	wantTree(t, moved)
	wantTree(t, outside, "d", "d/mine", "mine")
	if got := sink.last(t); got.Removed.Files != 2 || got.Skipped+got.Failed != 0 {
		t.Errorf("bk/TT7 record: %+v", got)
	}
	if err = os.Remove(moved); err != nil {
		t.Fatal(err)
	}
	if got := purge(t, a); got.Removed != (Counts{}) {
		t.Errorf("of a directory that was removed: %+v", got)
	}
	wantTree(t, outside, "d", "d/mine", "mine")
}

func TestOpenFollowsNoLink(t *testing.T) {
	_, _, dir := access(t, "run/scratch/f", "victim/f", "way->run", "run/link->../victim")
	view := openFile(t, dir)
	cfg := Config{Turn: turn, Sink: &ledger{}}
	for _, path := range []string{"", "/run", "run/../victim", "way/scratch", "run/link", "run/scratch/f", "none", "."} {
		if a, err := Open(view, path, cfg); err == nil {
			t.Errorf("Open(%q) succeeded", path)
			_ = a.Close()
		}
	}
	for _, id := range []string{"", "a\n", "ä", `a\b`, string(make([]byte, 129))} {
		if _, err := Open(view, "run/scratch", Config{Turn: id}); err == nil {
			t.Errorf("turn id %q is accepted", id)
		}
	}
	a, err := Open(view, "run/scratch", cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err = view.Close(); err != nil {
		t.Fatal(err)
	}
	purge(t, a)
	wantTree(t, dir, "run", "run/link", "run/scratch", "victim", "victim/f", "way")
	if a.Turn() != turn || LockKey(a.Turn()) != "turn-temp:t-1" {
		t.Errorf("turn %q, lock %q", a.Turn(), LockKey(a.Turn()))
	}
}
