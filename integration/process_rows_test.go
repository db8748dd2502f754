package integration

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMatrixProcesses is area E as far as one attempt shows it: what is aimed at a
// process outside, at brainbox itself, and at the own limits.
func TestMatrixProcesses(t *testing.T) {
	rows := append(append(aimedRows("{PID}", "canary"), aimedRows("{BOX}", "brainbox")...), signalRows()...)
	want := unharmed(t)
	for i := range rows {
		rows[i].check = func(t *testing.T, w *world) {
			if got := w.canary.state(t); got != want {
				t.Errorf("the canary is %q, want %q", got, want)
			}
		}
	}
	runRows(t, append(rows, selfRows()...), "--nofile", "256", "--fsize", "1MiB")
}

// aimedRows are attempts at one process. Their control is always aimed at a canary.
func aimedRows(target, name string) []row {
	rows := slices.Concat(attachRows(), killRows(), procRows())
	for i, r := range rows {
		rows[i].name += " of " + name
		if aimed := replaceTarget(r.attempt, target); aimed != r.attempt {
			rows[i].attempt, rows[i].control = aimed, r.attempt
		}
	}
	return rows
}

// attachRows is PR-01, PR-03 and PR-11.
func attachRows() []row {
	eperm := errnos("EPERM")
	ptrace := func(request int) string { return call(unix.SYS_PTRACE, request, "{PID}", 0, 0) }
	limit := func(resource int, set, get string) string {
		return call(unix.SYS_PRLIMIT64, "{PID}", resource, set, get)
	}
	pidfd := call(unix.SYS_PIDFD_OPEN, "{PID}", 0)
	resume := call(unix.SYS_KILL, "{PID}", int(unix.SIGCONT))
	return []row{
		{id: "PR-01", name: "ptrace attach", attempt: fork(ptrace(unix.PTRACE_ATTACH), resume), want: eperm},
		{id: "PR-01", name: "ptrace seize", attempt: fork(ptrace(unix.PTRACE_SEIZE)), want: eperm},
		{id: "PR-03", name: "pidfd_getfd", attempt: then(pidfd, call(unix.SYS_PIDFD_GETFD, "$1", 0, 0)), want: eperm},
		{id: "PR-11", name: "prlimit64 set", attempt: limit(unix.RLIMIT_MSGQUEUE, "u64:4096,4096", "0"), want: eperm},
		{id: "PR-11", name: "prlimit64 get", attempt: limit(unix.RLIMIT_CORE, "0", "buf:16"), want: eperm},
	}
}

// killRows is PR-07 and PR-08.
func killRows() []row {
	eperm := errnos("EPERM")
	const winch, usr1 = int(unix.SIGWINCH), int(unix.SIGUSR1)
	info := "u32:10,0,-1,0," + zeros(28) // siginfo: SIGUSR1, SI_QUEUE
	pidfd := call(unix.SYS_PIDFD_OPEN, "{PID}", 0)
	return []row{
		{id: "PR-07", name: "kill", attempt: call(unix.SYS_KILL, "{PID}", winch), want: eperm},
		{id: "PR-07", name: "kill with 0", attempt: call(unix.SYS_KILL, "{PID}", 0), want: eperm},
		{id: "PR-07", name: "tgkill", attempt: call(unix.SYS_TGKILL, "{PID}", "{PID}", winch), want: eperm},
		{id: "PR-07", name: "tkill", attempt: call(unix.SYS_TKILL, "{PID}", winch), want: errnos("EPERM", "ENOSYS")},
		{id: "PR-07", name: "rt_sigqueueinfo", attempt: call(unix.SYS_RT_SIGQUEUEINFO, "{PID}", usr1, info), want: eperm},
		{
			id: "PR-07", name: "rt_tgsigqueueinfo",
			attempt: call(unix.SYS_RT_TGSIGQUEUEINFO, "{PID}", "{PID}", usr1, info), want: eperm,
		},
		{
			id: "PR-08", name: "pidfd_send_signal",
			attempt: then(pidfd, call(unix.SYS_PIDFD_SEND_SIGNAL, "$1", usr1, 0, 0)), want: eperm,
		},
	}
}

