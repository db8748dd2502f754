package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// openRow is a line of the matrix that isolation landlock cannot hold. Its attempt
// has to succeed, or it does not belong here any more, and its clause has to be open
// in what brainbox check says of the default policy.
type openRow struct {
	row
	clause string
}

// openRows is the open list.
func openRows() []openRow {
	var rows []openRow
	add := func(clause string, list ...row) {
		for _, r := range list {
			rows = append(rows, openRow{r, clause})
		}
	}
	add("metadata", metadataRows()...)
	add("processes", processesRows()...)
	add("protect", protectRows()...)
	add("shared_memory", row{
		id: "FS-38", name: "make a file in the host's shared memory",
		attempt: openat("{SHM}", unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY), ns: []string{"ok"}, // its own
		prepare: sharedMemory, check: func(t *testing.T, w *world) { exists(t, w.vars["SHM"]) },
	})
	return rows
}

func exists(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("nothing happened outside: %v", err)
	}
}

// sharedMemory names something in /dev/shm that is not there.
func sharedMemory(t *testing.T, w *world) {
	t.Helper()
	path := "/dev/shm/brainbox-test-" + itoa(os.Getpid())
	w.vars["SHM"] = path
	t.Cleanup(func() { _ = os.Remove(path) })
}

// metadataRows is area B: what Landlock does not cover.
func metadataRows() []row {
	mode := func(want uint32) func(*testing.T, *world) {
		return func(t *testing.T, w *world) {
			var st unix.Stat_t
			must(t, unix.Stat(w.vars["FILE"], &st))
			if st.Mode&0o7777 != want {
				t.Errorf("mode outside %o, want %o", st.Mode&0o7777, want)
			}
		}
	}
	// One file for all: {FILE} lies where no grant is.
	file := func(_ *testing.T, w *world) { w.vars["FILE"] = filepath.Join(w.dir("O"), "open") }
	gid := os.Getgid()
	rows := []row{
		{id: "MD-01", name: "fchmodat", attempt: call(unix.SYS_FCHMODAT, cwd, "s:{FILE}", 0o600), check: mode(0o600)},
		{id: "MD-01", name: "fchmodat2", attempt: call(sysFchmodat2, cwd, "s:{FILE}", 0o640, 0), check: mode(0o640)},
		{id: "MD-02", name: "chown to an own group", attempt: call(unix.SYS_FCHOWNAT, cwd, "s:{FILE}", -1, gid, 0)},
		{id: "MD-03", name: "utimensat", attempt: call(unix.SYS_UTIMENSAT, cwd, "s:{FILE}", "u64:1,0,1,0", 0)},
		{id: "MD-09", name: "stat", attempt: call(unix.SYS_STATX, cwd, "s:{FILE}", 0, 0x7ff, "buf:256")},
		{id: "MD-09", name: "access", attempt: call(unix.SYS_FACCESSAT, cwd, "s:{FILE}", 0)},
		{id: "MD-09", name: "readlink", attempt: call(unix.SYS_READLINKAT, cwd, "s:{FILE}-link", "buf:256", 256)},
		{id: "MD-09", name: "listxattr", attempt: call(unix.SYS_LISTXATTR, "s:{FILE}", "buf:256", 256)},
		{id: "MD-10", name: "chdir", attempt: fork(call(unix.SYS_CHDIR, "s:{O}"))},
		{
			id: "MD-11", name: "flock of a readable file",
			attempt: then(openat("{R}/f", 0), call(unix.SYS_FLOCK, "$1", unix.LOCK_EX|unix.LOCK_NB)),
			ns:      []string{"ok"}, // open in both: a lock is advice
		},
		{
			id: "MD-12", name: "inotify",
			attempt: then(
				call(unix.SYS_INOTIFY_INIT1, 0),
				call(unix.SYS_INOTIFY_ADD_WATCH, "$1", "s:{O}", unix.IN_ALL_EVENTS),
			),
		},
	}
	for i := range rows {
		rows[i].prepare = file
	}
	return rows
}

// processesRows is what an own /proc and an own pid namespace would hide.
func processesRows() []row {
	// A root canary has capabilities that the program lacks, so that it is safe.
	rows := []row{
		{id: "PR-12", name: "setpriority", attempt: call(unix.SYS_SETPRIORITY, 0, "{PID}", 19), user: true},
		{
			id: "PR-12", name: "sched_setaffinity",
			attempt: call(unix.SYS_SCHED_SETAFFINITY, "{PID}", 8, "u64:1"), user: true,
		},
		{
			id: "PR-12", name: "sched_setscheduler",
			attempt: call(unix.SYS_SCHED_SETSCHEDULER, "{PID}", 3, "u32:0"), user: true,
		},
		{id: "PR-12", name: "ioprio_set", attempt: call(unix.SYS_IOPRIO_SET, 1, "{PID}", 3<<13), user: true},
		{id: "PR-05", name: "list the descriptors of another", attempt: "list /proc/{PID}/task"},
	}
	for _, file := range []string{
		"/proc/1/cmdline", "/proc/{PID}/cmdline", "/proc/{PID}/status", "/proc/self/mountinfo", "/proc/net/tcp", "/proc/keys",
	} {
		id := "MD-16"
		if file[:7] == "/proc/{" {
			id = "PR-05"
		}
		r := row{id: id, name: "read " + file[5:], attempt: "read " + file}
		switch file {
		case "/proc/keys":
			r.ns = []string{"bad EOF"} // masked
		case "/proc/1/cmdline", "/proc/self/mountinfo", "/proc/net/tcp":
			r.ns = []string{"ok"} // the init's, zeroes; those of its own namespaces
		}
		rows = append(rows, r)
	}
	return rows
}

// protectRows is FS-34, FS-35 and part of area M.
func protectRows() []row {
	hook := func(t *testing.T, w *world) { exists(t, filepath.Join(w.dir("W"), ".git/hooks/pre-commit")) }
	return []row{
		{
			id: "FS-34", name: "write a hook",
			attempt: "write {WROOT}/.git/hooks/pre-commit 0x40 x", check: hook, prepare: repository,
		},
		{
			id: "FS-35", name: "rename over a hook",
			attempt: call(unix.SYS_RENAMEAT2, cwd, "s:{W}/prog", cwd, "s:{WROOT}/.git/hooks/pre-commit", 0),
			check:   hook, prepare: repository,
		},
		{
			id: "TH-10", name: "move .git away", prepare: repository,
			attempt: then(renameat2("{WROOT}/.git", "{WROOT}/.git2", 0), call(unix.SYS_MKDIRAT, cwd, "s:{WROOT}/.git", 0o755)),
			check:   func(t *testing.T, w *world) { exists(t, filepath.Join(w.dir("W"), ".git2")) },
		},
	}
}

// repository makes W a checkout.
func repository(t *testing.T, w *world) {
	t.Helper()
	w.vars["WROOT"] = w.dir("W")
	for _, dir := range []string{"hooks", "objects", "refs"} {
		must(t, os.MkdirAll(filepath.Join(w.dir("W"), ".git", dir), 0o755))
	}
	must(t, os.WriteFile(filepath.Join(w.dir("W"), ".git/HEAD"), []byte("ref: refs/heads/main\n"), 0o644))
}

// String names a row as the matrix does.
func (r openRow) String() string { return fmt.Sprintf("esc/%s %s (%s)", r.id, r.name, r.clause) }
