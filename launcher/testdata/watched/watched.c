// A program for the tests of an observed run.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
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

static int to(char *path) {
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	strncpy(a.sun_path, path, sizeof a.sun_path - 1);
	int s = socket(AF_UNIX, SOCK_STREAM, 0);
	tell("socket", s);
	tell("connect", connect(s, (struct sockaddr *)&a, sizeof a));
	return 0;
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
	if (!strcmp(what, "connect"))
		return to(argv[2]) | to(argv[3]);
	return 7; // end
}
