package launcher

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

func TestOpenBaseRefuses(t *testing.T) {
	top := resolved(t.TempDir())
	link := top + "/link"
	if err := os.Symlink(mkdir(t, top+"/target", 0o700, -1), link); err != nil {
		t.Fatal(err)
	}
	write(t, top+"/file", "")
	cases := map[string]string{
		"a link": link, "a file": top + "/file", "group may write": mkdir(t, top+"/group", 0o770, -1),
		"others may read": mkdir(t, top+"/others", 0o704, -1), "no folder above": top + "/missing/base",
	}
	if os.Geteuid() == 0 {
		cases["another owner"] = mkdir(t, top+"/foreign", 0o700, 12345)
	} else {
		cases["others may enter"] = mkdir(t, top+"/enter", 0o711, -1)
	}
	for name, dir := range cases {
		if fd, err := openBase(dir); err == nil {
			unix.Close(fd)
			t.Errorf("%s: accepted", name)
		}
	}
	for _, dir := range []string{top + "/new", top + "/new", mkdir(t, top+"/mine", 0o700, -1)} { // positive control
		fd, err := openBase(dir)
		if err != nil {
			t.Fatal(err)
		}
		unix.Close(fd)
	}
	var r *Refusal
	if _, err := openBase(top + "/group"); !errors.As(err, &r) || r.Status != StatusRefused || r.Hint == "" {
		t.Errorf("%v, want a refusal with a hint", err)
	}
}

func TestMakeRunDir(t *testing.T) {
	base := resolved(t.TempDir()) + "/brainbox"
	r, err := makeRunDir(base+"/run", true, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "home", "tmp"} {
		st, err := os.Lstat(filepath.Join(r.path, name))
		if err != nil || st.Mode() != os.ModeDir|0o700 {
			t.Errorf("%q: %v, %v", name, st, err)
		}
	}
	if _, err := makeRunDir(base+"/run", true, nil); err == nil {
		t.Error("the same name twice")
	}
	r.remove()
	if _, err := os.Lstat(r.path); err == nil {
		t.Error("it is still there")
	}
}

func TestMakeRunDirForAnIdentity(t *testing.T) {
	needs.Root(t)
	r, err := makeRunDir(resolved(t.TempDir())+"/brainbox/run", true, &IdentityFact{UID: 12345, GID: 12346})
	if err != nil {
		t.Fatal(err)
	}
	defer r.remove()
	for name, want := range map[string]owner{"home": {12345, 12346, 0o700}, "tmp": {12345, 12346, 0o700}, "canary": {0, 12346, 0o620}} {
		var st unix.Stat_t
		if err := unix.Lstat(r.path+"/"+name, &st); err != nil || (owner{int(st.Uid), int(st.Gid), st.Mode & 0o777}) != want {
			t.Errorf("%s: uid %d gid %d mode %o, %v", name, st.Uid, st.Gid, st.Mode, err)
		}
	}
	var st unix.Stat_t
	if err := unix.Lstat(r.path, &st); err != nil || st.Uid != 0 || st.Mode&0o777 != 0o711 {
		t.Errorf("the folder itself: uid %d mode %o, %v", st.Uid, st.Mode, err)
	}
}

// age sets a folder's time of change back, so that it counts as old.
func age(t *testing.T, dir string) {
	t.Helper()
	old := time.Now().Add(-2 * staleAfter * time.Second)
	if err := os.Chtimes(dir, old, old); err != nil {
		t.Fatal(err)
	}
}

// A run that is not alone sweeps; so does one on a file system that counts no folders.
func TestRunDirKnowsWhetherItIsAlone(t *testing.T) {
	base := resolved(t.TempDir()) + "/brainbox"
	for i, want := range []bool{true, false} {
		r, err := makeRunDir(fmt.Sprintf("%s/run%d", base, i), true, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer r.remove()
		var st unix.Stat_t
		if err := unix.Stat(base, &st); err != nil {
			t.Fatal(err)
		}
		if counts := int(st.Nlink) == 3+i; r.alone != (want && counts) {
			t.Errorf("run %d: alone %v (links are counted: %v)", i, r.alone, counts)
		}
	}
}

func TestSweepRemovesOnlyDeadRuns(t *testing.T) {
	base := mkdir(t, resolved(t.TempDir())+"/brainbox", 0o700, -1)
	outside := mkdir(t, filepath.Dir(base)+"/outside", 0o700, -1)
	alive, err := makeRunDir(base+"/alive", true, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer alive.remove()
	age(t, alive.path)
	mkdir(t, base+"/dead/home/deep", 0o700, -1)
	write(t, base+"/dead/home/deep/file", "x")
	age(t, base+"/dead")
	mkdir(t, base+"/young", 0o700, -1)
	write(t, base+"/a-file", "")
	age(t, outside)
	if err := os.Symlink(outside, base+"/a-link"); err != nil {
		t.Fatal(err)
	}
	sweep(base, "")
	for name, want := range map[string]bool{
		base + "/dead": false, base + "/alive": true, base + "/young": true, base + "/a-file": true, base + "/a-link": true, outside: true,
	} {
		if _, err := os.Lstat(name); (err == nil) != want {
			t.Errorf("%q is there: %v, want %v", name, err == nil, want)
		}
	}
}

func TestRemoveTree(t *testing.T) {
	top := resolved(t.TempDir())
	outside := mkdir(t, top+"/outside", 0o755, -1)
	write(t, outside+"/kept", "kept")
	dir := mkdir(t, top+"/run/mod/pkg", 0o755, -1)
	write(t, dir+"/file", "x")
	for name, target := range map[string]string{"abs": outside, "rel": "../../../outside", "file": outside + "/kept", "self": "."} {
		if err := os.Symlink(target, dir+"/link-"+name); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []struct {
		dir  string
		mode uint32
	}{{dir, 0}, {top + "/run/mod", 0o555}, {top + "/run", 0o500}, {outside, 0o555}} {
		if err := unix.Chmod(d.dir, d.mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = unix.Chmod(outside, 0o755) })
	removeTree(top, "run")
	if _, err := os.Lstat(top + "/run"); err == nil {
		t.Error("the tree is still there")
	}
	st, err := os.Stat(outside)
	text, rerr := os.ReadFile(outside + "/kept")
	if err != nil || rerr != nil || string(text) != "kept" || st.Mode().Perm() != 0o555 {
		t.Errorf("outside: mode %v, text %q; %v, %v", st.Mode(), text, err, rerr)
	}
	removeTree(top, "run") // nothing there is no harm
}

func TestPruneOnlyTouchesOldFiles(t *testing.T) {
	top := resolved(t.TempDir())
	tmp := mkdir(t, top+"/tmp", 0o700, -1)
	old := time.Now().Add(-pruneAfter - time.Hour)
	for _, name := range []string{"old", "young"} {
		mkdir(t, tmp+"/"+name, 0o700, -1)
	}
	if err := os.Chtimes(tmp+"/old", old, old); err != nil {
		t.Fatal(err)
	}
	prune(tmp)
	if _, err := os.Lstat(tmp + "/old"); err == nil {
		t.Error("the old one is still there")
	}
	if _, err := os.Lstat(tmp + "/young"); err != nil {
		t.Error(err)
	}
	mkdir(t, tmp+"/old", 0o700, -1)
	if err := os.Chtimes(tmp+"/old", old, old); err != nil {
		t.Fatal(err)
	}
	if prune(tmp); true { // once a day only
		if _, err := os.Lstat(tmp + "/old"); err != nil {
			t.Error("it looked twice on one day")
		}
	}
}
