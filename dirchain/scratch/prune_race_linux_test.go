package scratch

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"brainbox/internal/needs"

	"golang.org/x/sys/unix"
)

// TestPruneMeets interferes at a named point.
func TestPruneMeets(t *testing.T) {
	tests := []struct {
		name        string
		files       []string
		point, path string
		do          func(area, outside string) error
		report      string
		left        string
		bytes       int64
	}{
		{
			name:  "an entry that is gone meanwhile is neither removed nor failed",
			files: []string{"a:200:1", "b:200:2", "c:1:4"},
			point: "remove", path: "a", do: func(area, _ string) error { return os.Remove(area + "/a") },
			report: "b:age", left: "c", bytes: 4,
		},
		{
			name: "an entry that is gone before it is met", files: []string{"a:200:1", "b:200:2", "c:1:4"},
			point: "visit", path: "a", do: func(area, _ string) error { return os.Remove(area + "/b") },
			report: "a:age", left: "c", bytes: 4,
		},
		{
			name: "a file that is written meanwhile stays", files: []string{"a:200:1", "b:200:2"},
			point: "visit", path: "a", do: func(area, _ string) error { return os.WriteFile(area+"/b", []byte("new"), 0o644) },
			report: "a:age b!changed", left: "b", bytes: 2,
		},
		{
			name: "a file that is exchanged right before stays", files: []string{"a:200:1", "b:1:2"},
			point: "remove", path: "a", do: func(area, _ string) error { return os.Rename(area+"/b", area+"/a") },
			report: "a!changed", left: "a", bytes: 3,
		},
		{
			name: "a file becomes a link", files: []string{"a:200:1"}, point: "remove", path: "a",
			do: func(area, outside string) error {
				return errors.Join(os.Remove(area+"/a"), os.Symlink(outside+"/f", area+"/a"))
			},
			report: "a!changed", left: "a", bytes: 1,
		},
		{
			name: "esc/DC-11 a directory becomes a link", files: []string{"a:200:1", "d/f:200:2"}, point: "visit", path: "a",
			do: func(area, outside string) error {
				return errors.Join(os.Rename(area+"/d", area+"/e"), os.Symlink(outside, area+"/d"))
			},
			report: "a:age d!changed", left: "d e e/f", bytes: 2,
		},
		{
			name:  "esc/DC-11 a directory becomes a link after it was entered",
			files: []string{"d/f:200:2"}, point: "visit", path: "d/f",
			do: func(area, outside string) error {
				return errors.Join(os.Rename(area+"/d", area+"/e"), os.Symlink(outside, area+"/d"))
			},
			report: "d!changed d/f!changed", left: "d e e/f", bytes: 2,
		},
		{
			name:  "a failure frees nothing: the next oldest goes for it",
			files: []string{"a:9:40", "b:8:40", "c:7:40", "d:6:40"}, point: "remove", path: "a",
			do: func(area, outside string) error {
				return errors.Join(os.WriteFile(outside+"/a", nil, 0o644), os.Rename(outside+"/a", area+"/a"))
			},
			report: "a!changed b:size c:size", left: "a d", bytes: 80,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, area := pruned(t, tt.files...)
			outside := filepath.Dir(filepath.Dir(filepath.Dir(area))) + "/outside"
			write(t, outside+"/f", "x")
			old(t, outside+"/f", 1000*time.Hour)
			done := false
			a.hook = func(point, path string) {
				if point == tt.point && path == Location+"/"+tt.path && !done {
					if done = true; tt.do(area, outside) != nil {
						panic("the race could not be made")
					}
				}
			}
			rep := prune(t, a)
			if got := outcome(rep); got != tt.report || rep.Bytes != tt.bytes {
				t.Errorf("report: %s, %d bytes left, want %s, %d", got, rep.Bytes, tt.report, tt.bytes)
			}
			if got := list(t, area); got != tt.left {
				t.Errorf("left: %s, want %s", got, tt.left)
			}
			if got := list(t, outside); got != "f" {
				t.Errorf("outside: %s", got)
			}
			if _, err := a.Clean(t.Context()); err != nil || list(t, area)+list(t, outside) != "f" { // control
				t.Errorf("Clean: %v, left %s", err, list(t, area))
			}
		})
	}
}

