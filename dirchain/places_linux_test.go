package dirchain

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// location is a file system to try. It is made in a mount namespace of the test's
// own (needs.InMounts), beneath at, where a tmpfs is mounted.
type location struct {
	name   string
	magic  int64
	needs  func(t testing.TB) // nil: a mount namespace is enough
	script string             // makes the directory "dir" in the working directory
}

// The two layers of an overlay.
const overlay = `
mkdir dir one/lower
mkdir -p "$1/upper" "$1/work"
mount -t overlay overlay -o "lowerdir=one/lower,upperdir=$1/upper,workdir=$1/work" dir`

func setOverlay(other string) string {
	return "set -- " + other + "\nmkdir one two\nmount -t tmpfs one one\nmount -t tmpfs two two\n" + overlay
}

// writableLocations are those where everything works.
func writableLocations() []location {
	xino := strings.Replace(setOverlay("two"), `work" dir`, `work,xino=on" dir`, 1)
	return []location{
		{"tmpfs", unix.TMPFS_MAGIC, nil, "mkdir dir"},
		{"overlay of two file systems", unix.OVERLAYFS_SUPER_MAGIC, needs.Overlay, setOverlay("two")},
		{"overlay of one file system", unix.OVERLAYFS_SUPER_MAGIC, needs.Overlay, setOverlay("one")},
		{"overlay of two file systems with xino", unix.OVERLAYFS_SUPER_MAGIC, needs.Overlay, xino},
		{"ext4", unix.EXT4_SUPER_MAGIC, needs.Ext4, image("ext4", "mkfs.ext4 -q", "32M")},
		{"xfs", unix.XFS_SUPER_MAGIC, needs.XFS, image("xfs", "mkfs.xfs -q", "300M")},
		{"btrfs", unix.BTRFS_SUPER_MAGIC, needs.Btrfs, image("btrfs", "mkfs.btrfs -q", "128M")},
	}
}

// refusedLocations are those where nothing is written.
func refusedLocations() []location {
	return []location{
		{"ramfs", unix.RAMFS_MAGIC, nil, "mkdir dir\nmount -t ramfs ramfs dir"},
		{"vfat", unix.MSDOS_SUPER_MAGIC, needs.VFAT, image("vfat", "mkfs.vfat", "8M")},
		{"fuse", unix.FUSE_SUPER_MAGIC, needs.FUSE, "mkdir dir from\nbindfs from dir"},
	}
}

func image(kind, mkfs, size string) string {
	return "truncate -s " + size + " image\n" + mkfs + " image\nmkdir dir\nmount -t " + kind + " -o loop image dir"
}

// mounted makes a location and gives its directory. What is mounted is taken away
// with the test, before its folder is removed.
func mounted(t *testing.T, script string) string {
	t.Helper()
	at := t.TempDir()
	if err := unix.Mount("brainbox-test", at, "tmpfs", 0, "mode=0755"); err != nil {
		t.Fatal(os.NewSyscallError("mount", err))
	}
	t.Cleanup(func() { // a cleanup has no t.Context
		for _, dir := range []string{"dir", "."} {
			_ = unix.Unmount(filepath.Join(at, dir), unix.MNT_DETACH) // no mount is no failure
		}
	})
	shell(t, at, script)
	return filepath.Join(at, "dir")
}

// shell runs a script in a folder.
func shell(t *testing.T, dir, script string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-euc", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin", "LC_ALL=C")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s\n%v\n%s", script, err, out)
	}
}

// bind mounts the entry from on the entry to, which has the same kind.
func bind(t *testing.T, from, to string) {
	t.Helper()
	if err := unix.Mount(from, to, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(os.NewSyscallError("mount", err))
	}
	t.Cleanup(func() { _ = unix.Unmount(to, unix.MNT_DETACH) })
}

// own gives a new directory for one case, and looks afterwards that no temporary
// file is left anywhere in it.
func own(t *testing.T, dir string) string {
	t.Helper()
	dir, err := os.MkdirTemp(dir, "case-") //nolint:usetesting // on the file system that is tried
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasPrefix(d.Name(), ".brainbox-") {
				t.Errorf("left behind: %s", path)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
	return dir
}

// put writes a file of an hour ago, so that a change of now has another time
// whatever the file system's clock counts in.
func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	age(t, name)
}

func age(t *testing.T, name string) {
	t.Helper()
	st, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if err = os.Chtimes(name, st.ModTime().Add(-3600e9), st.ModTime().Add(-3600e9)); err != nil {
		t.Fatal(err)
	}
}

// at makes a hook that acts once, at the first call of that name.
func at(call string, act func() error) func(string) error {
	done := false
	return func(name string) error {
		if done || name != call {
			return nil
		}
		done = true
		return act()
	}
}

// wrote is a write of text in the mode, with a base when it is given.
func wrote(ctx context.Context, r *Root, path string, mode Mode, content string, base *Hash) error {
	_, err := r.Write(ctx, path, WriteRequest{Mode: mode, Content: text(content), Base: base})
	return err
}
