package turntemp

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"brainbox/dirchain"
	"brainbox/internal/needs"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestFewEntries(t *testing.T) {
	a, sink, dir := access(t)
	for i := range 25 {
		plant(t, dir, fmt.Sprintf("d%d/f", i%5), fmt.Sprintf("f%02d", i))
	}
	a.limits.Entries = 10
	u, err := a.Usage(t.Context(), turn)
	if err != nil || !u.Truncated || u.Files+u.Directories != 10 {
		t.Errorf("bk/TT11 usage: %+v, %v", u, err)
	}
	for calls := 0; ; calls++ {
		rec := purge(t, a)
		if got := sink.last(t); got.Truncated != rec.Truncated || got.Outcome != Done {
			t.Fatalf("bk/TT11 record: %+v", got)
		}
		if !rec.Truncated {
			break
		}
		if n := rec.Removed; calls > 10 || n.Files+n.Directories == 0 {
			t.Fatalf("bk/TT11 call %d comes no further: %+v", calls, rec)
		}
	}
	wantTree(t, dir)
}

func TestManyEntries(t *testing.T) {
	if testing.Short() {
		t.Skip("100 001 files") // gating: -short
	}
	a, _, dir := access(t)
	f := openFile(t, dir)
	for i := range MaxEntries + 1 {
		if err := unix.Mknodat(int(f.Fd()), fmt.Sprintf("%06d", i), unix.S_IFREG|0o644, 0); err != nil {
			t.Fatal(err)
		}
	}
	start := time.Now()
	u, err := a.Usage(t.Context(), turn)
	if err != nil || !u.Truncated {
		t.Errorf("bk/TT11 usage: %+v, %v", u, err)
	}
	rec := purge(t, a)
	if took := time.Since(start); !rec.Truncated || rec.Removed.Files == 0 || took > time.Minute {
		t.Errorf("bk/TT11 after %v: %+v", took, rec)
	}
	if left := len(tree(t, dir)); left != MaxEntries+1-rec.Removed.Files || left == 0 {
		t.Errorf("bk/TT11 %d left, %d removed", left, rec.Removed.Files)
	}
}

func TestDepth(t *testing.T) {
	a, _, dir := access(t, strings.Repeat("d/", 100)+"deep", "f")
	u, err := a.Usage(t.Context(), turn)
	if err != nil || !u.Truncated || u.Directories != MaxDepth || u.Files != 1 {
		t.Errorf("usage: %+v, %v", u, err)
	}
	rec := purge(t, a)
	if !rec.Truncated || rec.Removed.Files != 1 || rec.Removed.Directories != 0 || rec.Failed+rec.Skipped != 0 {
		t.Errorf("record: %+v", rec)
	}
	if _, err := os.Lstat(dir + "/" + strings.Repeat("d/", 100) + "deep"); err != nil {
		t.Error(err)
	}
}

func TestTime(t *testing.T) {
	a, sink, dir := access(t, "a", "b")
	a.limits.Time = time.Nanosecond
	rec := purge(t, a)
	if !rec.Truncated || rec.Outcome != Done || rec.Removed != (Counts{}) || !sink.last(t).Truncated {
		t.Errorf("record: %+v", rec)
	}
	wantTree(t, dir, "a", "b")
}

func TestMounts(t *testing.T) {
	if !needs.InMounts(t) {
		return
	}
	a, sink, dir := access(t, "f", "d/here/", "file", "z")
	outside := dir + "-outside"
	plant(t, outside, "canary", "d/canary")
	if err := errors.Join(
		unix.Mount(outside, dir+"/d/here", "", unix.MS_BIND, ""),
		unix.Mount(outside+"/canary", dir+"/file", "", unix.MS_BIND, ""),
	); err != nil {
		t.Fatal(err)
	}
	u, err := a.Usage(t.Context(), turn)
	if err != nil || u.Directories != 2 || u.Files != 2 || u.Unread != 2 {
		t.Errorf("bk/TT10 usage: %+v, %v", u, err)
	}
	purge(t, a)
	want := []Named{{Path: "d/here", Skipped: Mount}, {Path: "file", Skipped: Mount}}
	if got := sink.last(t); !cmp.Equal(got.Named, want) || got.Removed.Files != 2 || got.Failed != 0 {
		t.Errorf("bk/TT10 esc/DC-09 record: %+v", got)
	}
	wantTree(t, outside, "canary", "d", "d/canary")
	if err := errors.Join(
		unix.Unmount(dir+"/d/here", unix.MNT_DETACH), unix.Unmount(dir+"/file", unix.MNT_DETACH),
	); err != nil {
		t.Fatal(err)
	}
	purge(t, a) // positive control
	wantTree(t, dir)
	wantTree(t, outside, "canary", "d", "d/canary")
}

