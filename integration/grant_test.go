package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"brainbox/internal/needs"

	"golang.org/x/sys/unix"
)

// TestDeviceGrant is esc/FS-40: a granted device may be read and written, and its
// own ioctls stay refused.
func TestDeviceGrant(t *testing.T) {
	kernel(t)
	needs.LandlockABI(t, 5) // else the grant is refused: nothing holds a device's own ioctls
	w := newWorld(t)
	p := newPTY(t)
	boxed := w.box(t, "--rw", p.name)
	opened := openat(p.name, unix.O_RDWR|unix.O_NOCTTY)
	refused := map[string]int{"TCGETS": unix.TCGETS, "TIOCGWINSZ": unix.TIOCGWINSZ, "TIOCSWINSZ": unix.TIOCSWINSZ}
	for name, request := range refused {
		attempt := then(opened, call(unix.SYS_IOCTL, "$1", request, "buf:64"))
		if inside() {
			attempt = opened // the program has terminals of its own: this one is not there
		}
		if got := boxed.ask(t, attempt); !hit(got, append(last(1, "EACCES"), hidden("EACCES")[1:]...)) {
			t.Errorf("%s: %q, want EACCES", name, got)
		}
	}
	for name, request := range map[string]int{"FIOCLEX": 0x5451, "FIONBIO": 0x5421, "FIOASYNC": 0x5452} {
		if got := boxed.ask(t, then(opened, call(unix.SYS_IOCTL, "$1", request, "buf:4"))); !hit(got, []string{"ok"}) && !inside() {
			t.Errorf("control %s: %q, want ok", name, got)
		}
	}
	outside := bare(t, w.dir("W"))
	if got := outside.ask(t, then(opened, ioctl("$1", unix.TCGETS, "buf:64"))); !hit(got, []string{"ok"}) {
		t.Errorf("control outside: %q", got)
	}
}

// TestSwappedGrant is esc/FS-33: a host process that swaps the granted name while
// brainbox starts gets a refusal or the one folder, never a write grant on /.
func TestSwappedGrant(t *testing.T) {
	kernel(t)
	w := newWorld(t)
	good, evil := filepath.Join(w.dir("W"), "good"), filepath.Join(w.dir("W"), "evil")
	must(t, os.Mkdir(good, 0o755))
	must(t, os.Symlink("/", evil))
	outside := filepath.Join(w.dir("O"), "secret")
	must(t, os.WriteFile(outside, []byte(canaryText), 0o644))
	var stop atomic.Bool
	done := make(chan int)
	go func() {
		swaps := 0
		for ; !stop.Load(); swaps++ {
			_ = unix.Renameat2(unix.AT_FDCWD, good, unix.AT_FDCWD, evil, unix.RENAME_EXCHANGE)
		}
		done <- swaps
	}()
	runs := 200
	if testing.Short() {
		runs = 20
	}
	started, refused := 0, 0
	for range runs {
		r := confined(t, w, []string{"--rw", good}, victim(openat(outside, unix.O_WRONLY))...)
		switch {
		case r.status == 0 && hit(strings.TrimSpace(r.out), hidden("EACCES")):
			started++
		case r.status == 125:
			refused++
		default:
			t.Errorf("status %d, output %q, error %q", r.status, r.out, r.err)
		}
	}
	stop.Store(true)
	if swaps := <-done; swaps < runs || started == 0 || refused == 0 {
		t.Errorf("%d swaps, %d starts, %d refusals: the race did not happen", swaps, started, refused)
	}
}

// TestHardLinkAlias is esc/FS-21: a name in W that is also a file outside is written
// through, which no rule can see. It is declared, or it is a gap.
func TestHardLinkAlias(t *testing.T) {
	kernel(t)
	w := newWorld(t)
	file, alias := filepath.Join(w.dir("R"), "f"), filepath.Join(w.dir("W"), "second-name")
	must(t, os.WriteFile(file, []byte(canaryText), 0o644))
	must(t, os.Link(file, alias))
	inside := w.box(t)
	if got := inside.ask(t, "write "+alias+" 0 CHANGED"); got != "ok" {
		t.Errorf("the alias is no longer open: %q", got)
	}
	if got := read(t, file); !strings.HasPrefix(got, "CHANGED") {
		t.Errorf("the file outside is %q", got)
	}
	cmd := exec.Command(program("brainbox"), "check", "--json", "--tree")
	cmd.Env = environ(t)
	const name = "FS-21 check --tree reports an alias"
	if r := run(t, w.dir("W"), cmd); strings.Contains(r.out, "second-name") {
		closed(t, name)
	} else {
		gap(t, name, fmt.Sprintf("status %d, error %q", r.status, r.err))
	}
}
