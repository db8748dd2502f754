package spawn

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tree makes folders (ending in "/") and files with their own name in them.
func tree(t testing.TB, names ...string) string {
	t.Helper()
	top := t.TempDir()
	for _, name := range names {
		p := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if strings.HasSuffix(name, "/") {
			err = os.MkdirAll(p, 0o755)
		} else {
			err = os.WriteFile(p, []byte(name), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return top
}

// what tries an operation of a shell and prints its name with "ok" or the errno's text.
const what = `try() { n=$1; shift; if e=$("$@" 2>&1 >/dev/null); then echo "$n ok"; else echo "$n ${e##*: }"; fi; }
put() { echo new >"$1"; }
`

// check runs what is tried and compares the answers.
func (r *room) check(script string, want map[string]string, args ...string) {
	r.t.Helper()
	out, _ := r.run(what+script, args...)
	got := lines(out)
	for key, answer := range want {
		if got[key] != answer {
			r.t.Errorf("%s: %q, want %q", key, got[key], answer)
		}
	}
	if r.t.Failed() {
		r.t.Logf("output:\n%s", out)
	}
}

const (
	readOnly = "Read-only file system"
	denied   = "Permission denied"
	busy     = "Device or resource busy"
	noEntry  = "No such file or directory"
)

// esc/NS-08: a bind that is read-only is, whatever the host's permissions say.
func TestBindIsReadOnlyUnlessSaid(t *testing.T) {
	ro, rw := tree(t, "f", "d/g"), tree(t, "f", "d/g")
	r := newRoom(t)
	r.bind(ro, Mount{})
	r.bind(rw, Mount{Writable: true})
	r.check(`for d in ro rw; do try $d-read cat $1/f; try $d-write put $1/f; try $d-make mkdir $1/n; try $d-mode chmod 700 $1/f
try $d-below touch $1/d/g; try $d-remove rm -f $1/d/g; shift; done`, map[string]string{
		"ro-read": "ok", "ro-write": readOnly, "ro-make": readOnly, "ro-mode": readOnly, "ro-below": readOnly, "ro-remove": readOnly,
		"rw-read": "ok", "rw-write": "ok", "rw-make": "ok", "rw-mode": "ok", "rw-below": "ok", "rw-remove": "ok",
	}, ro, rw)
	if got := read(t, ro+"/f"); got != "f" {
		t.Errorf("the read-only file now holds %q", got)
	}
	if got := read(t, rw+"/f"); got != "new\n" { // positive control
		t.Errorf("the writable file holds %q", got)
	}
}

// esc/NS-10, esc/NS-11: set-user-id bits and device nodes count nowhere, programs where it
// is said.
func TestBindHasNoProgramsUnlessSaid(t *testing.T) {
	d := t.TempDir()
	if err := os.WriteFile(d+"/x", []byte("#!/bin/sh\nexit 0\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for exec, want := range map[bool]string{false: denied, true: "ok"} {
		r := newRoom(t)
		r.bind(d, Mount{Exec: exec})
		r.check(`try run "$1/x"; echo flags $(grep " $1 " /proc/self/mountinfo | cut -d" " -f6)`, map[string]string{"run": want}, d)
		out, _ := r.run(`grep " $1 " /proc/self/mountinfo | cut -d" " -f6`, d)
		if !strings.Contains(out, "nosuid") || !strings.Contains(out, "nodev") || strings.Contains(out, "noexec") == exec {
			t.Errorf("exec %v: flags %q", exec, out)
		}
	}
	for devices, want := range map[bool]string{false: denied, true: "ok"} {
		r := newRoom(t)
		r.bind("/dev/zero", Mount{Devices: devices})
		r.check(`try open head -c 1 /dev/zero`, map[string]string{"open": want})
	}
}

// A mask shows nothing and takes nothing, and what it covers is unchanged.
func TestMask(t *testing.T) {
	for _, mode := range []uint32{0, 0o555} {
		w := tree(t, "open/f", "secret/f", "key", "other")
		r := newRoom(t, w)
		r.add(Mount{Kind: KindMask, Path: w + "/secret", Held: hold(t, w+"/secret"), Mode: mode},
			Mount{Kind: KindMask, Path: w + "/key", Held: hold(t, w+"/key"), Mode: mode})
		list, file := denied, denied
		if mode != 0 {
			list, file = "ok", "ok"
		}
		r.check(`cd $1; try list ls secret; try below cat secret/f; try file cat key; echo size $(wc -c <key); try make touch secret/n
try move mv secret gone; try movefile mv key gone; try unmask umount secret; try write put key; try link ln key alias
try control cat other; try controlmove mv other others; ls -a $1`, map[string]string{
			"list": list, "file": file, "move": busy, "movefile": busy, "control": "ok", "controlmove": "ok",
		}, w)
		if out, _ := r.run(`ls $1/secret; cat $1/secret/* $1/key; grep -c /.mask /proc/self/mountinfo; ls -a / | grep mask`, w); strings.Contains(out, "secret/f") || strings.Contains(out, "key\n") {
			t.Errorf("the mask shows %q", out)
		}
		if got := read(t, w+"/secret/f") + read(t, w+"/key"); got != "secret/fkey" {
			t.Errorf("what was masked now holds %q", got)
		}
		if list, err := os.ReadDir(w + "/secret"); err != nil || len(list) != 1 {
			t.Errorf("the masked folder holds %v, %v", list, err)
		}
	}
}

// A folder that is bound on itself can be neither moved away nor replaced, and one in it
// can be less open.
func TestSelfBind(t *testing.T) {
	w := tree(t, ".git/hooks/pre-commit", ".git/index", "free/f")
	r := newRoom(t, w)
	r.add(Mount{Kind: KindSelf, Path: w + "/.git", Held: hold(t, w+"/.git"), Writable: true, Exec: true},
		Mount{Kind: KindSelf, Path: w + "/.git/hooks", Held: hold(t, w+"/.git/hooks")})
	r.check(`cd $1; try move mv .git .g; try swap mv -T free .git; try remove rm -rf .git/hooks; try hook put .git/hooks/pre-commit
try newhook put .git/hooks/post-commit; try movehooks mv .git/hooks .git/h; try index put .git/index; try make mkdir .git/new
try control mv free gone`, map[string]string{
		"move": busy, "swap": busy, "remove": readOnly, "hook": readOnly, "newhook": readOnly, "movehooks": busy,
		"index": "ok", "make": "ok", "control": "ok",
	}, w)
	if got := read(t, w+"/.git/hooks/pre-commit"); got != ".git/hooks/pre-commit" {
		t.Errorf("the hook now holds %q", got)
	}
}

// What was held is what is bound or covered, or nothing is started at all.
func TestAReplacedPathIsRefused(t *testing.T) {
	swap := func(t *testing.T, a, b string) {
		t.Helper()
		if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		errno  unix.Errno
		change func(t *testing.T, w string)
	}{
		"nothing": {0, func(*testing.T, string) {}}, // positive control
		"another folder": {unix.ESTALE, func(t *testing.T, w string) {
			swap(t, w+"/a", w+"/b")
		}},
		"a file": {unix.ESTALE, func(t *testing.T, w string) {
			swap(t, w+"/a", w+"/f")
		}},
		"a link to it": {unix.ELOOP, func(t *testing.T, w string) {
			swap(t, w+"/a", w+"/l")
			if err := os.Rename(w+"/l", w+"/elsewhere"); err != nil {
				t.Fatal(err)
			}
		}},
		"nothing at all": {unix.ENOENT, func(t *testing.T, w string) {
			if err := os.Rename(w+"/a", w+"/gone"); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		for kind, entry := range map[string]Mount{
			"bind": {Kind: KindBind, Path: "/a"}, "self": {Kind: KindSelf}, "mask": {Kind: KindMask}, "over": {Kind: KindBind},
		} {
			t.Run(name+" instead, "+kind, func(t *testing.T) {
				w := tree(t, "a/x", "b/y", "f", "c/z")
				if err := os.Symlink("elsewhere", w+"/l"); err != nil {
					t.Fatal(err)
				}
				r := newRoom(t, w)
				m := entry
				if m.Path == "" {
					m.Path = w + "/a"
				} else {
					r.add(Mount{Kind: KindDir, Path: "/a"})
				}
				switch kind {
				case "bind":
					m.Source, m.Held = w+"/a", hold(t, w+"/a")
				case "over":
					m.Source, m.Held, m.Over = w+"/c", hold(t, w+"/c"), hold(t, w+"/a")
				default:
					m.Held = hold(t, w+"/a")
				}
				r.add(m)
				c.change(t, w)
				q := r.request("exit 0")
				if c.errno == 0 {
					if _, e := output(t, q); e != (Event{Exited, 0}) {
						t.Errorf("%+v", e)
					}
					return
				}
				_, err := Start(q)
				if !isStep(err, StepMount, c.errno) {
					t.Fatalf("%v, want %v", err, c.errno)
				}
				if e := err.(*Error); e.Mount != len(r.ns.Mounts)-1 || e.Path != m.Path || e.NotOffered() { //nolint:errorlint // checked above
					t.Errorf("%+v, want mount %d, %q", e, len(r.ns.Mounts)-1, m.Path)
				}
				noChild(t)
			})
		}
	}
}

// A name in a bound tree that has become a link out of it leads nowhere.
func TestALinkInTheWayIsRefused(t *testing.T) {
	w, out := tree(t, "d/x"), tree(t, "x")
	held := hold(t, w+"/d/x")
	if err := os.Rename(w+"/d", w+"/e"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(out, w+"/d"); err != nil {
		t.Fatal(err)
	}
	r := newRoom(t, w, out)
	r.add(Mount{Kind: KindMask, Path: w + "/d/x", Held: held})
	if _, err := Start(r.request("exit 0")); !isStep(err, StepMount, unix.ELOOP) {
		t.Errorf("%v, want ELOOP", err)
	}
	noChild(t)
}

// Layout of what the kernel reads.
func TestSizes(t *testing.T) {
	if got := unsafe.Sizeof(ifreq{}); got != 40 {
		t.Errorf("struct ifreq has %d bytes", got)
	}
	if got := unsafe.Sizeof(call{}); got > 112 {
		t.Errorf("a call has %d bytes", got)
	}
}
