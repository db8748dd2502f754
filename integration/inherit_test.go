package integration

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// TestInheritedDescriptors is area D: what the caller left open does not arrive.
func TestInheritedDescriptors(t *testing.T) {
	needs.LandlockABI(t, abi())
	needs.Seccomp(t)
	w := newWorld(t)
	r := row{id: "IN-01", name: "descriptors", attempt: "{O}{R}"}
	w.layout(t, r)
	var limit unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	numbers := []int{900, 1024, 2048, 4095}
	if limit.Cur < 4096 {
		t.Fatalf("%d descriptors are not enough for this test", limit.Cur)
	}
	leak(t, w, w.at(r, "O"), numbers)
	attempts := map[string]string{
		"esc/IN-01 esc/IN-02 read from a file":   call(unix.SYS_READ, numbers[0], "buf:8", 8),
		"esc/IN-03 open below a folder":          call(unix.SYS_OPENAT, numbers[1], "s:f", 0),
		"esc/IN-03 open below a path descriptor": call(unix.SYS_OPENAT, numbers[2], "s:f", 0),
		"esc/IN-04 esc/MD-07 change the mode":    call(unix.SYS_FCHMOD, numbers[0], 0o600),
		"esc/IN-04 change the times":             call(unix.SYS_UTIMENSAT, numbers[0], 0, 0, 0),
		"esc/IN-05 write to a socket":            call(unix.SYS_WRITE, numbers[3], "s:x", 1),
	}
	inside := leaky(t, exec.Command(program("brainbox"), boxArgs(nil, program("victim"))...), w)
	outside := leaky(t, exec.Command(program("victim")), w)
	before := w.snapshot(t)
	for name, attempt := range attempts {
		t.Run(name, func(t *testing.T) {
			if got := inside.ask(t, attempt); !hit(got, errnos("EBADF")) {
				t.Errorf("%q = %q, want EBADF", attempt, got)
			}
		})
	}
	if got := inside.ask(t, "fds"); got != "ok 0 1 2" {
		t.Errorf("esc/IN-06: open inside: %q, want 0 1 2", got)
	}
	after := w.snapshot(t)
	for path, text := range before {
		if after[path] != text {
			t.Errorf("%s changed from %q to %q", path, text, after[path])
		}
	}
	for name, attempt := range attempts {
		if got := outside.ask(t, attempt); !hit(got, []string{"ok"}) {
			t.Errorf("%s: control %q = %q, want ok", name, attempt, got)
		}
	}
}