// immutable is FS_IMMUTABLE_FL of ioctl_iflags(2).
const immutable = 0x10

func TestPruneImmutable(t *testing.T) {
	needs.Root(t)
	a, area := pruned(t, "aged:200:1", "m:9:40", "n:8:40", "o:7:40", "p:6:40")
	f, err := os.Open(area + "/m")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err = unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, immutable); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, 0) }()
	rep := prune(t, a)
	if got := outcome(rep); got != "aged:age m!EPERM n:size o:size" || rep.Bytes != 80 || rep.Files != 2 {
		t.Errorf("report: %s, %+v", got, rep)
	}
	if got := list(t, area); got != "m p" {
		t.Errorf("left: %s", got)
	}
}

func TestPruneReadOnlyDirectory(t *testing.T) {
	needs.User(t)
	a, area := pruned(t, "d/m:9:40", "n:8:40", "o:7:40", "p:6:40", "closed/f:9:1")
	defer func() { _ = errors.Join(os.Chmod(area+"/d", 0o755), os.Chmod(area+"/closed", 0o755)) }()
	if err := errors.Join(os.Chmod(area+"/d", 0o555), os.Chmod(area+"/closed", 0)); err != nil {
		t.Fatal(err)
	}
	rep := prune(t, a)
	if got := outcome(rep); got != "closed!EACCES d/m!EACCES n:size o:size" || rep.Bytes != 80 || rep.Files != 2 {
		t.Errorf("report: %s, %+v", got, rep)
	}
}

func TestPruneMounts(t *testing.T) {
	if !needs.InMounts(t) {
		return
	}
	a, area := pruned(t, "a:200:1", "d/here/f:200:1")
	outside := filepath.Dir(filepath.Dir(filepath.Dir(area))) + "/outside"
	write(t, outside+"/f", "x")
	if err := unix.Mount(outside, area+"/d/here", "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	rep, err := a.Clean(t.Context())
	if got := outcome(rep); err != nil || got != "a:clean d/here!mount" {
		t.Errorf("Clean: %s, %v", got, err)
	}
	if got := list(t, outside); got != "f" { // esc/DC-09
		t.Errorf("mounted: %s", got)
	}
	if err = unix.Unmount(area+"/d/here", unix.MNT_DETACH); err != nil {
		t.Fatal(err)
	}
	if rep, err = a.Clean(t.Context()); err != nil || outcome(rep) != "d/here/f:clean" {
		t.Errorf("Clean: %s, %v", outcome(rep), err)
	}
}

// TestCleanRace: esc/DC-04 esc/DC-11, a directory changes places with a link to outside
// all the time.
func TestCleanRace(t *testing.T) {
	rounds := 2000
	if testing.Short() {
		rounds = 100
	}
	a, area := pruned(t)
	outside := filepath.Dir(filepath.Dir(filepath.Dir(area))) + "/outside"
	for _, name := range []string{"f", "g", "e/f"} {
		write(t, outside+"/"+name, "x")
	}
	var stop atomic.Bool
	var others sync.WaitGroup
	others.Go(func() {
		for !stop.Load() {
			_ = unix.Renameat2(unix.AT_FDCWD, area+"/d", unix.AT_FDCWD, area+"/l", unix.RENAME_EXCHANGE)
		}
	})
	removed := 0
	for range rounds {
		_ = os.MkdirAll(area+"/d/e", 0o755)
		_ = os.Symlink(outside, area+"/l")
		for _, name := range []string{"/d/f", "/l/f", "/d/e/f"} {
			if fd, err := unix.Open(area+name, unix.O_WRONLY|unix.O_CREAT|unix.O_CLOEXEC, 0o644); err == nil {
				_ = unix.Close(fd)
			}
		}
		rep, err := a.Clean(t.Context())
		if err != nil {
			t.Error(err)
		}
		removed += len(rep.Removed)
	}
	stop.Store(true)
	others.Wait()
	if got := list(t, outside); got != "e e/f f g" || removed == 0 {
		t.Errorf("outside: %s, %d removed", got, removed)
	}
}