// TestSumsDoNotOverflow: on tmpfs, which a worker has, a sparse file may be as large
// as a number of 64 bits says.
func TestSumsDoNotOverflow(t *testing.T) {
	if !needs.InMounts(t) {
		return
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Unmount(dir, unix.MNT_DETACH) }()
	plant(t, dir, "a", "b", "c")
	if err := errors.Join(os.Truncate(dir+"/a", math.MaxInt64), os.Truncate(dir+"/b", math.MaxInt64)); err != nil {
		t.Fatal(err)
	}
	a, err := New(openFile(t, dir), Config{Turn: turn, Sink: &ledger{}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if u, err := a.Usage(t.Context(), turn); err != nil || u.Files != 3 || u.Bytes != math.MaxInt64 || u.BlockBytes < 1 {
		t.Errorf("usage: %+v, %v", u, err)
	}
	if rec := purge(t, a); rec.Removed.Files != 3 || rec.Removed.Bytes != math.MaxInt64 || rec.Removed.BlockBytes < 1 {
		t.Errorf("record: %+v", rec)
	}
	wantTree(t, dir)
}

// TestAnyTime: on tmpfs a modification time may be any number of seconds.
func TestAnyTime(t *testing.T) {
	if !needs.InMounts(t) {
		return
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Unmount(dir, unix.MNT_DETACH) }()
	a, err := New(openFile(t, dir), Config{Turn: turn, Sink: &ledger{}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for seconds, want := range map[int64]string{
		math.MaxInt64: "9999-12-31T23:59:59Z", 1 << 40: "9999-12-31T23:59:59Z",
		-1 << 40: "0001-01-01T00:00:01Z", math.MinInt64: "0001-01-01T00:00:01Z", -1: "1969-12-31T23:59:59Z",
	} {
		plant(t, dir, "f")
		at := []unix.Timespec{{Sec: seconds}, {Sec: seconds}}
		if err := unix.UtimesNanoAt(unix.AT_FDCWD, dir+"/f", at, 0); err != nil {
			t.Fatal(err)
		}
		u, err := a.Usage(t.Context(), turn)
		if v := u.Value(); err != nil || v.Get("oldest_mtime").Text != want {
			t.Errorf("%d: usage: %+v, %v, want %s", seconds, u, err, want)
		}
		rec, err := a.Purge(t.Context(), turn, Purge{OlderThan: time.Hour})
		if err != nil || (rec.Removed.Files == 1) != (seconds < 0) {
			t.Errorf("%d: record: %+v, %v", seconds, rec, err)
		}
	}
}

// TestUnknownFilesystem: where names and numbers do not identify a file, nothing is
// removed and the refusal is recorded as one.
func TestUnknownFilesystem(t *testing.T) {
	if !needs.InMounts(t) {
		return
	}
	dir := t.TempDir()
	if err := unix.Mount("ramfs", dir, "ramfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Unmount(dir, unix.MNT_DETACH) }()
	plant(t, dir, "a")
	sink := &ledger{}
	a, err := New(openFile(t, dir), Config{Turn: turn, Sink: sink})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	rec, err := a.Purge(t.Context(), turn, Purge{All: true})
	if !errors.Is(err, dirchain.ErrFilesystem) || rec.Outcome != RefusedPlace || sink.last(t).Outcome != RefusedPlace {
		t.Errorf("Purge = %+v, %v", rec, err)
	}
	wantTree(t, dir, "a")
	if u, err := a.Usage(t.Context(), turn); err != nil || u.Files != 1 {
		t.Errorf("usage: %+v, %v", u, err)
	}
}

// immutable is FS_IMMUTABLE_FL of ioctl_iflags(2).
const immutable = 0x10

func TestImmutableFile(t *testing.T) {
	needs.Root(t)
	a, sink, dir := access(t, "a", "m", "z")
	f := openFile(t, dir+"/m")
	if err := unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, immutable); err != nil {
		t.Fatal(err)
	}
	thaw := func() error { return unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, 0) }
	defer func() { _ = thaw() }()
	purge(t, a)
	want := []Named{{Path: "m", Failed: "EPERM"}}
	if got := sink.last(t); !cmp.Equal(got.Named, want) || got.Failed != 1 || got.Removed.Files != 2 {
		t.Errorf("bk/TT12 record: %+v", got)
	}
	wantTree(t, dir, "m")
	if err := thaw(); err != nil {
		t.Fatal(err)
	}
	purge(t, a)
	wantTree(t, dir)
}

func TestReadOnlyDirectory(t *testing.T) {
	needs.User(t)
	a, sink, dir := access(t, "a", "closed/f", "d/f", "locked/f", "z")
	thaw := func() error { return errors.Join(os.Chmod(dir+"/d", 0o755), os.Chmod(dir+"/closed", 0o755)) }
	defer func() { _ = thaw() }()
	if err := errors.Join(os.Chmod(dir+"/d", 0o555), os.Chmod(dir+"/closed", 0)); err != nil {
		t.Fatal(err)
	}
	u, err := a.Usage(t.Context(), turn)
	if err != nil || u.Unread != 1 || u.Files != 4 {
		t.Errorf("bk/TT12 usage: %+v, %v", u, err)
	}
	purge(t, a)
	want := []Named{{Path: "closed", Failed: "EACCES"}, {Path: "d/f", Failed: "EACCES"}}
	if got := sink.last(t); !cmp.Equal(got.Named, want) || got.Failed != 2 || got.Removed.Files != 3 {
		t.Errorf("bk/TT12 record: %+v", got)
	}
	if err := thaw(); err != nil {
		t.Fatal(err)
	}
	wantTree(t, dir, "closed", "closed/f", "d", "d/f")
	purge(t, a)
	wantTree(t, dir)
}
