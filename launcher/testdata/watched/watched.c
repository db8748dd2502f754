// A program for the tests of an observed run.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char *name;

// tell prints the error of a call, or 0.
static void tell(const char *what, long r) {
	printf("%s %d\n", what, r < 0 ? errno : 0);
	fflush(stdout);
}

#include "tracer.h"

static long try_open(const char *path) {
	int fd = open(path, O_RDONLY);
	if (fd >= 0)
		close(fd);
	return fd;
}

static void *thread(void *secret) {
	tell("thread", mkdir("made-by-thread", 0755));
	tell("thread secret", try_open(secret));
	return NULL;
}

// everything makes a call of each kind, in threads and descendants too.
static int everything(char *secret) {
	pthread_t t;
	tell("open", try_open(name));
	tell("secret", try_open(secret));
	tell("none", try_open("not-there"));
	tell("bad address", try_open((char *)8));
	tell("mkdir", mkdir("made", 0755));
	tell("rename", rename("made", "moved"));
	tell("symlink", symlink("moved", "link"));
	tell("truncate", truncate("not-there", 0));
	tell("unix", socket(AF_UNIX, SOCK_STREAM, 0));
	tell("vsock", socket(AF_VSOCK, SOCK_STREAM, 0));
	tell("pair", socketpair(AF_UNIX, SOCK_STREAM, 0, (int[2]){0}));
	tell("ptrace", ptrace(PTRACE_TRACEME, 0, 0, 0));
	tell("unshare", syscall(SYS_unshare, 0x10000000));
	tell("io_uring", syscall(SYS_io_uring_setup, 1, NULL));
	pthread_create(&t, NULL, thread, secret);
	pthread_join(t, NULL);
	if (fork() == 0) {
		if (fork() == 0) {
			tell("grandchild", mkdir("made-by-grandchild", 0755));
			tell("grandchild secret", try_open(secret));
			_exit(0);
		}
		wait(NULL);
		_exit(0);
	}
	wait(NULL);
	tell("exec", execl("not-there", "x", NULL));
	execl(name, name, "end", NULL);
	return 1;
}

static volatile int storms, over;
static pthread_t main_thread;

static void on_signal(int sig) { storms++; }

static void *storm(void *arg) {
	while (!over)
		pthread_kill(main_thread, SIGURG);
	return NULL;
}

// opens opens itself n times, with signals on its way or without; with SA_RESTART, as the Go
// runtime has it.
static int opens(int n, int signals) {
	pthread_t t;
	struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	sigaction(SIGURG, &act, NULL);
	main_thread = pthread_self();
	if (signals)
		pthread_create(&t, NULL, storm, NULL);
	int bad = 0;
	for (int i = 0; i < n; i++)
		if (try_open(name) < 0)
			bad = errno;
	over = 1;
	if (signals)
		pthread_join(t, NULL);
	printf("opened, error %d, signals %d\n", bad, signals && storms > 0);
	return 0;
}

// daemon_ opens until it gets ENOSYS, and notes each change of what it gets.
static int daemon_(char *secret, char *log) {
	int last = -1, out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0644);
	if (fork() != 0)
		for (;;)
			pause();
	setsid();
	for (;;) {
		int e = try_open(name) < 0 ? errno : 0, s = try_open(secret) < 0 ? errno : 0;
		if (s == 0 || e != last)
			dprintf(out, "%d %d\n", e, s);
		if (s == 0 || e == ENOSYS)
			return 0;
		last = e;
	}
}

static volatile int listener = -1;

// go_on has the kernel make every call that the program's own listener is asked about.
static void *go_on(void *arg) {
	for (;;) {
		struct seccomp_notif r = {0};
		if (listener < 0 || ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &r))
			continue;
		struct seccomp_notif_resp a = {.id = r.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
		ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &a);
	}
	return NULL;
}

// load loads a filter that notifies socket, connect and io_uring_setup, with a listener or
// without.
static long load(int flags, unsigned action) {
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_connect, 2, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW), BPF_STMT(BPF_RET | BPF_K, action),
	};
	struct sock_fprog p = {sizeof f / sizeof *f, f};
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &p);
}

// heir outlives who answers its calls, tries to take the place, and notes what it can do.
static int heir(char *log) {
	pthread_t t;
	struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = "/x"};
	char params[256] = {0};
	int out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0644);
	if (fork() != 0)
		for (;;)
			pause();
	setsid();
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	pthread_create(&t, NULL, go_on, NULL);
	int filter = load(0, SECCOMP_RET_ALLOW) < 0 ? errno : 0, l = load(SECCOMP_FILTER_FLAG_NEW_LISTENER, SECCOMP_RET_USER_NOTIF) < 0 ? errno : 0;
	dprintf(out, "filter %d listener %d ready\n", filter, l);
	while (connect(-1, (struct sockaddr *)&a, sizeof a) == 0 || errno != ENOSYS)
		;
	listener = load(SECCOMP_FILTER_FLAG_NEW_LISTENER, SECCOMP_RET_USER_NOTIF);
	dprintf(out, "listener %d", listener < 0 ? errno : 0);
	dprintf(out, " vsock %d", syscall(SYS_socket, AF_VSOCK, SOCK_STREAM, 0) < 0);
	dprintf(out, " io_uring %d", syscall(SYS_io_uring_setup, 1, params) < 0);
	dprintf(out, " connect %d end\n", connect(-1, (struct sockaddr *)&a, sizeof a) < 0 ? errno : 0);
	return 0;
}

static int to(char *path) {
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	strncpy(a.sun_path, path, sizeof a.sun_path - 1);
	int s = socket(AF_UNIX, SOCK_STREAM, 0);
	tell("socket", s);
	tell("connect", connect(s, (struct sockaddr *)&a, sizeof a));
	return 0;
}

static void *one(void *path) {
	to(path);
	return NULL;
}

// blocked opens until a file is there, while n threads wait for a connection.
static int blocked(char *path, int n) {
	pthread_t t;
	while (n-- > 0)
		pthread_create(&t, NULL, one, path);
	while (try_open("go") < 0)
		;
	return 9;
}

int main(int argc, char **argv) {
	name = argv[0];
	const char *what = argc > 1 ? argv[1] : "";
	if (!strcmp(what, "everything"))
		return everything(argv[2]);
	if (!strcmp(what, "opens"))
		return opens(atoi(argv[2]), argc > 3);
	if (!strcmp(what, "daemon"))
		return daemon_(argv[2], argv[3]);
	if (!strcmp(what, "heir"))
		return heir(argv[2]);
	if (!strcmp(what, "blocked"))
		return blocked(argv[2], atoi(argv[3]));
	if (!strcmp(what, "tracer"))
		return tracer();
	if (!strcmp(what, "connect"))
		return to(argv[2]) | to(argv[3]);
	return 7; // end
}
