package spawn

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

func TestBoundsOfATmpfs(t *testing.T) {
	r := newRoom(t)
	r.add(Mount{Kind: KindDir, Path: "/tmp", Mode: 0o755},
		Mount{Kind: KindFS, Path: "/tmp", FSType: "tmpfs", Writable: true, Options: []string{"size=65536", "nr_inodes=10", "mode=1777"}},
		Mount{Kind: KindDir, Path: "/run", Mode: 0o755},
		Mount{Kind: KindFS, Path: "/run", FSType: "tmpfs", Writable: true, Options: []string{"size=65536"}},
		Mount{Kind: KindFile, Path: "/run/made", Mode: 0o644, Data: []byte("before")},
		Mount{Kind: KindSeal, Path: "/run"})
	if r.has("/etc") {
		t.Fatal("the room has an /etc")
	}
	r.add(Mount{Kind: KindDir, Path: "/etc", Mode: 0o755}, Mount{Kind: KindFile, Path: "/etc/passwd", Mode: 0o644, Data: []byte("root:x:0:0::/:\n")})
	r.check(`try some head -c 60000 /dev/null; try small put /tmp/s; try large dd if=/usr/bin/sh of=/tmp/l bs=70000 count=1
rm -f /tmp/l; i=0; while [ $i -lt 8 ] && put /tmp/$i; do i=$((i+1)); done; try inodes put /tmp/last; echo mode $(ls -ld /tmp | cut -c1-10)
try run /tmp/s; echo sealed $(cat /run/made); try seal put /run/made; try sealnew put /run/x; echo passwd $(cat /etc/passwd)
try passwd2 put /etc/passwd; try top mkdir /x; try unseal rm /run/made`, map[string]string{
		"small": "ok", "inodes": "No space left on device", "mode": "drwxrwxrwt", "sealed": "before", "seal": readOnly, "sealnew": readOnly,
		"passwd": "root:x:0:0::/:", "passwd2": readOnly, "top": readOnly, "unseal": readOnly,
	})
}

// A file that does not fit is no file.
func TestAFileThatDoesNotFit(t *testing.T) {
	r := newRoom(t)
	r.add(Mount{Kind: KindDir, Path: "/small"}, Mount{Kind: KindFS, Path: "/small", FSType: "tmpfs", Writable: true, Options: []string{"size=4096"}},
		Mount{Kind: KindFile, Path: "/small/f", Data: make([]byte, 3*4096)})
	var e *Error
	if _, err := Start(r.request("exit 0")); !errors.As(err, &e) || e.Step != StepMount || e.Call != "write" || e.Errno == 0 || e.Path != "/small/f" {
		t.Errorf("%v", err)
	}
	noChild(t)
}

// An own devpts: a terminal can be opened, and it is not one of the host's.
func TestDevpts(t *testing.T) {
	r := newRoom(t)
	r.add(Mount{Kind: KindDir, Path: "/dev/pts", Mode: 0o755},
		Mount{Kind: KindFS, Path: "/dev/pts", FSType: "devpts", Writable: true, Devices: true, Options: []string{"newinstance", "ptmxmode=0666", "mode=620"}},
		Mount{Kind: KindSymlink, Path: "/dev/ptmx", Source: "pts/ptmx"},
		Mount{Kind: KindDir, Path: "/dev/mqueue", Mode: 0o755}, Mount{Kind: KindFS, Path: "/dev/mqueue", FSType: "mqueue", Writable: true})
	r.check(`try open sh -c ': <>/dev/ptmx'; exec 3<>/dev/ptmx; echo list $(ls /dev/pts); try queue ls /dev/mqueue`,
		map[string]string{"open": "ok", "list": "0 ptmx", "queue": "ok"})
}

// What is mounted below comes along when it is said, and cannot be left out where that
// would uncover something.
func TestRecursiveBind(t *testing.T) {
	r := newRoom(t)
	r.bind("/sys", Mount{Recursive: true})
	mounts := strings.Count(read(t, "/proc/self/mountinfo"), " /sys")
	if mounts < 2 {
		t.Skip("nothing is mounted below /sys") // gating: needs has no word for it
	}
	out, _ := r.run(`grep -c " /sys" /proc/self/mountinfo; grep " /sys" /proc/self/mountinfo | cut -d" " -f6 | grep -vc "^ro,nosuid,nodev,noexec"`)
	if want := fmt.Sprintf("%d\n0\n", mounts); out != want {
		t.Errorf("mounts and writable ones: %q, want %q", out, want)
	}
	r = newRoom(t)
	r.bind("/sys", Mount{})
	if _, err := Start(r.request("exit 0")); !isStep(err, StepMount, unix.EINVAL) {
		t.Errorf("without: %v, want EINVAL", err)
	}
	for one, want := range map[bool]unix.Errno{false: 0, true: unix.EXDEV} {
		r = newRoom(t)
		r.bind("/sys/kernel", Mount{Recursive: true, OneMount: one})
		if want == 0 {
			if _, e := r.run("exit 0"); e != (Event{Exited, 0}) {
				t.Errorf("%+v", e)
			}
		} else if _, err := Start(r.request("exit 0")); !isStep(err, StepMount, want) {
			t.Errorf("one mount: %v, want %v", err, want)
		}
	}
}

