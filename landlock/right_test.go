package landlock

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with testdata/name, or rewrites the file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func TestAccessGolden(t *testing.T) {
	var b strings.Builder
	for abi := 0; abi <= Known; abi++ {
		fmt.Fprintf(&b, "abi %d\n\thandled: %s\n", abi, AccessNames(handledFS(abi)))
		for r := Read; r <= WriteExec; r++ {
			fmt.Fprintf(&b, "\t%s file: %s\n", r, AccessNames(Access(r, false, abi)))
			fmt.Fprintf(&b, "\t%s folder: %s\n", r, AccessNames(Access(r, true, abi)))
		}
	}
	golden(t, "access.golden", b.String())
}

func TestAccessNeverGrants(t *testing.T) {
	never := uint64(ll.AccessFSMakeChar | ll.AccessFSMakeBlock | ll.AccessFSIoctlDev | ll.AccessFSResolveUnix)
	for abi := -1; abi <= Known+3; abi++ {
		for r := range Right(255) {
			for _, dir := range []bool{false, true} {
				got := Access(r, dir, abi)
				if got&never != 0 {
					t.Errorf("Access(%v, %v, %d) = %s", r, dir, abi, AccessNames(got))
				}
				if r > WriteExec && got != 0 {
					t.Errorf("Access(%d, %v, %d) = %s for no right", r, dir, abi, AccessNames(got))
				}
				if got&^handledFS(abi) != 0 {
					t.Errorf("Access(%v, %v, %d) = %s is not handled", r, dir, abi, AccessNames(got))
				}
			}
		}
	}
}

func TestAccessSeparatesTheRights(t *testing.T) {
	write := uint64(ll.AccessFSWriteFile | ll.AccessFSTruncate | dirWrite)
	for _, dir := range []bool{false, true} {
		for r, want := range map[Right]struct{ exec, write bool }{
			Read: {}, Exec: {exec: true}, Write: {write: true}, WriteExec: {true, true},
		} {
			got := Access(r, dir, Known)
			if exec := got&ll.AccessFSExecute != 0; exec != want.exec {
				t.Errorf("Access(%v, %v) executes is %v", r, dir, exec)
			}
			if writes := got&write != 0; writes != want.write {
				t.Errorf("Access(%v, %v) writes is %v", r, dir, writes)
			}
			if got&ll.AccessFSReadFile == 0 {
				t.Errorf("Access(%v, %v) does not read", r, dir)
			}
		}
	}
}

// TestConstants holds the numbers against x/sys, which has its own source.
func TestConstants(t *testing.T) {
	for _, tt := range []struct {
		name      string
		got, want uint64
	}{
		{"abi 1", handledFS(1), unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1},
		{"abi 2", handledFS(2), unix.LANDLOCK_ACCESS_FS_REFER<<1 - 1},
		{"abi 3", handledFS(3), unix.LANDLOCK_ACCESS_FS_TRUNCATE<<1 - 1},
		{"abi 4", handledFS(4), unix.LANDLOCK_ACCESS_FS_TRUNCATE<<1 - 1},
		{"abi 5", handledFS(5), unix.LANDLOCK_ACCESS_FS_IOCTL_DEV<<1 - 1},
		{"abi 8", handledFS(8), unix.LANDLOCK_ACCESS_FS_IOCTL_DEV<<1 - 1},
		{"abi 9", handledFS(9), 1<<17 - 1},
		{"above known", handledFS(Known + 5), 1<<17 - 1},
		{"tcp below abi 4", handledTCP(3), 0},
		{"tcp", handledTCP(4), unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP},
		{"read file", Access(Read, false, 1), unix.LANDLOCK_ACCESS_FS_READ_FILE},
		{"exec file", Access(Exec, false, 1), unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_EXECUTE},
	} {
		if tt.got != tt.want {
			t.Errorf("%s = %#x, want %#x", tt.name, tt.got, tt.want)
		}
	}
}

func TestRightString(t *testing.T) {
	var got []string
	for _, r := range []Right{Read, Exec, Write, WriteExec, 4} {
		got = append(got, r.String())
	}
	if diff := cmp.Diff([]string{"read", "exec", "write", "write_exec", "invalid"}, got); diff != "" {
		t.Error(diff)
	}
}