// procRows is PR-04, PR-06 and IN-14.
func procRows() []row {
	access := errnos("EACCES", "EPERM")
	rows := []row{
		{
			id: "PR-06", name: "a file through proc root",
			attempt: openat("/proc/{PID}/root/etc/shadow", unix.O_RDONLY), want: access, root: true,
		},
		{id: "PR-06", name: "a folder through proc cwd", attempt: "list /proc/{PID}/cwd", want: access},
		{id: "NS-04", name: "open the namespace link", attempt: openat("/proc/{PID}/ns/mnt", 0), want: access},
		{id: "IN-14", name: "environ", attempt: "read /proc/{PID}/environ", want: access},
	}
	for _, file := range []string{"mem", "maps", "auxv", "syscall", "personality"} {
		rows = append(rows, row{
			id: "PR-04", name: "open " + file, attempt: "read /proc/{PID}/" + file, want: access, differs: file == "mem",
		})
	}
	for _, link := range []string{"cwd", "root", "exe", "ns/pid"} {
		rows = append(rows, row{
			id: "PR-04", name: "readlink " + link,
			attempt: call(unix.SYS_READLINKAT, cwd, "s:/proc/{PID}/"+link, "buf:256", 256), want: access,
		})
	}
	return rows
}

// signalRows are attempts that only make sense at the canary.
func signalRows() []row {
	return []row{
		{
			id: "PR-02", name: "process_vm_readv",
			attempt: call(unix.SYS_PROCESS_VM_READV, "{PID}", "iov:12345678", 1, "riov:{ADDR},8", 1, 0),
			want:    errnos("EPERM"),
		},
		{
			id: "PR-02", name: "process_vm_writev",
			attempt: call(unix.SYS_PROCESS_VM_WRITEV, "{PID}", "iov:XXXXXXXX", 1, "riov:{ADDR},8", 1, 0),
			want:    errnos("EPERM"),
		},
		{
			id: "PR-07", name: "kill a group",
			attempt: call(unix.SYS_KILL, "-{GROUP}", int(unix.SIGUSR1)), want: errnos("EPERM", "ESRCH"),
			prepare: ownGroup, control: call(unix.SYS_KILL, "{PID}", int(unix.SIGUSR1)),
		},
		// The kernel answers 0 when all that it found refused the signal (kernel/signal.c,
		// kill_something_info): only the canary knows.
		{
			id: "PR-09", name: "kill everyone",
			attempt: call(unix.SYS_KILL, -1, int(unix.SIGWINCH)), want: append(errnos("EPERM", "ESRCH"), "ok"),
			control: call(unix.SYS_KILL, "{PID}", int(unix.SIGWINCH)),
		},
		{id: "PR-10", name: "SIGIO is not delivered", attempt: "sigio {PID}", want: []string{"ok", "errno EPERM"}, ns: errnos("ESRCH")},
	}
}

// ownGroup names the process group that the canary shares with this test.
func ownGroup(t *testing.T, w *world) {
	t.Helper()
	group, err := unix.Getpgid(w.canary.pid)
	must(t, err)
	w.vars["GROUP"] = itoa(group)
}

// selfRows are attempts to widen what the own process may use.
func selfRows() []row {
	return []row{
		{
			id: "PR-20", name: "more descriptors than granted",
			attempt: call(unix.SYS_DUP3, 0, 300, 0), want: errnos("EBADF", "EMFILE"),
		},
		{
			id: "PR-20", name: "raise the limit of descriptors",
			attempt: call(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NOFILE, "u64:4096,4096", 0), want: errnos("EPERM"),
		},
		{
			id: "PR-21", name: "a file larger than granted",
			attempt: then(openat("{W}/f", unix.O_WRONLY), call(unix.SYS_FTRUNCATE, "$1", 4<<20)),
			want:    append(last(1, "EFBIG"), "signal SIGXFSZ"),
		},
		{
			id: "PR-24", name: "core dumps",
			attempt: call(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_CORE, "u64:4096,4096", 0), want: errnos("EPERM"),
			control: call(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_CORE, "u64:0,0", 0),
		},
		{
			id: "PR-25", name: "oom_score_adj",
			attempt: openat("/proc/self/oom_score_adj", unix.O_WRONLY), want: errnos("EACCES"),
		},
		{
			id: "PR-25", name: "timerslack",
			attempt: openat("/proc/self/timerslack_ns", unix.O_WRONLY), want: errnos("EACCES"),
		},
		{
			id: "PR-25", name: "nice",
			attempt: fork(call(unix.SYS_SETPRIORITY, 0, 0, -5)), want: errnos("EACCES", "EPERM"), root: true,
		},
	}
}
