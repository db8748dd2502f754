package turntemp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestUsage(t *testing.T) {
	t.Run("bk/TT1 of an empty directory is zero", func(t *testing.T) {
		a, _, _ := access(t)
		got, err := a.Usage(t.Context(), turn)
		if err != nil || got != (Usage{}) {
			t.Errorf("Usage = %+v, %v", got, err)
		}
	})
	t.Run("bk/TT2 sums by blocks and by size", func(t *testing.T) {
		a, sink, dir := access(t, "a", "d/b", "d/e/c", "empty/", "l->/etc/passwd", "p|")
		old := time.Unix(1_000_000_000, 0)
		if err := errors.Join(
			os.Truncate(dir+"/a", 1<<20), // sparse: the sizes and the blocks are two sums
			os.Link(dir+"/d/b", dir+"/d/again"),
			os.Chtimes(dir+"/d/e/c", old, old),
		); err != nil {
			t.Fatal(err)
		}
		got, err := a.Usage(t.Context(), turn)
		if err != nil {
			t.Fatal(err)
		}
		var blocks int64
		for _, name := range []string{"a", "d/b", "d/e/c", "l", "p"} {
			var st unix.Stat_t
			if err := unix.Lstat(dir+"/"+name, &st); err != nil {
				t.Fatal(err)
			}
			blocks += st.Blocks * 512
		}
		want := Usage{
			Bytes: 1<<20 + 10 + 10 + int64(len("/etc/passwd")), BlockBytes: blocks,
			Files: 6, Directories: 3, Oldest: old,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Usage (-want +got):\n%s", diff)
		}
		if len(sink.records) != 0 {
			t.Errorf("usage left a receipt: %+v", sink.records)
		}
	})
}

func TestPurgeAll(t *testing.T) {
	a, sink, dir := access(t, "a", "d/b", "d/e/c", "empty/", "l->a", "p|")
	rec := purge(t, a)
	wantTree(t, dir) // bk/TT3: the directory itself stays
	got := sink.last(t)
	if diff := cmp.Diff(rec, got); diff != "" {
		t.Errorf("bk/TT3 the receipt is another than the answer:\n%s", diff)
	}
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		t.Fatal(err)
	}
	want := PurgeRecord{
		Turn: turn, Principal: "p", Backend: "b", Time: rec.Time, Operation: OpPurge, Purge: Purge{All: true},
		Outcome: Done, Dev: st.Dev, Ino: st.Ino,
		Removed: Counts{Files: 3, Links: 1, Directories: 3, Others: 1, Bytes: 31, BlockBytes: rec.Removed.BlockBytes},
	}
	if diff := cmp.Diff(want, got); diff != "" || rec.Removed.BlockBytes == 0 {
		t.Errorf("bk/TT3 receipt (-want +got):\n%s", diff)
	}
	rec = purge(t, a)
	if got := sink.last(t); len(sink.records) != 2 || got.Removed != (Counts{}) || rec.Outcome != Done {
		t.Errorf("nothing to remove: %d receipts, %+v", len(sink.records), got)
	}
}

