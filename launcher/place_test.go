package launcher

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// mkdir makes a folder with exactly this mode, and gives it to uid if that is not -1.
func mkdir(t *testing.T, dir string, mode uint32, uid int) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if uid >= 0 {
		if err := os.Chown(dir, uid, uid); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Chmod(dir, mode); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestTmpBase(t *testing.T) {
	uid := os.Geteuid()
	top := resolved(t.TempDir())
	link := top + "/link"
	if err := os.Symlink(mkdir(t, top+"/target", 0o700, -1), link); err != nil {
		t.Fatal(err)
	}
	file := top + "/file"
	write(t, file, "")
	mkdir(t, top+"/writable/mine", 0o700, -1)
	mkdir(t, top+"/writable", 0o777, -1)
	mkdir(t, top+"/sticky/mine", 0o700, -1)
	mkdir(t, top+"/sticky", 0o1777, -1)
	for _, dir := range []string{
		"", "relative", top + "/missing", file, link, top + "/writable/mine",
		mkdir(t, top+"/group", 0o770, -1), mkdir(t, top+"/others", 0o777, -1),
	} {
		if got := tmpBase(dir, uid); got != "/tmp" {
			t.Errorf("tmpBase(%q) = %q, want /tmp", dir, got)
		}
	}
	for _, dir := range []string{mkdir(t, top+"/mine", 0o700, -1), mkdir(t, top+"/read", 0o755, -1), top + "/sticky/mine", "/tmp"} {
		if got := tmpBase(dir, uid); got != dir {
			t.Errorf("tmpBase(%q) = %q, want itself", dir, got)
		}
	}
	if got := tmpBase(top+"/mine/./", uid); got != top+"/mine" {
		t.Errorf("an unclean name: %q", got)
	}
}

func TestTmpBaseOfOtherOwners(t *testing.T) {
	needs.Root(t)
	const me, other = 12345, 12346
	top := mkdir(t, resolved(t.TempDir()), 0o755, 0)
	mkdir(t, filepath.Dir(top), 0o755, 0)
	mkdir(t, top+"/theirs/mine", 0o700, me)
	mkdir(t, top+"/theirs", 0o755, other)
	mkdir(t, top+"/ours/mine", 0o700, me)
	mkdir(t, top+"/ours", 0o755, me)
	for dir, want := range map[string]string{
		top + "/theirs":      "/tmp",
		top + "/theirs/mine": "/tmp", // its owner can rename what is in it
		mkdir(t, top+"/theirs-sticky", 0o1777, other): "/tmp",
		mkdir(t, top+"/roots", 0o755, 0):              "/tmp", // not sticky
		mkdir(t, top+"/roots-sticky", 0o1777, 0):      top + "/roots-sticky",
		top + "/ours/mine":                            top + "/ours/mine",
		mkdir(t, top+"/mine", 0o700, me):              top + "/mine",
		mkdir(t, top+"/mine-sticky-open", 0o1777, me): "/tmp",
	} {
		if got := tmpBase(dir, me); got != want {
			t.Errorf("tmpBase(%q) = %q, want %q", dir, got, want)
		}
	}
}

func TestPickHome(t *testing.T) {
	mine := t.TempDir()
	uid := os.Geteuid()
	user := &Place{UID: uid, EUID: uid}
	root, setuid := &Place{UID: 0, EUID: 0}, &Place{UID: uid + 1, EUID: uid}
	for _, c := range []struct {
		name              string
		pl                *Place
		env, passwd, want string
	}{
		{"root believes passwd only", root, mine, "/root", "/root"},
		{"set-uid believes passwd only", setuid, mine, "/home/x", "/home/x"},
		{"a relative home is none", user, "x", "/home/x", "/home/x"},
		{"the root folder is none", user, "/", "/home/x", "/home/x"},
		{"a missing home is none", user, mine + "/missing", "/home/x", "/home/x"},
		{"a foreign home is none", user, foreignDir(uid), "/home/x", "/home/x"},
		{"a bad passwd home is none", user, "", "relative", ""},
		{"the root folder of passwd is none", user, "", "/", ""},
		{"nothing is none", user, "", "", ""},
	} {
		if got := c.pl.pickHome(c.env, c.passwd); got != c.want {
			t.Errorf("%s: pickHome(%q, %q) = %q, want %q", c.name, c.env, c.passwd, got, c.want)
		}
	}
	if uid != 0 {
		if got := user.pickHome(mine+"/", "/home/x"); got != mine {
			t.Errorf("one's own $HOME: %q", got)
		}
	}
}

// foreignDir is an existing folder that uid does not own.
func foreignDir(uid int) string {
	if uid == 0 {
		return "/nonexistent"
	}
	return "/usr"
}

func TestPasswdEntry(t *testing.T) {
	text := "# comment\nroot:x:0:0:root:/root:/bin/bash\nshort:x:7:7:/home\n" +
		"u:x:1000:1000:U,,,:/home/u:/bin/zsh\nsecond:x:1000:1000::/home/2:/bin/sh\nlong:x:8:8:a:b:c:d\nlast:x:9:9::/l:"
	for uid, want := range map[int]passwdUser{
		7: {}, 8: {}, 77: {}, -1: {},
		0:    {"root", "/root", "/bin/bash"},
		1000: {"u", "/home/u", "/bin/zsh"},
		9:    {"last", "/l", ""},
	} {
		if got := passwdEntry(text, uid); got != want {
			t.Errorf("passwdEntry(%d) = %+v, want %+v", uid, got, want)
		}
	}
}

func FuzzPasswdEntry(f *testing.F) {
	f.Add("root:x:0:0:root:/root:/bin/bash\n", 0)
	f.Add(":::::\n\x00:x:5:::/:\n", 5)
	f.Fuzz(func(t *testing.T, text string, uid int) {
		got := passwdEntry(text, uid)
		for _, s := range []string{got.name, got.home, got.shell} {
			for _, c := range []byte(s) {
				if c == '\n' || c == ':' {
					t.Fatalf("%+v holds a separator", got)
				}
			}
		}
	})
}

func TestInsideWithLinks(t *testing.T) {
	top := resolved(t.TempDir())
	mkdir(t, top+"/project/sub", 0o700, -1)
	mkdir(t, top+"/outside/sub", 0o700, -1)
	for name, target := range map[string]string{"out": top + "/outside", "in": top + "/project/sub", "up": "..", "dangling": top + "/outside/none"} {
		if err := os.Symlink(target, top+"/project/"+name); err != nil {
			t.Fatal(err)
		}
	}
	for a, b := range map[string]string{"loop": "pool", "pool": "loop"} {
		if err := os.Symlink(top+"/project/"+b, top+"/project/"+a); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(top+"/project", top+"/other-name"); err != nil {
		t.Fatal(err)
	}
	for child, want := range map[string]bool{
		"project/out": false, "project/out/sub": false, "project/out/new": false, "project/up": false, "project/up/outside": false,
		"project/dangling": false, "project/dangling/deeper": false, "projectile": false, "outside": false,
		"project": true, "project/sub": true, "project/in": true, "project/in/new": true, "project/new/deep": true, "other-name/sub": true,
	} {
		if got := Inside(top+"/"+child, top+"/project"); got != want {
			t.Errorf("Inside(%q) = %v, want %v", child, got, want)
		}
		if got := Inside(top+"/"+child, top+"/other-name"); got != want {
			t.Errorf("Inside(%q) by the other name = %v, want %v", child, got, want)
		}
	}
}
