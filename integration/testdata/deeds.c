// What a static program tries: deeds NAME DEED PATH [DEST]…, one group after another with "," between.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int deed(char **v)
{
	const char *what = v[1], *path = v[2];
	if (!strcmp(what, "read")) return open(path, O_RDONLY);
	if (!strcmp(what, "list")) return open(path, O_RDONLY | O_DIRECTORY);
	if (!strcmp(what, "write")) return open(path, O_WRONLY);
	if (!strcmp(what, "both")) return open(path, O_RDWR);
	if (!strcmp(what, "create")) return open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
	if (!strcmp(what, "mkdir")) return mkdir(path, 0755);
	if (!strcmp(what, "mkfifo")) return mkfifo(path, 0644);
	if (!strcmp(what, "remove")) return unlink(path);
	if (!strcmp(what, "rmdir")) return rmdir(path);
	if (!strcmp(what, "truncate")) return truncate(path, 1);
	if (!strcmp(what, "symlink")) return symlink("nowhere", path);
	if (!strcmp(what, "rename")) return rename(path, v[3]);
	if (!strcmp(what, "link")) return link(path, v[3]);
	if (!strcmp(what, "exec")) {
		int status;
		pid_t pid = fork();
		if (pid == 0) {
			char *argv[] = {(char *)path, NULL};
			execv(path, argv);
			_exit(126);
		}
		return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -1;
	}
	return -1;
}

static void *thread(void *v) { return deed(v) < 0 ? NULL : v; }

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		int threaded = !strncmp(argv[i], "thread", 6);
		pthread_t t;
		void *done = NULL;
		if (threaded) {
			pthread_create(&t, NULL, thread, argv + i);
			pthread_join(t, &done);
		} else if (deed(argv + i) >= 0) {
			done = argv;
		}
		printf("%s %s\n", argv[i], done ? "ok" : "no");
		while (i < argc && strcmp(argv[i], ",")) i++;
	}
	return 0;
}
