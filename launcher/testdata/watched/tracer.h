// A tracer that turns calls into others, at the stop before the filter.
#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

static void turn(pid_t pid, long nr, long a, long b) {
	struct user_regs_struct r;
	struct iovec v = {&r, sizeof r};
	ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &v);
#ifdef __x86_64__
	r.orig_rax = nr, r.rdi = a, r.rsi = b, r.rdx = 0;
	ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &v);
#else
	int number = nr;
	struct iovec n = {&number, sizeof number};
	r.regs[0] = a, r.regs[1] = b, r.regs[2] = 0;
	ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &v);
	ptrace(PTRACE_SETREGSET, pid, NT_ARM_SYSTEM_CALL, &n);
#endif
}

static const struct {
	const char *name;
	long nr, a, b;
} into[] = {
	{"getpid", SYS_getpid, 0, 0},
	{"vsock", SYS_socket, AF_VSOCK, SOCK_STREAM},
	{"unshare", SYS_unshare, 0x10000000, 0},
	{"io_uring", SYS_io_uring_setup, 1, 0},
	{"mount", SYS_mount, 0, 0},
	{"none", SYS_openat, AT_FDCWD, 8},
};

#define INTO (int)(sizeof into / sizeof *into)

// traced makes one call for each kind. With a filter of its own that hands it to the tracer.
static int traced(long nr, int filter) {
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = {sizeof f / sizeof *f, f};
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	if (filter)
		syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &p);
	raise(SIGSTOP);
	for (int i = 0; i < INTO; i++)
		tell(into[i].name, syscall(nr, AT_FDCWD, name, O_RDONLY));
	return 0;
}

static int trace(const char *what, long nr, int filter) {
	int st, i = 0, go = filter ? PTRACE_CONT : PTRACE_SYSCALL;
	printf("%s:\n", what);
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0)
		_exit(traced(nr, filter));
	waitpid(pid, &st, 0);
	ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACESECCOMP);
	for (ptrace(go, pid, 0, 0); waitpid(pid, &st, 0) == pid && WIFSTOPPED(st); ptrace(go, pid, 0, 0)) {
		struct __ptrace_syscall_info info = {0};
		ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info);
		if ((info.op == PTRACE_SYSCALL_INFO_ENTRY || info.op == PTRACE_SYSCALL_INFO_SECCOMP) && (long)info.entry.nr == nr && i < INTO) {
			turn(pid, into[i].nr, into[i].a, into[i].b);
			i++;
		}
	}
	printf("turned %d\n", i);
	fflush(stdout);
	return 0;
}

static int tracer(void) {
	return trace("openat at its entry", SYS_openat, 0) | trace("getppid by a filter", SYS_getppid, 1);
}
