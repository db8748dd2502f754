package namescan

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// Folders that are exchanged for links while the tree is read lead nowhere.
func TestScanFollowsNoLinkThatAppears(t *testing.T) {
	top, out := t.TempDir(), t.TempDir()
	build(t, out, "secret/.git/HEAD", "secret/s =")
	build(t, top, "a/b/secret/x", "a/c/f")
	if err := os.Symlink(out, top+"/evil"); err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !stop.Load() {
			for _, step := range [][2]string{{"a/b", "kept"}, {"evil", "a/b"}, {"a/b", "evil"}, {"kept", "a/b"}} {
				_ = os.Rename(filepath.Join(top, step[0]), filepath.Join(top, step[1]))
			}
		}
	}()
	rounds := 3000
	if testing.Short() {
		rounds = 200
	}
	for range rounds {
		got := scan(t, top, Options{})
		if len(got.Git) != 0 || len(got.Sockets) != 0 {
			t.Errorf("found outside: %+v", got)
			break
		}
	}
	stop.Store(true)
	<-done
	if got := scan(t, out, Options{}); len(got.Git) != 1 || !strings.HasPrefix(got.Git[0].Path, "secret/") {
		t.Errorf("positive control: %+v", got)
	}
}

// What a file system does not say is looked at.
func TestScanLooksAtEntriesWithoutAType(t *testing.T) {
	top := t.TempDir()
	build(t, top, "folder/.git/HEAD", "s =", "file", "l -> file")
	s := &scanner{opts: Options{Max: DefaultMax}}
	fd := open(t, top)
	for name, want := range map[string]Kind{"folder": Folder, "s": Socket, "file": File, "l": Link, "gone": Other} {
		if got := kindOf(s.look(fd, name)); got != want {
			t.Errorf("%s is a %s, want %s", name, got, want)
		}
	}
	s.entry(fd, "", []byte("folder"), 0, nil)
	s.entry(fd, "", []byte("s"), 0, nil)
	if len(s.queue) != 1 || len(s.res.Sockets) != 1 {
		t.Errorf("queue %v, sockets %v", s.queue, s.res.Sockets)
	}
}
