package turntemp

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// ledger is a sink that can be down.
type ledger struct {
	records     []PurgeRecord
	down, fails error
}

func (l *ledger) Ready(context.Context) error { return l.down }

func (l *ledger) Record(ctx context.Context, rec PurgeRecord) error {
	if err := errors.Join(ctx.Err(), l.fails); err != nil {
		return err
	}
	l.records = append(l.records, rec)
	return nil
}

// last is the one record of the last call.
func (l *ledger) last(t *testing.T) PurgeRecord {
	t.Helper()
	if len(l.records) == 0 {
		t.Fatal("no record was kept")
	}
	return l.records[len(l.records)-1]
}

const turn = "t-1"

// access is bound to a new directory, whose path it returns. Beside the directory
// there is room for what lies outside.
func access(t *testing.T, tree ...string) (*Access, *ledger, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "scratch")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	plant(t, dir, tree...)
	sink := &ledger{}
	f := openFile(t, dir)
	a, err := New(f, Config{Turn: turn, Principal: "p", Backend: "b", Sink: sink})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a, sink, dir
}

func openFile(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// plant makes entries: "d/" is a directory, "l->target" a link, "p|" a FIFO, any
// other a file of ten bytes.
func plant(t *testing.T, dir string, tree ...string) {
	t.Helper()
	for _, entry := range tree {
		name, target, link := strings.Cut(entry, "->")
		path := filepath.Join(dir, strings.TrimSuffix(name, "|"))
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		switch {
		case err != nil:
		case link:
			err = os.Symlink(target, path)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		case strings.HasSuffix(name, "|"):
			err = unix.Mkfifo(path, 0o644)
		default:
			err = os.WriteFile(path, []byte("ten bytes\n"), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// tree lists all beneath dir, no link followed.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	list := []string{}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && path != dir {
			list = append(list, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func wantTree(t *testing.T, dir string, want ...string) {
	t.Helper()
	if want == nil {
		want = []string{}
	}
	if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
}

func purge(t *testing.T, a *Access) PurgeRecord {
	t.Helper()
	rec, err := a.Purge(t.Context(), turn, Purge{All: true})
	if err != nil {
		t.Fatal(err)
	}
	return rec
}
