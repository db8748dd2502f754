package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMissingCalls is esc/LA-01, esc/LA-02, esc/LA-09 and esc/IN-02: on a kernel, or
// behind an outer filter, that has not what confines a program, none is started.
func TestMissingCalls(t *testing.T) {
	kernel(t)
	w := newWorld(t)
	for name, nr := range map[string]int{
		"landlock_create_ruleset": unix.SYS_LANDLOCK_CREATE_RULESET,
		"landlock_add_rule":       unix.SYS_LANDLOCK_ADD_RULE,
		"landlock_restrict_self":  unix.SYS_LANDLOCK_RESTRICT_SELF,
		"seccomp":                 unix.SYS_SECCOMP,
		"close_range":             unix.SYS_CLOSE_RANGE,
		"capset":                  unix.SYS_CAPSET,
		"umask":                   unix.SYS_UMASK,
		"fchdir":                  unix.SYS_FCHDIR,
		"dup3":                    unix.SYS_DUP3,
		"flock":                   unix.SYS_FLOCK,
	} {
		t.Run(name, func(t *testing.T) {
			marker := filepath.Join(w.dir("W"), "ran-"+name)
			r := run(t, w.dir("W"), without(nr, boxed(nil, "/bin/sh", "-c", "echo ran > "+marker)))
			_, err := os.Lstat(marker)
			ran := err == nil
			switch {
			case ran && name == "dup3": // not needed when the standard descriptors stay
			case ran || r.status != 125 || !strings.HasPrefix(r.err, "brainbox: "):
				t.Errorf("status %d, the program ran: %v, error %q", r.status, ran, r.err)
			}
		})
	}
	marker := filepath.Join(w.dir("W"), "control")
	if r := run(t, w.dir("W"), without(1000, boxed(nil, "/bin/sh", "-c", "echo ran > "+marker))); r.status != 0 {
		t.Errorf("control: status %d, error %q", r.status, r.err)
	}
	exists(t, marker)
}

// without is a command for which a system call does not exist.
func without(nr int, cmd *exec.Cmd) *exec.Cmd {
	return exec.Command(program("victim"), append([]string{"without", itoa(nr)}, cmd.Args...)...)
}