func TestPurgeOlderThan(t *testing.T) {
	a, _, dir := access(t, "new", "old", "oldlink->new", "was/old", "was/new", "gone/old", "oldempty/", "newempty/")
	past := time.Now().Add(-time.Hour)
	times := []unix.Timeval{unix.NsecToTimeval(past.UnixNano()), unix.NsecToTimeval(past.UnixNano())}
	for _, name := range []string{"old", "oldlink", "was/old", "gone/old", "oldempty", "was", "gone"} {
		if err := unix.Lutimes(dir+"/"+name, times); err != nil {
			t.Fatal(err)
		}
	}
	rec, err := a.Purge(t.Context(), turn, Purge{OlderThan: 30 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	wantTree(t, dir, "new", "newempty", "was", "was/new")
	if r := rec.Removed; r.Files != 3 || r.Links != 1 || r.Directories != 2 || rec.Failed+rec.Skipped != 0 {
		t.Errorf("record: %+v", rec)
	}
}

func TestPurgeRefusesBadRequests(t *testing.T) {
	a, sink, dir := access(t, "a")
	for _, p := range []Purge{{}, {OlderThan: -1}, {OlderThan: 1, All: true}} {
		rec, err := a.Purge(t.Context(), turn, p)
		if !errors.Is(err, ErrRequest) || rec.Outcome != RefusedRequest || sink.last(t).Outcome != RefusedRequest {
			t.Errorf("Purge(%+v) = %+v, %v", p, rec, err)
		}
	}
	wantTree(t, dir, "a")
}

func TestLinksAreNotFollowed(t *testing.T) {
	a, _, dir := access(t, "d/a")
	outside := filepath.Dir(dir) + "/outside"
	plant(t, outside, "canary", "dir/canary")
	plant(t, dir, "passwd->/etc/passwd", "file->"+outside+"/canary", "d/dir->"+outside+"/dir", "self->.")
	before, err := os.ReadFile("/etc/passwd")
	if err != nil {
		t.Fatal(err)
	}
	rec := purge(t, a) // bk/TT4 esc/DC-11
	wantTree(t, dir)
	wantTree(t, outside, "canary", "dir", "dir/canary")
	if after, err := os.ReadFile("/etc/passwd"); err != nil || string(after) != string(before) {
		t.Errorf("bk/TT4 /etc/passwd is another one: %v", err)
	}
	if rec.Removed.Links != 4 || rec.Removed.Files != 1 || rec.Skipped != 0 {
		t.Errorf("record: %+v", rec)
	}
}

func TestLinkedFilesStay(t *testing.T) {
	a, sink, dir := access(t, "plain", "d/", "l->none", "p|")
	if err := errors.Join(
		unix.Linkat(unix.AT_FDCWD, dir+"/l", unix.AT_FDCWD, dir+"/l2", 0), os.Link(dir+"/p", dir+"/p2"),
	); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Dir(dir) + "/precious"
	plant(t, filepath.Dir(dir), "precious")
	if err := os.Link(outside, dir+"/d/alias"); err != nil {
		t.Fatal(err)
	}
	var before, after unix.Stat_t
	if err := unix.Lstat(outside, &before); err != nil {
		t.Fatal(err)
	}
	purge(t, a) // bk/TT5 esc/DC-05
	wantTree(t, dir, "d", "d/alias")
	if err := unix.Lstat(outside, &after); err != nil || before != after {
		t.Errorf("bk/TT5 the file outside changed: %+v, %v", after, err)
	}
	want := []Named{{Path: "d/alias", Skipped: Linked}} // and neither links nor FIFOs, which hold nothing
	if got := sink.last(t); !cmp.Equal(got.Named, want) || got.Skipped != 1 || got.Removed.Files != 1 {
		t.Errorf("bk/TT5 record: %+v", got)
	}
	if err := os.Remove(outside); err != nil { // positive control: one name is left
		t.Fatal(err)
	}
	purge(t, a)
	wantTree(t, dir)
}

func TestSpecialFilesAreNotOpened(t *testing.T) {
	a, _, dir := access(t, "p|", "d/p|")
	sock, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(sock)
	held := openFile(t, dir)
	// The whole path may be longer than an address of a socket.
	if err = unix.Bind(sock, &unix.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d/s", held.Fd())}); err != nil {
		t.Fatal(err)
	}
	others := 3
	if os.Geteuid() == 0 {
		if err = unix.Mknod(dir+"/null", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))); err == nil {
			others++
		}
	}
	done := make(chan PurgeRecord, 1)
	go func() {
		_, _ = a.Usage(context.Background(), turn)
		rec, _ := a.Purge(context.Background(), turn, Purge{All: true})
		done <- rec
	}()
	select { // bk/TT14
	case rec := <-done:
		if rec.Removed.Others != others || rec.Outcome != Done {
			t.Errorf("bk/TT14 record: %+v", rec)
		}
	case <-time.After(time.Minute):
		t.Fatal("bk/TT14 it waits for the other end of a FIFO")
	}
	wantTree(t, dir)
}

func TestEndedTurn(t *testing.T) {
	a, sink, dir := access(t, "a")
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); !errors.Is(err, ErrEnded) {
		t.Errorf("second Close: %v", err)
	}
	calls := map[string]func() error{
		OpUsage: func() error { _, err := a.Usage(t.Context(), turn); return err },
		OpPurge: func() error { _, err := a.Purge(t.Context(), turn, Purge{All: true}); return err },
	}
	for _, op := range slices.Sorted(maps.Keys(calls)) {
		err := calls[op]()
		if !errors.Is(err, ErrEnded) || !errors.Is(err, fs.ErrClosed) {
			t.Errorf("bk/TT8 %s: %v", op, err)
		}
		got := sink.last(t)
		if got.Outcome != "refused: ended" || got.Operation != op || got.Detail == "" || got.Turn != turn || got.Ino == 0 {
			t.Errorf("bk/TT8 %s: record %+v", op, got)
		}
	}
	if _, err := a.Handle(t.Context(), turn, []byte(`{"operation":"usage"}`)); !errors.Is(err, ErrEnded) {
		t.Errorf("bk/TT8 Handle: %v", err)
	}
	wantTree(t, dir, "a")
}

func TestOtherTurn(t *testing.T) {
	a, sink, mine := access(t, "a")
	b, other, theirs := access(t, "b")
	b.cfg.Turn = "t-2"
	rec, err := a.Purge(t.Context(), "t-2\x1b", Purge{All: true}) // bk/TT9
	if !errors.Is(err, ErrTurn) || !errors.Is(err, fs.ErrPermission) || rec.Outcome != RefusedTurn {
		t.Errorf("bk/TT9 %+v, %v", rec, err)
	}
	if _, err = b.Usage(t.Context(), turn); !errors.Is(err, ErrTurn) {
		t.Errorf("bk/TT9 usage: %v", err)
	}
	if got := sink.last(t); got.Turn != turn || got.Asked != `t-2\u{1b}` || got.Outcome != RefusedTurn {
		t.Errorf("bk/TT9 record: %+v", got)
	}
	if got := other.last(t); got.Turn != "t-2" || got.Asked != turn || got.Operation != OpUsage {
		t.Errorf("bk/TT9 record of usage: %+v", got)
	}
	wantTree(t, mine, "a")
	wantTree(t, theirs, "b")
	purge(t, a) // positive control
	wantTree(t, mine)
	wantTree(t, theirs, "b")
}
