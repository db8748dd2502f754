package integration

import (
	"os"
	"testing"
)

// TestHostFilesOfProc is esc/MD-16 and esc/NS-15 for what an own /proc still says of the
// host: what only the host's user 0 may read shows empty to root's program, which keeps
// that user, and is refused to anybody else's.
func TestHostFilesOfProc(t *testing.T) {
	kernel(t)
	if !inside() {
		return // the host's /proc: clause processes
	}
	w := newWorld(t)
	side := w.box(t)
	want := append(errnos("EACCES", "EPERM"), "bad EOF")
	seen := 0
	for _, name := range []string{
		"keys", "key-users", "kcore", "kpagecgroup", "kpagecount", "kpageflags", "latency_stats", "pagetypeinfo",
		"sched_debug", "slabinfo", "timer_list", "timer_stats", "vmallocinfo", "kmsg", "sysrq-trigger",
	} {
		path := "/proc/" + name
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		seen++
		if got := side.ask(t, "read "+path); !hit(got, want) {
			t.Errorf("%s: %q, want one of %q", path, got, want)
		}
		for _, attempt := range []string{"write " + path + " 0 b", call(sysFchmodat2, cwd, "s:"+path, 0o644, 0)} {
			if got := side.ask(t, attempt); !hit(got, append(errnos("EACCES", "EPERM"), notThere...)) {
				t.Errorf("%q: %q", attempt, got)
			}
		}
	}
	if seen < 2 {
		t.Errorf("%d of these files are here", seen)
	}
	for _, path := range []string{"/proc/meminfo", "/proc/cpuinfo", "/proc/self/status", "/proc/sys/kernel/osrelease"} { // control
		if got := side.ask(t, "read "+path); !hit(got, []string{"ok"}) {
			t.Errorf("control: %s: %.80q", path, got)
		}
	}
}
