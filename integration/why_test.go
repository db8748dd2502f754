package integration

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestWhyIsWhatHappens is esc/LA-17: for a table of paths, what brainbox why says and what
// the kernel does inside are compared, in this isolation and for this user.
func TestWhyIsWhatHappens(t *testing.T) {
	kernel(t)
	w := newWorld(t)
	repository(t, w)
	flags := []string{"--ro", w.dir("R"), "--rw", w.dir("X")}
	at := func(zone, name string) string { return filepath.Join(w.dir(zone), name) }
	for name, mode := range map[string]os.FileMode{"plain": 0o644, "closed": 0o200, "fixed": 0o444} {
		for _, zone := range zones {
			must(t, os.WriteFile(at(zone, name), []byte(canaryText), 0o600))
			must(t, os.Chmod(at(zone, name), mode))
		}
	}
	must(t, os.WriteFile(at("W", ".git/config"), []byte("[core]\n"), 0o644))
	must(t, os.Symlink("../O/plain", at("W", "leads-out")))
	socket := at("W", "sock")
	l, err := net.Listen("unix", socket)
	must(t, err)
	defer l.Close()
	side := w.box(t)
	pid := "/proc/" + w.vars["PID"] + "/"
	reads := []string{
		socket, at("W", "plain"), at("W", "closed"), at("R", "plain"), at("R", "closed"), at("O", "plain"), at("W", "leads-out"), at("W", "absent"),
		at("W", ".git/config"), "/etc/passwd", "/etc/shadow", "/etc/hostname", "/dev/kmsg", "/proc/meminfo", "/proc/keys",
		"/proc/timer_list", "/proc/self/status", "/proc/self/environ", "/proc/1/environ", "/proc/1/cmdline", "/proc/1/status", "/proc/version",
		pid + "environ", pid + "maps", pid + "status", pid + "cmdline", pid + "io", pid + "stat", pid + "auxv", pid + "limits", pid + "mountinfo",
		"/proc/sys/kernel/osrelease", "/tmp/none",
	}
	writes := []string{
		at("W", "plain"), at("W", "fixed"), at("W", "new"), at("R", "plain"), at("R", "new"), at("O", "plain"), at("O", "new"), at("X", "plain"),
		at("W", ".git/config"), at("W", ".git/hooks/pre-commit"), at("W", ".git/index"), at("W", "leads-out"), "/dev/null", "/dev/kmsg",
		"/proc/self/comm", "/proc/sysrq-trigger", "/etc/passwd", "/etc/new", "/new", "/dev/shm/brainbox-why-" + itoa(os.Getpid()),
	}
	for op, list := range map[string][]string{"read": reads, "write": writes} {
		for _, path := range list {
			cmd := boxed(nil)
			cmd.Args = append(append([]string{"brainbox", "why", "--isolation", isolation}, flags...), op, path)
			said := run(t, w.dir("W"), cmd)
			got, did := "", false
			if op == "read" {
				got = side.ask(t, "read "+path)
				did = strings.HasPrefix(got, "ok")
			} else {
				got = side.ask(t, openat(path, unix.O_WRONLY|unix.O_CREAT))
				did = strings.HasPrefix(got, "ok")
			}
			if _, err := os.Stat(path); op == "read" && err != nil && said.status == 0 && strings.Contains(got, "ENOENT") {
				did = true // it would be granted, and is not there
			}
			if said.status > 1 || did != (said.status == 0) {
				t.Errorf("why %s %s: status %d (%s), the kernel: %.60q", op, path, said.status, strings.TrimSpace(said.out), got)
			}
		}
	}
	_ = os.Remove("/dev/shm/brainbox-why-" + itoa(os.Getpid()))
}
