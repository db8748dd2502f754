package integration

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestTerminalIsNotTyped(t *testing.T) {
	kernel(t)
	w := newWorld(t)
	other := newPTY(t)
	calls := map[string]string{
		"esc/TT-01 TIOCSTI":                 call(unix.SYS_IOCTL, 0, tiocsti, "s:x"),
		"esc/TT-01 TIOCSTI with a high bit": call(unix.SYS_IOCTL, 0, fmt.Sprint(uint64(tiocsti|1<<32)), "s:x"),
		"esc/TT-03 TIOCSETD":                call(unix.SYS_IOCTL, 0, unix.TIOCSETD, "u32:0"),
		"esc/TT-04 another terminal":        openat(other.name, unix.O_RDWR|unix.O_NOCTTY),
	}
	for name, attempt := range calls {
		t.Run(name, func(t *testing.T) {
			held := newPTY(t)
			held.start(t, w.dir("W"), boxed(nil, append([]string{program("victim")}, strings.Fields(attempt)...)...))
			if status := held.end(t); status != 0 {
				t.Errorf("status %d: %q", status, held.seen)
			}
			held.shows(t, "errno E")
			if got := held.seen.String(); !strings.Contains(got, "errno EPERM") && !strings.Contains(got, "errno EACCES") &&
				(!inside() || !strings.Contains(got, "errno ENOENT")) {
				t.Errorf("inside %q", got)
			}
			outside := newPTY(t)
			outside.start(t, w.dir("W"), exec.Command(program("victim"), strings.Fields(attempt)...))
			outside.end(t)
			outside.shows(t, "ok")
		})
	}
	for name, nr := range map[string]int{
		"esc/TT-02 TIOCLINUX": 0x541c, "esc/TT-03 TIOCCONS": 0x541d, "esc/TT-03 TIOCVHANGUP": 0x5437,
	} {
		t.Run(name, func(t *testing.T) {
			inside := newPTY(t)
			inside.start(t, w.dir("W"), boxed(nil, victim(ioctl(0, nr, "s:x"))...))
			inside.end(t)
			inside.shows(t, "errno EPERM")
		})
	}
}

// TestTerminalIsRestored is esc/TT-05.
func TestTerminalIsRestored(t *testing.T) {
	kernel(t)
	w := newWorld(t)
	for _, inside := range []bool{true, false} {
		p := newPTY(t)
		before := p.mode(t)
		cmd := exec.Command(program("victim"), "tty", "raw")
		if inside {
			cmd = boxed(nil, program("victim"), "tty", "raw")
		}
		p.start(t, w.dir("W"), cmd)
		if status := p.end(t); status != 0 {
			t.Fatalf("status %d: %q", status, p.seen)
		}
		if same := p.mode(t) == before; same != inside {
			t.Errorf("inside %v: the terminal is as before: %v", inside, same)
		}
	}
}

// TestTerminalKeys is ^C, and the size of the window.
func TestTerminalKeys(t *testing.T) {
	kernel(t)
	w := newWorld(t)
	t.Run("^C ends the program", func(t *testing.T) {
		p := newPTY(t)
		at := filepath.Join(w.dir("W"), "held")
		p.start(t, w.dir("W"), boxed(nil, program("victim"), "hold", at))
		pid := pidIn(t, at)
		p.typed(t, "\x03")
		if status := p.end(t); status != 130 || alive(pid) {
			t.Errorf("status %d, program alive: %v: %q", status, alive(pid), p.seen)
		}
	})
	t.Run("the window", func(t *testing.T) {
		p := newPTY(t)
		p.start(t, w.dir("W"), boxed(nil, program("victim")))
		p.typed(t, "tty size\n")
		p.shows(t, "ok 24x80")
		p.size(t, 40, 120)
		p.typed(t, "tty size\n")
		p.shows(t, "ok 40x120")
		p.typed(t, "tty group\n")
		p.shows(t, "ok foreground=")
		p.typed(t, "\x04")
		if status := p.end(t); status != 0 {
			t.Errorf("status %d: %q", status, p.seen)
		}
	})
	t.Run("SIGWINCH arrives", func(t *testing.T) {
		p := newPTY(t)
		script := "trap 'echo changed; exit 9' WINCH; echo ready; while :; do read -t 0.05 x; done"
		p.start(t, w.dir("W"), boxed(nil, "/bin/bash", "-c", script))
		p.shows(t, "ready")
		p.size(t, 50, 100)
		if status := p.end(t); status != 9 {
			t.Errorf("status %d: %q", status, p.seen)
		}
	})
}

// TestTerminalStop is ^Z and the shell's fg, with a very small shell.
func TestTerminalStop(t *testing.T) {
	kernel(t)
	w := newWorld(t)
	p := newPTY(t)
	script := "echo ready; read x; echo got-$x; exit 5"
	job := append([]string{"job"}, boxed(nil, "/bin/sh", "-c", script).Args...)
	p.start(t, w.dir("W"), exec.Command(program("victim"), job...))
	p.shows(t, "ready")
	p.typed(t, "\x1a")
	p.shows(t, "stopped")
	p.typed(t, "fg\n") // the small shell reads it
	p.shows(t, "continued")
	p.typed(t, "hello\n")
	p.shows(t, "got-hello")
	p.shows(t, "ended 5")
	p.end(t)
}

// TestTerminalIsLeftAlone is esc/TT-06: nothing reads the terminal after the end.
func TestTerminalIsLeftAlone(t *testing.T) {
	kernel(t)
	w := newWorld(t)
	p := newPTY(t)
	at := filepath.Join(w.dir("W"), "reader")
	hold := program("victim") + " hold " + at
	script := "(exec cat </dev/tty) & " + hold + " & while [ ! -e " + at + " ]; do :; done"
	p.start(t, w.dir("W"), boxed(nil, "/bin/sh", "-c", script))
	pid := pidIn(t, at)
	if status := p.end(t); status != 0 || alive(pid) {
		t.Errorf("status %d, alive: %v: %q", status, alive(pid), p.seen)
	}
	if group, err := unix.IoctlGetInt(int(p.master.Fd()), unix.TIOCGPGRP); err == nil && group > 0 && alive(group) {
		t.Errorf("process group %d has the terminal", group)
	}
}

// TestSanitize is esc/TT-07 and esc/TT-08.
func TestSanitize(t *testing.T) {
	kernel(t)
	w := newWorld(t)
	const bytes = `\033]52;c;eA==\007\033[21t\033P$q\033\\`
	r := confined(t, w, []string{"--sanitize"}, "/usr/bin/printf", bytes)
	if strings.ContainsAny(r.out, "\x1b\x07") || r.out == "" {
		t.Errorf("sanitised output %q", r.out)
	}
	if r := confined(t, w, nil, "/usr/bin/printf", bytes); !strings.Contains(r.out, "\x1b]52") {
		t.Errorf("control: output %q", r.out)
	}
	r = confined(t, w, []string{"--ro", "/no/such\x1b[2K\r/thing"}, "/bin/true")
	if r.status != 125 || strings.ContainsAny(r.err, "\x1b\r") || !strings.HasPrefix(r.err, "brainbox: ") {
		t.Errorf("status %d, error %q", r.status, r.err)
	}
	if r := confined(t, w, nil, "./no\x1b[2Ksuch"); r.status != 127 || strings.ContainsAny(r.err, "\x1b") {
		t.Errorf("status %d, error %q", r.status, r.err)
	}
}
