package dirchain

import (
	"errors"
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

func TestSuiteHere(t *testing.T) { suite(t, t.TempDir()) }

func TestFilesystems(t *testing.T) {
	for _, l := range writableLocations() {
		t.Run(l.name, func(t *testing.T) {
			if l.needs != nil && !needs.IsChild(t) {
				l.needs(t)
			}
			if !needs.InMounts(t) {
				return
			}
			dir := mounted(t, l.script)
			isMagic(t, dir, l.magic)
			suite(t, dir)
			suiteMounts(t, dir)
		})
	}
}

// TestEveryIdentifyingFilesystemIsTried: a file system on which the suite does not
// run is not one to write on.
func TestEveryIdentifyingFilesystemIsTried(t *testing.T) {
	tried := writableLocations()
	for _, k := range identifying {
		if !slices.ContainsFunc(tried, func(l location) bool { return l.magic == k.magic }) {
			t.Errorf("%s (0x%x) is never tried", k.name, k.magic)
		}
		if nameOf(others, k.magic) != "" {
			t.Errorf("%s (0x%x) is among the others too", k.name, k.magic)
		}
	}
}

func TestRefusedFilesystems(t *testing.T) {
	for _, l := range refusedLocations() {
		t.Run(l.name, func(t *testing.T) {
			if l.needs != nil && !needs.IsChild(t) {
				l.needs(t)
			}
			if !needs.InMounts(t) {
				return
			}
			dir := mounted(t, l.script)
			isMagic(t, dir, l.magic)
			both(t, func(t *testing.T, opts Options) { testRefused(t, dir, opts) })
		})
	}
}

// testRefused: nothing is written, and nothing is made; reading works, and so does
// writing for whoever does not ask.
func testRefused(t *testing.T, dir string, opts Options) {
	put(t, dir+"/f", "old")
	before := names(t, dir)
	r, ctx := open(t, dir, opts), t.Context()
	_, parents := r.Write(ctx, "new/f", WriteRequest{Content: text("x"), Parents: true})
	_, editing := r.Edit(ctx, "f", EditRequest{Old: []byte("old"), New: []byte("new")})
	for what, err := range map[string]error{
		"writable": r.Writable(), "create": wrote(ctx, r, "g", Create, "x", nil), "with parents": parents, "edit": editing,
		"replace": wrote(ctx, r, "f", Replace, "x", nil), "append": wrote(ctx, r, "f", Append, "x", nil),
	} {
		if !errors.Is(err, ErrFilesystem) || !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v, want %v", what, err, ErrFilesystem)
		}
	}
	if got := names(t, dir); got != before || read(t, dir+"/f") != "old" {
		t.Errorf("names %q, want %q, content %q", got, before, read(t, dir+"/f"))
	}
	if got, err := r.Read(ctx, "f", ReadRequest{}); err != nil || string(got.Data) != "old" {
		t.Errorf("read: %q, %v", got.Data, err)
	}
}

// isMagic is the test's own look at the type of a file system.
func isMagic(t *testing.T, dir string, want int64) {
	t.Helper()
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil || int64(uint32(st.Type)) != want {
		t.Fatalf("file system 0x%x, want 0x%x: %v", st.Type, want, err)
	}
}

// TestWritableKind has the numbers as statfs(2) and the file systems' own sources
// write them.
func TestWritableKind(t *testing.T) {
	for name, magic := range map[string]int64{
		"9p": 0x01021997, "nfs": 0x6969, "fuse": 0x65735546, "vfat": 0x4d44, "exfat": 0x2011bab0, "cifs": 0xff534d42,
		"smb2": 0xfe534d42, "smb": 0x517b, "ntfs3": 0x7366746e, "ntfs": 0x5346544e, "ecryptfs": 0xf15f, "ceph": 0x00c36400,
		"vboxsf": 0x786f4256, "ramfs": 0x858458f6, "f2fs": 0xf2f52010, "bcachefs": 0xca451a4e, "zfs": 0x2fc12fc1,
		"proc": 0x9fa0, "type 0xc0ffee": 0xc0ffee, "type 0x0": 0,
	} {
		err := writableKind(magic)
		want := "not on this file system (" + name + ": its names and inode numbers are not known to identify a file)"
		if !errors.Is(err, ErrFilesystem) || err.Error() != want {
			t.Errorf("0x%x: %v, want %s", magic, err, want)
		}
	}
	for name, magic := range map[string]int64{
		"ext4": 0xef53, "xfs": 0x58465342, "btrfs": 0x9123683e, "tmpfs": 0x01021994, "overlay": 0x794c7630,
	} {
		if err := writableKind(magic); err != nil || nameOf(identifying, magic) != name {
			t.Errorf("%s (0x%x): %v", name, magic, err)
		}
	}
}

func TestProcIsNotWritten(t *testing.T) {
	r := open(t, "/proc/self", Options{})
	if err := wrote(t.Context(), r, "comm", CreateOrReplace, "x", nil); !errors.Is(err, ErrFilesystem) {
		t.Errorf("write: %v, want %v", err, ErrFilesystem)
	}
	if _, err := os.ReadFile("/proc/self/comm"); err != nil {
		t.Errorf("control: %v", err)
	}
}
