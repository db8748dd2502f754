package dirchain

import (
	"errors"
	"os"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

func TestExactFlags(t *testing.T) {
	const index, folding = 0x1000, 0x40000000 // FS_INDEX_FL, FS_CASEFOLD_FL (linux/fs.h)
	tests := []struct {
		name  string
		flags uint32
		err   error
		want  error
	}{
		{"a directory that folds is refused", folding, nil, ErrFilesystem},
		{"whatever else it is", folding | index, nil, ErrFilesystem},
		{"an outer filter's answer is none", 0, unix.ENOSYS, unix.ENOSYS},
		{"nor is a refusal", 0, unix.EPERM, unix.EPERM},
		{"other flags are fine", index, nil, nil},
		{"no flags are fine", 0, nil, nil},
		{"a file system without flags is fine", 0, unix.ENOTTY, nil},
		{"so is one that does not support them", 0, unix.EOPNOTSUPP, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := exactFlags(tt.flags, tt.err); !errors.Is(got, tt.want) {
				t.Errorf("exactFlags(%#x, %v) = %v, want %v", tt.flags, tt.err, got, tt.want)
			}
		})
	}
}

// TestFoldingIsRefused: at whichever look it shows, nothing is left of the write.
func TestFoldingIsRefused(t *testing.T) {
	both(t, func(t *testing.T, opts Options) {
		dir := own(t, t.TempDir())
		put(t, dir+"/a/f", "old")
		write := func(fail int) (looks int, err error) {
			r := open(t, dir, opts)
			r.hook = func(call string) error {
				if call == "ioctl" {
					if looks++; looks == fail {
						return errFoldingDirectory
					}
				}
				return nil
			}
			_, err = r.Write(t.Context(), "a/b/c/f", WriteRequest{Content: text("x"), Parents: true})
			return looks, err
		}
		looks := 1
		for fail := 1; fail <= looks; fail++ {
			_, err := write(fail)
			if !errors.Is(err, ErrFilesystem) {
				t.Errorf("look %d: %v, want %v", fail, err, ErrFilesystem)
			}
			if got := names(t, dir+"/a"); got != "f" {
				t.Errorf("look %d: names %q, want %q", fail, got, "f")
			}
			if fail == 1 { // control: how many looks there are
				if looks, err = write(0); err != nil || looks < 5 {
					t.Fatalf("%d looks, %v", looks, err)
				}
				if err = os.RemoveAll(dir + "/a/b"); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// TestFoldingOfADirectoryWithAnEntry: a directory is looked at once more when our
// entry is in it, and before that entry has the target's name. Only an empty one
// can be made to fold, and a folding one gives its folding to those made in it.
func TestFoldingOfADirectoryWithAnEntry(t *testing.T) {
	var calls []string
	r := open(t, t.TempDir(), Options{SkipSync: true})
	r.hook = func(call string) error {
		calls = append(calls, call)
		return nil
	}
	if _, err := r.Write(t.Context(), "a/b/f", WriteRequest{Content: text("x"), Parents: true}); err != nil {
		t.Fatal(err)
	}
	var looks []int // at flags, after each entry that was made
	for _, call := range calls[:slices.Index(calls, "renameat2")] {
		switch call {
		case "mkdirat", "openat": // with openat2, openat makes the temporary file alone
			looks = append(looks, 0)
		case "ioctl":
			if len(looks) > 0 {
				looks[len(looks)-1]++
			}
		}
	}
	// a: its parent, itself, and itself before b is made; b: its parent, itself, and
	// all three before the file; the file: its parent.
	if want := []int{3, 5, 1}; !slices.Equal(looks, want) {
		t.Errorf("looks at flags behind what was made: %v, want %v", looks, want)
	}
}

// TestCasefold holds esc/DC-17: a name that is protected is there under another.
func TestCasefold(t *testing.T) {
	if !needs.IsChild(t) {
		needs.Casefold(t)
	}
	if !needs.InMounts(t) {
		return
	}
	dir := mounted(t, `
truncate -s 32M image
mkfs.ext4 -q -O casefold -E encoding=utf8 image
mkdir dir
mount -o loop image dir
mkdir dir/folds dir/exact
chattr +F dir/folds
mkdir dir/folds/below dir/exact/.git dir/folds/.git`)
	both(t, func(t *testing.T, opts Options) {
		opts.Protect = []string{"folds/.git", "exact/.git"}
		r, ctx := open(t, dir, opts), t.Context()
		for _, path := range []string{"folds/f", "folds/.GIT/hook", "folds/below/f", "folds/new/f"} {
			_, err := r.Write(ctx, path, WriteRequest{Content: text("x"), Parents: true})
			if !errors.Is(err, ErrFilesystem) {
				t.Errorf("write %q: %v, want %v", path, err, ErrFilesystem)
			}
		}
		if got := names(t, dir+"/folds") + names(t, dir+"/folds/.git"); got != ".git below" {
			t.Errorf("names %q", got)
		}
		if _, err := r.Write(ctx, "exact/.GIT", WriteRequest{Mode: CreateOrReplace, Content: text("x")}); err != nil {
			t.Errorf("control: %v", err)
		}
	})
}

func TestXFSGeometry(t *testing.T) {
	if got := unsafe.Sizeof(geometry{}); got != geometryCall>>16&0x3fff {
		t.Errorf("struct xfs_fsop_geom_v1 has %d bytes, the call says %d", got, geometryCall>>16&0x3fff)
	}
	const old, folding = 1 << 7, 1 << 12 // XFS_FSOP_GEOM_FLAGS_DIRV2, _DIRV2CI
	if err := (geometry{flags: old | folding}).exact(); !errors.Is(err, ErrFilesystem) {
		t.Errorf("folding: %v, want %v", err, ErrFilesystem)
	}
	if err := (geometry{flags: ^uint32(folding)}).exact(); err != nil {
		t.Errorf("not folding: %v", err)
	}
	if !needs.IsChild(t) {
		needs.XFS(t)
	}
	if !needs.InMounts(t) {
		return
	}
	r := open(t, mounted(t, image("xfs", "mkfs.xfs -q", "300M")), Options{})
	// Every xfs that mkfs.xfs makes today has directories of version 2 and the
	// superblock of version 5 (1<<15): the field is where it is looked for.
	const today = old | 1<<15
	if g, err := r.geometry(r.fd); err != nil || g.version != 0 || g.flags&today != today {
		t.Errorf("geometry %+v, %v", g, err)
	}
	r.hook = func(string) error { return unix.EPERM }
	if _, err := r.writable(r.fd); !errors.Is(err, unix.EPERM) {
		t.Errorf("without an answer: %v", err)
	}
}
