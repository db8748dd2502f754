package integration

import (
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"
)

// tiocsti pushes a byte into a terminal's input (ioctl_tty(2)).
const tiocsti = 0x5412

// abiRows is area G.
func abiRows() []row {
	return slices.Concat(widthRows(), uringRows(), numberRows(), foreignRows())
}

// widthRows are arguments that are wider than what the kernel looks at.
func widthRows() []row {
	family := errnos("EAFNOSUPPORT", "EPERM")
	sockets := family
	if byPath() { // granted, as without the bit
		sockets = []string{"ok"}
	}
	stream := func(domain uint64) string { return call(unix.SYS_SOCKET, high(domain), unix.SOCK_STREAM, 0) }
	return []row{
		{id: "SC-03", name: "TIOCSTI", attempt: ioctl(9999, tiocsti, 0), want: errnos("EPERM"), differs: true},
		{
			id: "SC-03", name: "TIOCSTI with a high bit",
			attempt: ioctl(9999, high(tiocsti), 0), want: errnos("EPERM"), differs: true,
		},
		{id: "SC-04", name: "AF_VSOCK with a high bit", attempt: stream(unix.AF_VSOCK), want: family},
		// In namespaces these two are granted, with or without.
		{id: "SC-04", name: "AF_UNIX with a high bit", attempt: stream(unix.AF_UNIX), want: sockets, ns: []string{"ok"}},
		{id: "SC-04", name: "AF_INET with a high bit", attempt: stream(unix.AF_INET), want: family, ns: []string{"ok"}},
	}
}

// uringRows is SC-05, SC-09 and SC-15.
func uringRows() []row {
	enosys := errnos("ENOSYS")
	return []row{
		{id: "SC-05", name: "io_uring_setup", attempt: call(unix.SYS_IO_URING_SETUP, 1, "buf:120"), want: enosys},
		{
			id: "SC-05", name: "io_uring_enter",
			attempt: call(unix.SYS_IO_URING_ENTER, 9999, 0, 0, 0, 0, 0), want: enosys, differs: true,
		},
		{
			id: "SC-05", name: "io_uring_register",
			attempt: call(unix.SYS_IO_URING_REGISTER, 9999, 0, 0, 0), want: enosys, differs: true,
		},
		{
			id: "SC-09", name: "an inner filter that allows",
			attempt: self("filter " + socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)), want: errnos("EAFNOSUPPORT", "EPERM"),
		},
		{
			id: "SC-15", name: "the filter is there",
			attempt: "status Seccomp NoNewPrivs", want: []string{"ok NoNewPrivs=1 Seccomp=2"}, differs: true,
		},
	}
}

// numberRows is SC-06: what the kernel has and the filter does not know, and what not
// even the kernel has.
func numberRows() []row {
	var rows []row
	for nr := sysStatmount; nr <= 480; nr++ {
		switch nr {
		case 459, 461, 462, 464, 465: // lsm_get_self_attr, lsm_list_modules, mseal, getxattrat, listxattrat write nothing
			continue
		}
		r := row{
			id: "SC-06", name: fmt.Sprint("number ", nr), attempt: call(nr, 0, 0, 0, 0, 0, 0),
			want: errnos("ENOSYS", "EPERM", "EOPNOTSUPP"), inside: "status Seccomp",
		}
		if nr == sysSetxattrat || nr == sysRemovexattrat { // held by the mounts: MD-05
			r.ns = errnos("EINVAL", "EFAULT", "ENOSYS") // ENOSYS before Linux 6.13
		}
		rows = append(rows, r)
	}
	return append(rows, row{
		id: "SC-06", name: "number 1000", attempt: call(1000), want: errnos("ENOSYS"), inside: "status Seccomp",
	})
}

// foreignRows is SC-01 and SC-02: the other system call tables of amd64.
func foreignRows() []row {
	if runtime.GOARCH != "amd64" {
		return nil
	}
	killed := []string{"signal SIGSYS"}
	var rows []row
	// x32 has no control that works where the kernel is built without it: outside the
	// answer is ENOSYS then, and inside the process has to be killed all the same.
	for _, nr := range []int{unix.SYS_GETPID, unix.SYS_IOCTL, unix.SYS_OPENAT, 512, 547} {
		rows = append(rows, row{
			id: "SC-02", name: fmt.Sprint("x32 number ", nr), attempt: fork(call(nr | 0x40000000)), want: killed, differs: true,
		})
	}
	for name, attempt := range map[string]string{"getpid": "20", "ioctl": "54 0 0x5412 0", "socketcall": "102 1 0"} {
		rows = append(rows, row{
			id: "SC-01", name: name + " by int 0x80 (if built)",
			attempt: self("int80 " + attempt), want: killed, control: self("int80 20"),
		})
	}
	return rows
}

