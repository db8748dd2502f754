package dirchain

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// bulky are writes that a small disk has no room for.
func bulky(content string) []op {
	return []op{
		{Path: "f", Mode: Replace, Content: content},
		{Path: "f", Mode: Append, Content: content},
		{Path: "f", Mode: CreateOrReplace, Content: content, Base: strings.Repeat("old", 1000)},
		{Path: "n", Content: content},
		{Path: "x/y/n", Content: content, Parents: true},
	}
}

// noRoom does them, and looks whether everything is as it was.
func noRoom(t *testing.T, dir, errno string, size int) {
	t.Helper()
	putText(t, dir+"/f", strings.Repeat("old", 1000))
	if err := os.Chmod(dir+"/f", 0o666); err != nil {
		t.Fatal(err)
	}
	for _, p := range bulky(strings.Repeat("n", size)) {
		both(t, func(t *testing.T, opts Options) {
			opts.SkipSync = false
			before := listing(t, dir)
			got := perform(attack{Root: dir, Opts: opts, Op: p})
			if !got.is(errno) || !got.Typed || got.Applied || len(got.Leaked) > 0 {
				t.Errorf("%+v: %+v", p.Path, got)
			}
			if after := listing(t, dir); before != after {
				t.Errorf("%.100s\nbecame\n%.100s", before, after)
			}
			small := p
			small.Content = "small"
			if got := perform(attack{Root: dir, Opts: opts, Op: small}); got.Err != "" {
				t.Errorf("control: %+v", got)
			}
			remake(t, dir)
		})
	}
}

func remake(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"n", "x"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	putText(t, dir+"/f", strings.Repeat("old", 1000))
}

// A real disk that is full.
func TestFullDisk(t *testing.T) {
	if !needs.InMounts(t) {
		return
	}
	dir := t.TempDir()
	if err := unix.Mount("brainbox-test", dir, "tmpfs", 0, "size=64k,mode=0755"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	t.Run("bk/FB10 real ENOSPC", func(t *testing.T) { noRoom(t, dir, "ENOSPC", 100_000) })
}

// A disk without room for one more entry.
func TestNoInodes(t *testing.T) {
	if !needs.InMounts(t) {
		return
	}
	dir := t.TempDir()
	if err := unix.Mount("brainbox-test", dir, "tmpfs", 0, "nr_inodes=4,mode=0755"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	putText(t, dir+"/f", "old")
	putText(t, dir+"/other", "old")
	for _, p := range []op{
		{Path: "x/y/n", Content: "new", Parents: true}, {Path: "x/n", Content: "new", Parents: true},
	} {
		if got := perform(attack{Root: dir, Op: p}); !got.is("ENOSPC") || len(got.Leaked) > 0 {
			t.Errorf("%+v", got)
		}
		if got := names(t, dir); got != "f other" {
			t.Errorf("left: %s", got)
		}
	}
	if got := perform(attack{Root: dir, Op: op{Path: "f", Mode: Replace, Content: "new"}}); got.Err != "" {
		t.Errorf("control: %+v", got)
	}
}

// A real quota, of a btrfs subvolume.
func TestQuota(t *testing.T) {
	needs.Btrfs(t)
	btrfs := needs.Program(t, "btrfs")
	if !needs.InMounts(t) {
		return
	}
	script := image("btrfs", "mkfs.btrfs -q", "128M") + "\n" +
		btrfs + " quota enable dir\n" + btrfs + " qgroup limit 4M 0/5 dir\n"
	dir := mounted(t, script)
	t.Run("bk/FB10 real EDQUOT", func(t *testing.T) { noRoom(t, dir, "EDQUOT", 6<<20) })
}
