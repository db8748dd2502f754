package scratch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"brainbox/dirchain"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// pruned is an area with the given files, "name:age in hours:size", and its path.
func pruned(t *testing.T, files ...string) (*Area, string) {
	t.Helper()
	top := t.TempDir()
	root := top + "/root"
	mkdir(t, root+"/"+Location)
	r, err := dirchain.OpenRoot(root, dirchain.Options{SkipSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	a := New(r, Options{Cap: 100})
	for _, f := range files {
		part := strings.Split(f, ":")
		age, err := time.ParseDuration(part[1] + "h")
		if err != nil {
			t.Fatal(err)
		}
		size, err := time.ParseDuration(part[2] + "ns")
		if err != nil {
			t.Fatal(err)
		}
		name := root + "/" + Location + "/" + part[0]
		write(t, name, strings.Repeat("x", int(size)))
		old(t, name, age)
	}
	return a, root + "/" + Location
}

func old(t *testing.T, name string, age time.Duration) {
	t.Helper()
	tv := unix.NsecToTimeval(time.Now().Add(-age).UnixNano())
	if err := unix.Lutimes(name, []unix.Timeval{tv, tv}); err != nil {
		t.Fatal(err)
	}
}

// outcome shows a report: removed "path:bytes:reason", failed "path!reason".
func outcome(rep Report) string {
	var all []string
	for _, r := range rep.Removed {
		all = append(all, strings.TrimPrefix(r.Path, Location+"/")+":"+string(r.Reason))
	}
	for _, f := range rep.Failed {
		all = append(all, strings.TrimPrefix(f.Path, Location+"/")+"!"+f.Reason)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func prune(t *testing.T, a *Area) Report {
	t.Helper()
	rep, err := a.Prune(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

const week = 7 * 24

func TestPrune(t *testing.T) {
	a, area := pruned(t, "aged:169:1", "young:1:10", "d/aged:200:5", "d/e/large:5:60", "d/e/older:6:30")
	outside := filepath.Dir(filepath.Dir(filepath.Dir(area))) + "/outside"
	write(t, outside+"/f", "x")
	old(t, outside+"/f", 1000*time.Hour)
	for name, target := range map[string]string{
		"oldlink": "../../../outside/f", "newlink": "../../../outside", "d/loop": ".",
	} {
		if err := os.Symlink(target, area+"/"+name); err != nil {
			t.Fatal(err)
		}
	}
	old(t, area+"/oldlink", 1000*time.Hour)
	mkdir(t, area+"/empty/in/empty")
	rep := prune(t, a)
	if got := outcome(rep); got != "aged:age d/aged:age d/e/older:size oldlink:age" {
		t.Errorf("report: %s", got)
	}
	if got := list(t, area); got != "d d/e d/e/large d/loop newlink young" {
		t.Errorf("left: %s", got)
	}
	if rep.Bytes != 10+60+16+1 || rep.Files != 4 || rep.Directories != 3 || rep.Truncated {
		t.Errorf("remaining: %+v", rep)
	}
	want := Removed{Path: Location + "/d/aged", Bytes: 5, Reason: Age}
	if !slices.Contains(rep.Removed, want) {
		t.Errorf("removed: %+v, want %+v in it", rep.Removed, want)
	}
	if got := list(t, outside); got != "f" {
		t.Errorf("outside: %s", got)
	}
	rep, err := a.Clean(t.Context())
	cleaned := "d/e/large:clean d/loop:clean newlink:clean young:clean"
	if err != nil || outcome(rep) != cleaned || rep.Bytes != 0 || rep.Files != 0 {
		t.Errorf("Clean = %+v, %v", rep, err)
	}
	if got := list(t, filepath.Dir(area)); got != "scratch" { // never the area itself
		t.Errorf("left: %s", got)
	}
	if got := list(t, outside); got != "f" {
		t.Errorf("outside: %s", got)
	}
	if rep = prune(t, a); !cmp.Equal(rep, Report{}) {
		t.Errorf("of an empty area: %+v", rep)
	}
}

func TestPruneWithoutArea(t *testing.T) {
	a, area := pruned(t)
	if err := os.Remove(area); err != nil {
		t.Fatal(err)
	}
	if rep := prune(t, a); !cmp.Equal(rep, Report{}) {
		t.Errorf("report: %+v", rep)
	}
	outside := filepath.Dir(filepath.Dir(filepath.Dir(area))) + "/outside"
	write(t, outside+"/scratch/f", "x")
	old(t, outside+"/scratch/f", 1000*time.Hour)
	for _, link := range []string{area, filepath.Dir(area)} {
		_ = os.Remove(link)
		target := outside
		if link == area {
			target += "/scratch"
		}
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		for name, do := range map[string]func() error{
			"prune": func() error { _, err := a.Prune(t.Context()); return err },
			"clean": func() error { _, err := a.Clean(t.Context()); return err },
		} {
			if err := do(); !errors.Is(err, ErrNotGenuine) {
				t.Errorf("%s through the link %s: %v", name, link, err)
			}
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
	if got := list(t, outside); got != "scratch scratch/f" {
		t.Errorf("outside: %s", got)
	}
}

func TestPruneSpecialFiles(t *testing.T) {
	a, area := pruned(t)
	if err := errors.Join(unix.Mkfifo(area+"/fifo", 0o644), os.WriteFile(area+"/f\n\xff", nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	old(t, area+"/fifo", (week+1)*time.Hour)
	if got := outcome(prune(t, a)); got != "fifo:age" {
		t.Errorf("report: %s", got)
	}
	if rep, err := a.Clean(t.Context()); err != nil || outcome(rep) != "f\n\xff:clean" {
		t.Errorf("Clean: %q, %v", outcome(rep), err)
	}
}

func TestPruneRefusesClosedRoot(t *testing.T) {
	a, _ := pruned(t, "a:200:1")
	if err := a.root.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Prune(t.Context()); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Prune: %v", err)
	}
}

// TestPruneFuture: a modification time that was set to the future keeps no file, and
// costs none that is younger its place.
func TestPruneFuture(t *testing.T) {
	a, area := pruned(t, "future:-1000:90", "past:9:5")
	write(t, area+"/new", strings.Repeat("x", 90))
	st, err := os.Stat(area + "/new")
	if err != nil {
		t.Fatal(err)
	}
	if got := outcome(prune(t, a)); got != "future:size past:size" {
		t.Errorf("report: %s", got)
	}
	write(t, area+"/again", "x")
	old(t, area+"/again", -1000*time.Hour)
	a.now = func() time.Time { return st.ModTime().Add(DefaultTTL + time.Hour) }
	if got := outcome(prune(t, a)); got != "again:age new:age" {
		t.Errorf("a week later: %s", got)
	}
}
