package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// otherUser is an ordinary user that needs no entry in /etc/passwd.
const otherUser = 54321

// openTo is a folder that the ordinary user can reach.
func openTo(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "brainbox-open-") //nolint:usetesting // the user cannot reach t.TempDir
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	return dir
}

// asUser runs a command as the ordinary user, in a home of his own.
func asUser(t *testing.T, dir string, cmd *exec.Cmd) result {
	t.Helper()
	home := filepath.Join(dir, "home")
	checkout := filepath.Join(home, "checkout")
	if err := os.Mkdir(home, 0o700); err == nil {
		must(t, os.Mkdir(checkout, 0o700))
		must(t, os.Chown(checkout, otherUser, otherUser))
		must(t, os.Chown(home, otherUser, otherUser))
	}
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + home, "TMPDIR=" + home}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: otherUser, Gid: otherUser}}
	return run(t, checkout, cmd)
}

// TestPrivilegedPrograms is esc/NS-11 and esc/NS-12: a set-uid program and one with
// capabilities run as who called them.
func TestPrivilegedPrograms(t *testing.T) {
	kernel(t)
	needs.Root(t)
	dir := openTo(t)
	setuid, capable := filepath.Join(dir, "setuid"), filepath.Join(dir, "capable")
	copyProgram(t, program("victim"), setuid)
	copyProgram(t, program("victim"), capable)
	must(t, unix.Chmod(setuid, 0o4755))
	// struct vfs_cap_data, revision 2, effective: CAP_NET_RAW (capabilities(7)).
	attr := []byte{1, 0, 0, 2, 0, 1 << 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	must(t, unix.Setxattr(capable, "security.capability", attr, 0))
	uid := itoa(otherUser)
	for _, tt := range []struct{ path, field, inside, outside string }{
		{setuid, "Uid", "ok Uid=" + strings.Join([]string{uid, uid, uid, uid}, ","), "ok Uid=" + uid + ",0,0,0"},
		{capable, "CapEff", "ok CapEff=0000000000000000", "ok CapEff=0000000000002000"},
	} {
		command := []string{tt.path, "status", tt.field}
		r := asUser(t, dir, exec.Command(program("brainbox"), boxArgs([]string{"--rox", dir}, command...)...))
		if got := strings.TrimSpace(r.out); got != tt.inside {
			t.Errorf("%s inside %q, want %q: %s", tt.path, got, tt.inside, r.err)
		}
		r = asUser(t, dir, exec.Command(command[0], command[1:]...))
		if got := strings.TrimSpace(r.out); got != tt.outside {
			t.Errorf("control: %s outside %q, want %q: %s", tt.path, got, tt.outside, r.err)
		}
	}
}

// TestMountsInsideGrants is esc/FS-30 and esc/FS-31, in a mount namespace of its own.
func TestMountsInsideGrants(t *testing.T) {
	kernel(t)
	needs.Root(t)
	w := newWorld(t)
	secret := filepath.Join(w.dir("O"), "secret")
	must(t, os.WriteFile(secret, []byte(canaryText), 0o644))
	mounted := func(script string, command ...string) result {
		cmd := exec.Command("/bin/sh", append([]string{"-ec", script + `; exec "$@"`, "sh"}, command...)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
		cmd.Env = environ(t)
		return run(t, w.dir("W"), cmd)
	}
	boxed := func(flags []string, command ...string) []string {
		return append([]string{program("brainbox")}, boxArgs(flags, command...)...)
	}
	t.Run("esc/FS-30 a bind mount in W", func(t *testing.T) {
		at := filepath.Join(w.dir("W"), "m")
		must(t, os.Mkdir(at, 0o755))
		bind := fmt.Sprintf("mount --bind %s %s", w.dir("O"), at)
		r := mounted(bind, boxed([]string{"-v"}, program("victim"), "read", filepath.Join(at, "secret"))...)
		if r.status != 125 && !strings.Contains(r.err, "mount") {
			gap(t, "FS-30 a mount in W is reported", fmt.Sprintf("status %d, output %q, error %q", r.status, r.out, r.err))
		} else {
			closed(t, "FS-30 a mount in W is reported")
		}
	})
	t.Run("esc/FS-31 the layers of an overlay", func(t *testing.T) {
		needs.Overlay(t)
		for _, d := range []string{"lower", "upper", "work", "merged"} {
			must(t, os.Mkdir(filepath.Join(w.dir("O"), d), 0o755))
		}
		lower, merged := filepath.Join(w.dir("O"), "lower", "f"), filepath.Join(w.dir("O"), "merged", "f")
		must(t, os.WriteFile(lower, []byte(canaryText), 0o644))
		const mount = "mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work none merged"
		overlay := "cd " + w.dir("O") + "; " + mount + "; cd " + w.dir("W")
		grant := []string{"--rw", filepath.Dir(merged)}
		if r := mounted(overlay, boxed(grant, program("victim"), "read", merged)...); !strings.HasPrefix(r.out, "ok") {
			t.Errorf("control: the merged file: status %d, %q %q", r.status, r.out, r.err)
		}
		upper := filepath.Join(w.dir("O"), "upper", "new")
		for _, attempt := range []string{
			openat(lower, 0), openat(lower, unix.O_WRONLY), openat(upper, unix.O_CREAT|unix.O_WRONLY),
		} {
			r := mounted(overlay, boxed(grant, victim(attempt)...)...)
			if !hit(strings.TrimSpace(r.out), hidden("EACCES")) {
				t.Errorf("%q: status %d, %q %q", attempt, r.status, r.out, r.err)
			}
		}
	})
}
