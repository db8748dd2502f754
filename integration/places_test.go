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

// TestPlaces has file systems that are laid out in other ways: a checkout reached through a
// link, links that lead on relatively, a merged /usr, and a store of programs on another mount
// with links into it.
func TestPlaces(t *testing.T) {
	kernel(t)
	w := newWorld(t)
	at := func(zone, name string) string { return filepath.Join(w.dir(zone), name) }
	must(t, os.WriteFile(at("R", "f"), []byte(canaryText), 0o644))
	must(t, os.Mkdir(at("W", "deep"), 0o755))
	must(t, os.Symlink("../../R/f", at("W", "deep/relative")))
	must(t, os.Symlink("deep/../deep/relative", at("W", "on")))
	must(t, os.Symlink(w.dir("W"), filepath.Join(w.root, "linked")))
	through := filepath.Join(w.root, "linked")
	script := `cat on deep/relative; echo x >new; pwd -P; test -x /usr/bin/env; /usr/bin/env true; readlink /bin /lib || :`
	flags := []string{"--ro", w.dir("R")}
	for _, dir := range []string{w.dir("W"), through} {
		want := run(t, dir, exec.Command("/bin/sh", "-euc", script)) // the positive control
		cmd := exec.Command(program("brainbox"), boxArgs(flags, "/bin/sh", "-euc", script)...)
		cmd.Env = append(environ(t), "PWD="+dir)
		if got := run(t, dir, cmd); got.status != want.status || got.out != want.out || want.status != 0 {
			t.Errorf("in %s: status %d, %q, want %q\n%s", dir, got.status, got.out, want.out, got.err)
		}
	}
	// A link that leads out of every grant leads nowhere, by whatever way.
	must(t, os.WriteFile(at("O", "secret"), []byte(canaryText), 0o644))
	must(t, os.Symlink("../O/secret", at("W", "out")))
	if r := confined(t, w, flags, program("victim"), "read", at("W", "out")); !hit(strings.TrimSpace(r.out), hidden("EACCES")) {
		t.Errorf("out: %q", r.out)
	}
	t.Run("a store on another mount", func(t *testing.T) {
		needs.Root(t)
		store := filepath.Join(w.root, "store")
		must(t, os.Mkdir(store, 0o755))
		must(t, os.Symlink("store/h4sh-tool/bin", filepath.Join(w.root, "profile")))
		mount := fmt.Sprintf(`mount -t tmpfs none %[1]s; mkdir -p %[1]s/h4sh-tool/bin %[1]s/h4sh-lib; cp %[2]s %[1]s/h4sh-tool/bin/tool
			echo data >%[1]s/h4sh-lib/data; ln -s ../../h4sh-lib/data %[1]s/h4sh-tool/bin/data; exec "$@"`, store, program("victim"))
		tool := filepath.Join(w.root, "profile")
		for _, confined := range []bool{false, true} {
			command := []string{tool + "/tool", "read", tool + "/data"}
			if confined {
				command = append([]string{program("brainbox")}, boxArgs([]string{"--rox", store, "--rox", tool}, command...)...)
			}
			cmd := exec.Command("/bin/sh", append([]string{"-euc", mount, "sh"}, command...)...)
			cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
			cmd.Env = environ(t)
			if r := run(t, w.dir("W"), cmd); !strings.HasPrefix(r.out, "ok") || !strings.Contains(r.out, "data") {
				t.Errorf("confined %v: status %d, %q\n%s", confined, r.status, r.out, r.err)
			}
		}
	})
}
