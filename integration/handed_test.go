package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// TestHandedDescriptors is esc/MD-07 for what the caller hands over on purpose: the mode of
// a file of the caller's own can be changed by the descriptor, and that is declared. The
// terminal and /dev/null are the program's own in isolation namespaces, and stay as they are.
func TestHandedDescriptors(t *testing.T) {
	kernel(t)
	w := newWorld(t)
	path := filepath.Join(w.dir("O"), "handed")
	must(t, os.WriteFile(path, []byte(canaryText), 0o644))
	for fd, flag := range map[int]string{0: "", 3: "--pass-fd=3"} {
		must(t, os.Chmod(path, 0o644))
		flags := strings.Fields("-v " + flag)
		cmd := boxed(flags, victim(call(unix.SYS_FCHMOD, fd, 0o640))...)
		handOver(t, cmd, fd, path)
		r := run(t, w.dir("W"), cmd)
		if got := strings.TrimSpace(r.out); got != "ok 0" && got != "ok" || mode(t, path) != 0o640 {
			t.Errorf("descriptor %d: %q, mode %o: no longer open\n%s", fd, got, mode(t, path), r.err)
		}
		if _, list, _ := strings.Cut(r.err, "open: "); !strings.Contains(list, "metadata") {
			t.Errorf("descriptor %d is not declared: %q", fd, r.err)
		}
	}
	if inside() {
		checkDeclares(t, w, path)
	}
	t.Run("a file of somebody else that everybody may write", func(t *testing.T) {
		needs.Root(t) // to give it away
		attempt := call(unix.SYS_FSETXATTR, 0, "s:user.brainbox", "s:x", 1, 0)
		must(t, os.Chown(path, 61000, 61000))
		must(t, os.Chmod(path, 0o666))
		cmd := boxed([]string{"-v"}, victim(attempt)...)
		handOver(t, cmd, 0, path) // for reading
		r := run(t, w.dir("W"), cmd)
		_, err := unix.Getxattr(path, "user.brainbox", make([]byte, 8))
		if _, list, _ := strings.Cut(r.err, "open: "); inside() && err != nil || !strings.Contains(list, "metadata") {
			t.Errorf("%q, %v: no longer open, or not declared: %q", r.out, err, r.err)
		}
		if inside() {
			checkDeclares(t, w, path)
		}
	})
	t.Run("the terminal", func(t *testing.T) { handedTerminal(t, w) })
	t.Run("the null device", func(t *testing.T) {
		was := mode(t, os.DevNull)
		cmd := boxed(nil, victim(call(unix.SYS_FCHMOD, 0, int(was)))...) // as it is: a failure changes nothing
		handOver(t, cmd, 0, os.DevNull)
		want := "EROFS"
		if os.Geteuid() != 0 {
			want = "EPERM" // it is root's
		}
		if r := run(t, w.dir("W"), cmd); !strings.Contains(r.out, want) {
			t.Errorf("%q, want %s\n%s", r.out, want, r.err)
		}
	})
}

// handOver gives a command a file as a descriptor.
func handOver(t *testing.T, cmd *exec.Cmd, fd int, path string) {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	t.Cleanup(func() { _ = f.Close() })
	if fd == 0 {
		cmd.Stdin = f
	} else {
		cmd.ExtraFiles = []*os.File{f}
	}
}

func mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	st, err := os.Stat(path)
	must(t, err)
	return st.Mode().Perm()
}

// checkDeclares wants a file as standard input in the clause metadata, and a clause that is
// held without one.
func checkDeclares(t *testing.T, w *world, path string) {
	t.Helper()
	for _, handed := range []bool{true, false} {
		cmd := exec.Command(program("brainbox"), "check", "--json", "--isolation", isolation)
		cmd.Dir, cmd.Env = w.dir("W"), environ(t)
		if handed {
			handOver(t, cmd, 0, path)
		}
		out, err := cmd.Output()
		must(t, err)
		var p plan
		must(t, json.Unmarshal(out, &p))
		want := map[bool]string{true: "open", false: "enforced"}[handed]
		if p.state("metadata") != want {
			t.Errorf("with a file as standard input %v: metadata is %q, want %s", handed, p.state("metadata"), want)
		}
	}
}

// handedTerminal changes the mode of the caller's terminal, by a descriptor that is one.
func handedTerminal(t *testing.T, w *world) {
	p := newPTY(t)
	was := mode(t, p.name)
	p.start(t, w.dir("W"), boxed(nil, victim(call(unix.SYS_FCHMOD, 1, 0o611))...))
	p.end(t)
	want, after := "ok", os.FileMode(0o611)
	if inside() {
		want, after = "EROFS", was
	}
	if !strings.Contains(p.seen.String(), want) || mode(t, p.name) != after {
		t.Errorf("%q, mode %o, want %s and %o", p.seen, mode(t, p.name), want, after)
	}
	// Control: it is a terminal, and the caller's.
	p = newPTY(t)
	p.start(t, w.dir("W"), boxed(nil, "/bin/sh", "-c", `test -t 0 && test -t 1 && test -t 2 && stty size && echo line >/dev/tty && ps -o tty= 2>/dev/null; tty`))
	p.shows(t, "24 80")
	p.shows(t, "line")
	if status := p.end(t); inside() && (status != 0 || !slices.Contains(strings.Fields(p.seen.String()), "/dev/console")) {
		t.Errorf("status %d, %q", status, fmt.Sprint(p.seen))
	}
}
