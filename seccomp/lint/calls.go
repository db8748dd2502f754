package lint

import (
	"fmt"
	"slices"
	"strings"

	"brainbox/seccomp"
)

// try calls f with all kinds of arguments that the program tells apart for a call; a name
// that this architecture lacks has none.
func (j *judge) try(name string, f func(d seccomp.Data, a seccomp.Action)) {
	nr, ok := seccomp.Number(j.Arch, name)
	if !ok {
		return
	}
	eval := func(d seccomp.Data) { f(d, j.program.Eval(d)) }
	if !seccomp.Cases(nr, j.audit, maxCases, eval, j.program) {
		j.partial(name)
	}
}

func (j *judge) partial(name string) {
	if !slices.Contains(j.report.Partial, name) {
		j.report.Partial = append(j.report.Partial, name)
	}
}

// runs reports whether a call runs for some arguments.
func (j *judge) runs(name string) (some bool) {
	j.try(name, func(_ seccomp.Data, a seccomp.Action) { some = some || a.Runs() })
	return some
}

// runsWith reports whether a call runs for some arguments of which one is changed.
func (j *judge) runsWith(name string, arg int, change func(uint64) uint64) (some bool) {
	j.try(name, func(d seccomp.Data, _ seccomp.Action) {
		d.Args[arg] = change(d.Args[arg])
		some = some || j.program.Eval(d).Runs()
	})
	return some
}

// family is calls that one rule speaks of.
type family struct {
	rule  string
	calls []string
}