// leak opens a file, a folder, the same folder as a path, and a socket, at these
// numbers and without close-on-exec, as a careless caller leaves them.
func leak(t *testing.T, w *world, dir string, numbers []int) {
	t.Helper()
	opened := map[string]int{}
	hold := func(name string, fd int, err error) {
		t.Helper()
		must(t, err)
		opened[name] = fd
		t.Cleanup(func() { _ = unix.Close(fd) })
	}
	fd, err := unix.Open(filepath.Join(dir, "f"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	hold("file", fd, err)
	fd, err = unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	hold("folder", fd, err)
	fd, err = unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0)
	hold("path", fd, err)
	conn, err := net.Dial("tcp", w.net.vars["TCP4"])
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	file, err := conn.(*net.TCPConn).File()
	must(t, err)
	t.Cleanup(func() { _ = file.Close() })
	opened["socket"] = int(file.Fd())

	names := []string{"file", "folder", "path", "socket"}
	for i, name := range names {
		must(t, unix.Dup3(opened[name], numbers[i], 0))
		t.Cleanup(func() { _ = unix.Close(numbers[i]) })
	}
}

// leaky starts a program the way a careless caller does: with everything that has no
// close-on-exec. Package exec passes it on, as it marks only its own descriptors.
func leaky(t testing.TB, cmd *exec.Cmd, w *world) *side {
	t.Helper()
	cmd.Dir, cmd.Env = w.dir("W"), environ(t)
	return open(t, cmd)
}

// TestInheritedState is the rest of area D.
func TestInheritedState(t *testing.T) {
	needs.LandlockABI(t, abi())
	needs.Seccomp(t)
	w := newWorld(t)

	t.Run("esc/IN-13 ignored and blocked signals", func(t *testing.T) {
		// trap '' ignores; the shell hands that on.
		sh := "trap '' PIPE CHLD HUP TERM USR1; exec \"$@\""
		want := "ok SigBlk=0000000000000000 SigIgn=0000000000000000"
		box := append([]string{"-c", sh, "sh", program("brainbox")}, boxArgs(nil, program("victim"), "signals")...)
		if got := output(t, w, exec.Command("/bin/sh", box...)); got != want {
			t.Errorf("inside %q, want %q", got, want)
		}
		if got := output(t, w, exec.Command("/bin/sh", "-c", sh, "sh", program("victim"), "signals")); got == want {
			t.Errorf("control: outside %q, want something ignored", got)
		}
	})
	t.Run("esc/IN-15 umask 0", func(t *testing.T) {
		file := filepath.Join(w.dir("W"), "umask")
		old := unix.Umask(0)
		defer unix.Umask(old)
		output(t, w, exec.Command(program("brainbox"), boxArgs(nil, "/bin/sh", "-c", "echo x > "+file)...))
		st, err := os.Stat(file)
		must(t, err)
		if st.Mode().Perm()&0o022 != 0 {
			t.Errorf("mode %o, want nobody else to write", st.Mode().Perm())
		}
	})
	t.Run("esc/IN-11 capabilities", func(t *testing.T) {
		needs.Root(t)
		got := output(t, w, boxed(nil, victim("status CapInh CapPrm CapEff CapBnd CapAmb")...))
		if strings.Count(got, "=") != 5 || strings.Count(got, "=0000000000000000") != 5 {
			t.Errorf("%q, want all zero", got)
		}
		if got := output(t, w, exec.Command(program("victim"), "status", "CapEff")); got == "ok CapEff=0000000000000000" {
			t.Errorf("control: outside %q", got)
		}
	})
	t.Run("esc/IN-10 groups", func(t *testing.T) {
		needs.Root(t)
		groups := &syscall.SysProcAttr{Credential: &syscall.Credential{Groups: []uint32{4, 6, 27}}}
		cmd := exec.Command(program("brainbox"), boxArgs(nil, program("victim"), "status", "Groups")...)
		control := exec.Command(program("victim"), "status", "Groups")
		cmd.SysProcAttr, control.SysProcAttr = groups, groups
		if got := output(t, w, cmd); got != "ok Groups=" {
			t.Errorf("%q, want no group", got)
		}
		if got := output(t, w, control); got != "ok Groups=4,6,27" {
			t.Errorf("control: %q", got)
		}
	})
	t.Run("esc/IN-14 the command line of brainbox", func(t *testing.T) {
		inside := w.box(t, "--env", "SECRET_VALUE=hidden-in-argv")
		if got := inside.ask(t, "read /proc/"+w.vars["BOX"]+"/environ"); !hit(got, hidden("EACCES", "EPERM")) {
			t.Errorf("environ of brainbox: %q", got)
		}
	})
}

// output runs a program to its end in W and returns what it printed.
func output(t testing.TB, w *world, cmd *exec.Cmd) string {
	t.Helper()
	cmd.Dir, cmd.Env = w.dir("W"), environ(t)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v: %v\n%s", cmd.Args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestStandardOutputIsWriteOnly is esc/IN-09: a log that the caller opened for
// reading and writing can be neither read nor cut.
func TestStandardOutputIsWriteOnly(t *testing.T) {
	needs.LandlockABI(t, abi())
	needs.Seccomp(t)
	w := newWorld(t)
	log := filepath.Join(w.dir("O"), "log")
	const before = "old content\n"
	attempts := map[string][]string{
		"read":     {itoa(unix.SYS_PREAD64), "1", "buf:4", "4", "0"},
		"truncate": {itoa(unix.SYS_FTRUNCATE), "1", "0"},
	}
	for name, attempt := range attempts {
		t.Run(name, func(t *testing.T) {
			for _, confined := range []bool{true, false} {
				must(t, os.WriteFile(log, []byte(before), 0o644))
				f, err := os.OpenFile(log, os.O_RDWR|os.O_APPEND, 0)
				must(t, err)
				cmd := exec.Command(program("victim"), attempt...)
				if confined {
					cmd = exec.Command(program("brainbox"), boxArgs(nil, append([]string{program("victim")}, attempt...)...)...)
				}
				cmd.Dir, cmd.Env, cmd.Stdout = w.dir("W"), environ(t), f
				must(t, cmd.Run())
				must(t, f.Close())
				text, err := os.ReadFile(log)
				must(t, err)
				worked := strings.Contains(string(text), "ok ") || !strings.HasPrefix(string(text), before)
				if worked == confined {
					t.Errorf("confined %v: the log is %q", confined, text)
				}
			}
		})
	}
}
