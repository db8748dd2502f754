package spawn

import (
	"os"
	"strings"
	"testing"

	"brainbox/internal/needs"
)

// The program has the init's uid, and nobody but the kernel between them: every attack
// works on another process of its own (the control) and fails on pid 1. esc/PR-01 to
// esc/PR-04, esc/PR-07 to esc/PR-10 and esc/PR-13, by the namespaces alone.
func TestTheInitCannotBeAttacked(t *testing.T) {
	r := newRoom(t)
	q := r.victim("attack")
	q.Env = append(q.Env, "SECRET=s3cret")
	t.Setenv("SPAWN_TEST_SECRET", "s3cret")
	out, e := output(t, q)
	got := lines(out)
	if e != (Event{Exited, 0}) || got["control"] != "ok" {
		t.Fatalf("%+v, control %q\n%s", e, got["control"], out)
	}
	for _, name := range []string{
		"mem", "environ", "maps", "auxv", "fd", "fdinfo", "map_files", "exe", "root/", "cwd/", "io", "syscall",
		"link_exe", "link_root", "link_cwd", "link_ns/mnt",
		"process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp", "get_robust_list", "move_pages", "seize", "attach",
	} {
		if got["other_"+name] != "ok" {
			t.Errorf("control: %s on another process: %q", name, got["other_"+name])
		}
		if a := got["init_"+name]; a != "EPERM" && a != "EACCES" {
			t.Errorf("%s on the init: %q, want EPERM or EACCES", name, a)
		}
	}
	if got["other_arguments"] != `"/victim"` || got["init_arguments"] != `""` {
		t.Errorf("arguments: of another process %s, of the init %s", got["other_arguments"], got["init_arguments"])
	}
	if got["kill"] != "ok" || got["pidfd_kill"] != "ok" || got["sigio"] != "ok" || !strings.HasPrefix(got["state"], "S") {
		t.Errorf("signals: %q %q %q; state of the init after all of them: %q", got["kill"], got["pidfd_kill"], got["sigio"], got["state"])
	}
	// The kernel allows these for the same uid, without regard to being dumpable. They
	// change how soon the init comes to do its work, and no more; the filter refuses the
	// first of them (esc/PR-11).
	for _, name := range []string{"prlimit", "setpriority", "sched_setscheduler"} {
		if got["init_"+name] != "ok" || got["other_"+name] != "ok" {
			t.Errorf("%s: %q on the init, %q on another process", name, got["init_"+name], got["other_"+name])
		}
	}
	if want := map[bool]string{true: "ok", false: "EACCES"}[os.Geteuid() == 0]; got["init_oom"] != want {
		t.Errorf("oom_score_adj of the init: %q, want %q", got["init_oom"], want)
	}
	noChild(t)
}

// As ordinary user, environ cannot be read at all; what would be there is gone, too. Only
// root outside can look.
func TestNothingOfTheCallerIsShownByTheInit(t *testing.T) {
	needs.Root(t) // nobody else may look at an undumpable process
	r := newRoom(t)
	in, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	q := r.request("read wait")
	q.Stdio[0] = int(in.Fd())
	c := startIn(t, q)
	_ = in.Close()
	for _, name := range []string{"environ", "cmdline"} {
		if mine := read(t, "/proc/self/"+name); strings.Trim(mine, "\x00") == "" { // positive control
			t.Errorf("the caller's own %s is empty", name)
		}
		if text := read(t, procOf(c.Init.PID, name)); strings.Trim(text, "\x00") != "" {
			t.Errorf("%s of the init: %q", name, text)
		}
	}
	_ = to.Close()
	ended(t, c)
}