// A rule of the ruleset can be for what did not exist when the ruleset was made.
func TestGrantOfWhatIsMade(t *testing.T) {
	needs.LandlockABI(t, 1)
	w := tree(t, "f")
	for granted, want := range map[bool]string{false: denied, true: "ok"} {
		r := newRoom(t, w)
		r.add(Mount{Kind: KindDir, Path: "/tmp/own", Mode: 0o755}, Mount{Kind: KindFS, Path: "/tmp/own", FSType: "tmpfs", Writable: true},
			Mount{Kind: KindFile, Path: "/tmp/own/made", Mode: 0o644, Data: []byte("made")})
		if granted {
			r.add(Mount{Kind: KindGrant, Path: "/tmp/own", Access: unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE})
		}
		q := r.request(what + `try own cat /tmp/own/made; try new put /tmp/own/new; try w cat ` + w + `/f; try usr test -r /usr/bin/sh; try p cat /proc/self/status`)
		q.Ruleset = ruleset(t, "/usr", "/dev/null") // what is bound itself: no rule reaches into a bind from above
		out, _ := output(t, q)
		got := lines(out)
		if got["own"] != want || got["new"] != want || got["w"] != denied || got["usr"] != "ok" || got["p"] != denied {
			t.Errorf("granted %v: %v", granted, got)
		}
	}
}

// Even with every capability in a user namespace of its own a program cannot lift a mask,
// make a read-only mount writable or bind what lies below: the kernel locks together what
// a less privileged mount namespace inherits (mount_namespaces(7)); esc/NS-08.
func TestMountsHoldAgainstCapabilities(t *testing.T) {
	needs.Program(t, "unshare")
	w := tree(t, "secret/f", "ro/f", "free/f", "at/")
	r := newRoom(t, w)
	r.ns.Userns = true
	r.add(Mount{Kind: KindMask, Path: w + "/secret", Held: hold(t, w+"/secret"), Mode: 0o755},
		Mount{Kind: KindSelf, Path: w + "/ro", Held: hold(t, w+"/ro")})
	q := r.request(`cd $1; unshare -Urm sh -c '
try() { n=$1; shift; if "$@" >/dev/null 2>&1; then echo "$n ok"; else echo "$n no"; fi; }
try umask umount secret; try lazy umount -l secret; try uro umount ro; try remount mount -o remount,bind,rw ro
try bind mount --bind . at; try private mount --make-rprivate /; try move mount --move secret at; try uroot umount -l /
try file cat secret/f; try write touch ro/f; try own mount -t tmpfs none free; cat at/secret/f'`, w)
	if os.Geteuid() == 0 { // who has no capability may not map uid 0 (Linux 5.12)
		q.Identity = &Identity{UID: 61000, GID: 61000}
	}
	out, _ := output(t, q)
	got := lines(out)
	for _, name := range []string{"umask", "lazy", "uro", "remount", "bind", "move", "uroot", "file", "write"} {
		if got[name] != "no" {
			t.Errorf("%s: %q", name, got[name])
		}
	}
	if got["own"] != "ok" { // positive control: it has the capability
		t.Errorf("a mount of its own: %q", got["own"])
	}
	if strings.Contains(out, "secret/f\n") {
		t.Error("what is masked was shown")
	}
}

// What a proc of the host's tells about other users is hidden in the program's own.
func TestMaskInProc(t *testing.T) {
	needs.Kernel(t)
	if read(t, "/proc/key-users") == "" {
		t.Fatal("the host's file is empty: nothing would be shown")
	}
	r := newRoom(t)
	r.add(Mount{Kind: KindMask, Path: "/proc/key-users", Mode: 0o444})
	r.check(`echo size $(wc -c </proc/key-users); try write put /proc/key-users; echo control $(wc -l </proc/self/status | tr -d 0-9)`,
		map[string]string{"size": "0", "write": readOnly, "control": ""})
	r.add(Mount{Kind: KindMask, Path: "/proc/no-such-file", Mode: 0o444})
	var e *Error
	if _, err := Start(r.request("exit 0")); !errors.As(err, &e) || e.Step != StepMount || e.Errno != unix.ENOENT || e.Path != "/proc/no-such-file" {
		t.Errorf("a mask of nothing: %v", err)
	}
	noChild(t)
}

// A link that has to stay is bound on itself, not what it leads to.
func TestSelfBindOfALink(t *testing.T) {
	w := tree(t, "rc", "d/", "other")
	for name, to := range map[string]string{"link": "rc", "dangling": "nowhere", "free": "rc"} {
		if err := os.Symlink(to, w+"/"+name); err != nil {
			t.Fatal(err)
		}
	}
	r := newRoom(t)
	r.bind(w, Mount{Writable: true})
	for _, name := range []string{"link", "dangling"} {
		fd, err := unix.Open(w+"/"+name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		r.add(Mount{Kind: KindSelf, Path: w + "/" + name, Held: fd})
	}
	r.check(`cd $1; try move mv link gone; try remove rm -f link; try over mv -T other link; try swap ln -sf other link; try dangling mv dangling gone
echo reads $(cat link); try target put rc; try free mv free freed; try swapped ln -sf other freed`, map[string]string{
		"move": busy, "remove": busy, "over": busy, "dangling": busy, "reads": "rc", "target": "ok", "free": "ok", "swapped": "ok",
	}, w)
	if to, err := os.Readlink(w + "/link"); err != nil || to != "rc" {
		t.Errorf("the link outside leads to %q, %v", to, err)
	}
	// Another one in its place is found out, and so is a file.
	for _, name := range []string{"dangling", "other"} {
		fd := r.ns.Mounts[len(r.ns.Mounts)-2].Held
		q := newRoom(t)
		q.bind(w, Mount{Writable: true})
		q.add(Mount{Kind: KindSelf, Path: w + "/" + name, Held: fd})
		if _, err := Start(q.request("exit 0")); !isStep(err, StepMount, unix.ESTALE) {
			t.Errorf("%s in place of the link: %v, want ESTALE", name, err)
		}
	}
	noChild(t)
}
