package lint

import (
	"fmt"
	"slices"

	"brainbox/seccomp"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// ints are the arguments, by index, that the kernel reads as 32 bits or fewer (the
// SYSCALL_DEFINE of each call, Linux 6.18; of clone it drops the high half itself), for the
// calls that are useful to filter by argument.
func ints() []family {
	return []family{
		{"0", []string{"clone", "personality", "bpf", "userfaultfd", "keyctl", "memfd_secret", "timerfd_create", "inotify_init1", "epoll_create1", "getrusage", "alarm", "umask", "setfsuid", "setuid", "setgid", "syslog", "arch_prctl", "prctl", "adjtimex", "clock_settime", "clock_gettime", "clock_adjtime", "io_uring_setup"}},
		{"01", []string{"ioctl", "fcntl", "kill", "tkill", "setns", "shutdown", "listen", "prlimit64", "fchmod", "setpriority", "ioprio_set", "clock_nanosleep", "pidfd_open", "pidfd_getfd", "io_uring_register", "shmctl", "msgctl", "fanotify_init", "epoll_ctl", "setreuid", "setregid", "quotactl_fd"}},
		{"012", []string{"socket", "socketpair", "setsockopt", "getsockopt", "tgkill", "kcmp", "setresuid", "setresgid"}},
		{"0", []string{"connect", "bind", "accept", "fchown", "ftruncate", "read", "write", "quotactl", "lsm_set_self_attr"}},
		{"1", []string{"chmod", "mknod", "creat", "mkdir", "access", "memfd_create"}},
		{"12", []string{"open"}},
		{"023", []string{"openat", "fchmodat2", "faccessat2", "mknodat"}},
		{"02", []string{"fchmodat", "mkdirat", "faccessat", "unlinkat", "sendmsg", "recvmsg", "open_by_handle_at", "open_tree"}},
		{"03", []string{"sendto", "recvfrom", "accept4", "sendmmsg", "recvmmsg"}},
		{"024", []string{"renameat2", "linkat"}},
		{"123", []string{"perf_event_open"}},
	}
}

// halves looks for int arguments whose high half decides: the kernel never sees it.
func (j *judge) halves() {
	for _, f := range ints() {
		for _, name := range f.calls {
			nr, ok := seccomp.Number(j.Arch, name)
			for _, arg := range f.rule {
				if i := int(arg - '0'); ok && j.program.Looks(nr, j.audit, i) {
					j.half(name, i)
				}
			}
		}
	}
}

// half tells at most one fault of one argument, the worse one.
func (j *judge) half(name string, arg int) {
	var past, shut *seccomp.Data
	var act seccomp.Action
	j.try(name, func(d seccomp.Data, a seccomp.Action) {
		if past != nil || d.Args[arg]>>32 != 0 {
			return
		}
		for _, high := range []uint64{1, 1<<32 - 1} {
			other := d
			other.Args[arg] |= high << 32
			b := j.program.Eval(other)
			switch {
			case !a.Runs() && b.Runs() && past == nil:
				past, act = &d, a
			case a.Runs() && !b.Runs() && shut == nil:
				shut = &d
			}
		}
	})
	at := j.argPlace(name, arg)
	switch {
	case past != nil:
		low := past.Args[arg]
		j.add("arg-64bit", at, "%s gets %v with argument %d = %#x%s, and runs with %#x", name, act, arg, low, request(name, arg, low), low|1<<32)
	case shut != nil:
		low := shut.Args[arg]
		j.add("arg-64bit-closed", at, "%s runs with argument %d = %#x, and not with the high half set", name, arg, low)
	}
}

// request names what is best known by its name.
func request(name string, arg int, value uint64) string {
	switch {
	case name == "ioctl" && arg == 1 && value == 0x5412:
		return " (TIOCSTI)"
	case name == "ioctl" && arg == 1 && value == 0x541c:
		return " (TIOCLINUX)"
	case name == "socket" && arg == 0 && value == 40:
		return " (AF_VSOCK)"
	}
	return ""
}

// argPlace is the place of the first condition on an argument that is not masked.
func (j *judge) argPlace(name string, arg int) string {
	at := ""
	for i, call := range j.spec.Syscalls {
		for k, a := range call.Args {
			wide := a.Op != specs.OpMaskedEqual || a.Value>>32 != 0
			if at == "" && wide && int(a.Index) == arg && slices.Contains(call.Names, name) {
				at = fmt.Sprintf("%s.args[%d]", j.source[i], k)
			}
		}
	}
	if at == "" {
		return j.openedAt(name)
	}
	return at
}