func families() []family {
	return []family{
		{"clone3", []string{"clone3"}},
		{"setns", []string{"setns"}},
		{"io-uring", []string{"io_uring_setup", "io_uring_enter", "io_uring_register"}},
		{"mount", []string{"mount", "umount2", "pivot_root", "chroot", "open_tree", "open_tree_attr", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr"}},
		{"handles", []string{"open_by_handle_at"}},
		{"keyring", []string{"keyctl", "add_key", "request_key"}},
		{"bpf", []string{"bpf"}},
		{"perf", []string{"perf_event_open"}},
		{"userfaultfd", []string{"userfaultfd"}},
		{"kexec", []string{"kexec_load", "kexec_file_load"}},
		{"modules", []string{"init_module", "finit_module", "delete_module"}},
		{"admin", []string{"reboot", "swapon", "swapoff", "acct", "iopl", "ioperm", "settimeofday", "clock_settime", "sethostname", "setdomainname", "syslog", "vhangup", "quotactl", "quotactl_fd"}},
		{"fanotify", []string{"fanotify_init"}},
		{"ptrace", []string{"ptrace"}},
		{"process-memory", []string{"process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp", "process_madvise"}},
	}
}

// calls judges the calls that are known to open something.
func (j *judge) calls() {
	for _, f := range families() {
		var open []string
		for _, name := range f.calls {
			if j.runs(name) {
				open = append(open, name)
			}
		}
		if len(open) > 0 {
			j.add(f.rule, j.openedAt(open[0]), "%s", verb(open))
		}
	}
	j.namespaces()
	j.requests()
	if j.runsWith("personality", 0, func(v uint64) uint64 { return v&^(1<<32-1) | 0x0400000 }) {
		j.add("personality", j.openedAt("personality"), "personality runs with READ_IMPLIES_EXEC (0x400000)")
	}
	j.families()
	j.starts()
}

func verb(names []string) string {
	if len(names) == 1 {
		return names[0] + " runs"
	}
	return strings.Join(names, " ") + " run"
}

// bit is a flag, or another value, with its name.
type bit struct {
	name  string
	value uint64
}

// namespaceFlags are those of clone(2); NEWTIME is one of unshare alone, since clone has its
// exit signal there.
func namespaceFlags() []bit {
	return []bit{
		{"CLONE_NEWUSER", 0x10000000},
		{"CLONE_NEWNS", 0x20000},
		{"CLONE_NEWPID", 0x20000000},
		{"CLONE_NEWNET", 0x40000000},
		{"CLONE_NEWIPC", 0x8000000},
		{"CLONE_NEWUTS", 0x4000000},
		{"CLONE_NEWCGROUP", 0x2000000},
	}
}

func (j *judge) namespaces() {
	for _, call := range []string{"clone", "unshare"} {
		flags, rule := namespaceFlags(), "clone-namespaces"
		if call == "unshare" {
			flags, rule = append(flags, bit{"CLONE_NEWTIME", 0x80}), call
		}
		var open []string
		for _, f := range flags {
			if j.runsWith(call, 0, func(v uint64) uint64 { return v&(1<<32-1) | f.value }) {
				open = append(open, f.name)
			}
		}
		if len(open) > 0 {
			j.add(rule, j.openedAt(call), "%s runs with %s", call, strings.Join(open, " "))
		}
	}
}

// requests judges what ioctl lets through of the requests that type into a terminal.
func (j *judge) requests() {
	for _, r := range []struct {
		rule, name string
		value      uint64
	}{{"tiocsti", "TIOCSTI", 0x5412}, {"tioclinux", "TIOCLINUX", 0x541c}} {
		if j.runsWith("ioctl", 1, func(uint64) uint64 { return r.value }) {
			j.add(r.rule, j.openedAt("ioctl"), "ioctl runs with %s (%#x)", r.name, r.value)
		}
	}
}

// sockets are families that reach what no Landlock rule covers (linux/socket.h).
func sockets() []bit {
	return []bit{
		{"AF_VSOCK", 40},
		{"AF_ALG", 38},
		{"AF_PACKET", 17},
		{"AF_KEY", 15},
		{"AF_XDP", 44},
		{"AF_CAN", 29},
		{"AF_BLUETOOTH", 31},
		{"AF_RDS", 21},
		{"AF_TIPC", 30},
		{"AF_SMC", 43},
		{"AF_QIPCRTR", 42},
		{"AF_RXRPC", 33},
		{"AF_KCM", 41},
		{"AF_NFC", 39},
	}
}

func (j *judge) families() {
	var open []string
	for _, f := range sockets() {
		if j.runsWith("socket", 0, func(uint64) uint64 { return f.value }) {
			open = append(open, f.name)
		}
	}
	if len(open) > 0 {
		j.add("socket-family", j.openedAt("socket"), "socket runs for %s", strings.Join(open, " "))
	}
}

// starts judges the calls without which brainbox starts no program.
func (j *judge) starts() {
	for _, name := range []string{"execve", "rt_sigprocmask", "write", "exit_group"} {
		if !j.runs(name) {
			j.add("start", j.closedAt(name), "%s is refused", name)
		}
	}
}

// fallbacks judges the answer to calls that programs try before an older one.
func (j *judge) fallbacks() {
	for _, name := range []string{
		"clone3", "rseq", "openat2", "faccessat2", "statx", "close_range", "fchmodat2", "epoll_pwait2",
		"preadv2", "pwritev2", "copy_file_range", "pidfd_open", "futex_waitv", "getrandom", "memfd_create", "execveat", "renameat2",
	} {
		var answers []string
		refused := false
		j.try(name, func(_ seccomp.Data, a seccomp.Action) {
			e, _ := a.Errno()
			refused = refused || !a.Runs()
			if !a.Runs() && e != enosys && !slices.Contains(answers, a.String()) {
				answers = append(answers, a.String())
			}
		})
		at := j.closedAt(name)
		switch {
		case name == "rseq" && refused && len(answers) == 0:
			j.addAs(Note, "rseq", at, "rseq does not exist (ENOSYS): the C library goes without")
		case len(answers) == 0 || j.runs(name):
			// Refused for some arguments only: no program takes that for a missing call.
		case name == "rseq", name == "clone3":
			j.add(map[string]string{"rseq": "rseq", "clone3": "clone3-errno"}[name], at, "%s is answered with %s", name, strings.Join(answers, ", "))
		default:
			j.add("fallback-errno", at, "%s is answered with %s", name, strings.Join(answers, ", "))
		}
	}
}

// arguments writes the arguments of a call up to the last that matters.
func arguments(d seccomp.Data) string {
	last := 0
	for i, v := range d.Args {
		if v != 0 {
			last = i
		}
	}
	words := make([]string, last+1)
	for i := range words {
		words[i] = fmt.Sprintf("%#x", d.Args[i])
	}
	return strings.Join(words, ", ")
}