// adminRows are calls that no developer's tool needs: NS-18 to NS-22, PR-13.
func adminRows() []row {
	add := func(id, name string, nr int, args ...any) row {
		return row{id: id, name: name, attempt: call(nr, args...), want: refusedCall, differs: true}
	}
	root := func(r row) row { r.root = true; return r }
	rows := []row{
		add("NS-18", "bpf", unix.SYS_BPF, 9999, 0, 0),
		add("NS-18", "perf_event_open", unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, 0, 0),
		add("NS-18", "userfaultfd", unix.SYS_USERFAULTFD, 1),
		{
			id: "NS-19", name: "add_key",
			attempt: call(unix.SYS_ADD_KEY, "s:user", "s:brainbox", "hex:31", 1, -3), want: refusedCall,
		},
		{
			id: "NS-19", name: "request_key",
			attempt: call(unix.SYS_REQUEST_KEY, "s:user", "s:brainbox-none", 0, 0), want: refusedCall,
			differs: true,
		},
		{id: "IN-12", name: "keyctl", attempt: call(unix.SYS_KEYCTL, 0, -3, 0), want: refusedCall},
		root(add("NS-20", "init_module", unix.SYS_INIT_MODULE, 0, 0, 0)),
		root(add("NS-20", "finit_module", unix.SYS_FINIT_MODULE, 9999, 0, 0)),
		root(add("NS-20", "delete_module", unix.SYS_DELETE_MODULE, "s:brainbox_none", 0)),
		root(add("NS-20", "kexec_load", unix.SYS_KEXEC_LOAD, 0, 99999, 0, 0)),
		root(add("NS-20", "swapon", unix.SYS_SWAPON, "s:/nothing", 0)),
		root(add("NS-20", "reboot", unix.SYS_REBOOT, 0, 0, 0)),
		root(add("NS-20", "acct", unix.SYS_ACCT, "s:/nothing")),
		root(add("NS-20", "settimeofday", unix.SYS_SETTIMEOFDAY, 1, 0)),
		root(add("NS-20", "clock_settime", unix.SYS_CLOCK_SETTIME, 9999, 0)),
		root(add("NS-20", "adjtimex", unix.SYS_ADJTIMEX, 0)),
		root(add("NS-20", "sethostname", unix.SYS_SETHOSTNAME, 0, 9999)),
		root(add("NS-20", "setdomainname", unix.SYS_SETDOMAINNAME, 0, 9999)),
		root(add("NS-20", "syslog", unix.SYS_SYSLOG, 3, 0, 0)),
	}
	return append(rows, othersRows()...)
}

// othersRows is NS-21, NS-22 and PR-13: how the kernel runs a program, and what may be
// asked about another one.
func othersRows() []row {
	add := func(id, name string, nr int, args ...any) row {
		return row{id: id, name: name, attempt: call(nr, args...), want: refusedCall, differs: true}
	}
	return []row{
		{
			id: "NS-21", name: "personality READ_IMPLIES_EXEC",
			attempt: fork(call(unix.SYS_PERSONALITY, 0x400000)), want: errnos("EPERM"),
		},
		{
			id: "NS-21", name: "personality ADDR_COMPAT_LAYOUT",
			attempt: fork(call(unix.SYS_PERSONALITY, 0x200000)), want: errnos("EPERM"),
		},
		{
			id: "NS-22", name: "real time scheduling",
			attempt: fork(call(unix.SYS_SCHED_SETSCHEDULER, 0, 1, "u32:1")), want: errnos("EPERM"), root: true,
		},
		add("PR-13", "kcmp", unix.SYS_KCMP, "pid", "pid", 99, 0, 0),
		{
			id: "PR-13", name: "get_robust_list of another",
			attempt: call(unix.SYS_GET_ROBUST_LIST, "{PID}", "buf:8", "buf:8"), want: refusedCall,
		},
		{
			id: "PR-13", name: "move_pages of another",
			attempt: call(unix.SYS_MOVE_PAGES, "{PID}", 0, 0, 0, 0, 0), want: refusedCall,
		},
		{
			id: "PR-13", name: "migrate_pages of another",
			attempt: call(unix.SYS_MIGRATE_PAGES, "{PID}", 1, "u64:1", "u64:1"), want: refusedCall, differs: true,
		},
		add("PR-13", "process_madvise", unix.SYS_PROCESS_MADVISE, 9999, 0, 0, 0, 0),
		add("PR-13", "process_mrelease", unix.SYS_PROCESS_MRELEASE, 9999, 0),
		add("PR-13", "memfd_secret", 447, 0),
	}
}

// argumentRows is IP-15 and IP-16: System V objects and message queues.
func argumentRows() []row {
	own := []string{"ok"} // in an IPC namespace of its own
	return []row{
		{id: "IP-15", name: "shmget", attempt: then(call(unix.SYS_SHMGET, 0, 4096, 0o1600)), want: refusedCall, ns: own},
		{id: "IP-15", name: "msgget", attempt: call(unix.SYS_MSGGET, 0, 0o1600), want: refusedCall, ns: own},
		{id: "IP-15", name: "semget", attempt: call(unix.SYS_SEMGET, 0, 1, 0o1600), want: refusedCall, ns: own},
		{
			id: "IP-16", name: "mq_open",
			attempt: call(unix.SYS_MQ_OPEN, "s:brainbox-none", 0, 0, 0), want: refusedCall, differs: true,
		},
	}
}
