package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// worker finds the named operations of the worker's matrix, or nil.
func worker(name string) func([]string) (string, error) {
	switch name {
	case "passfd":
		return one(opPassFD)
	case "byhandle":
		return one(opByHandle)
	case "forks":
		return one(opForks)
	case "files":
		return opFiles
	case "fill":
		return opFill
	case "long":
		return one(opLong)
	case "proc":
		return opProc
	case "sharedfork":
		return one(opSharedFork)
	case "late":
		return one(opLate)
	case "tail":
		return one(opTail)
	}
	return nil
}

// opPassFD opens a file, sends the descriptor over a socket pair, and changes the file
// through what is received, as far as that can be done.
func opPassFD(path string) (string, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	if err := unix.Sendmsg(pair[0], []byte{1}, unix.UnixRights(fd), nil, 0); err != nil {
		return "", err
	}
	var b [1]byte
	oob := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(pair[1], b[:], oob, 0)
	if err != nil {
		return "", err
	}
	list, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil || len(list) != 1 {
		return "", fmt.Errorf("%d messages, %w", len(list), err)
	}
	got, err := unix.ParseUnixRights(&list[0])
	if err != nil {
		return "", err
	}
	again, err := unix.Open("/proc/self/fd/"+strconv.Itoa(got[0]), unix.O_WRONLY|unix.O_APPEND|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	_, err = unix.Write(again, []byte("passed"))
	return "", err
}

// opByHandle opens a file by its handle (open_by_handle_at(2)). The handle itself is made
// up where it cannot be asked for.
func opByHandle(path string) (string, error) {
	handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, path, 0)
	if err != nil {
		handle = unix.NewFileHandle(1, make([]byte, 8))
	}
	dir, err := unix.Open(filepath.Dir(path), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	_, err = unix.OpenByHandleAt(dir, handle, unix.O_RDONLY)
	return "", err
}

// opForks starts so many processes that wait, at most 200, and says how many there were.
func opForks(words string) (string, error) {
	n, err := strconv.Atoi(words)
	if err != nil || n > 200 {
		return "", errors.New("at most 200")
	}
	var all []*exec.Cmd
	for range n {
		cmd := exec.Command("/bin/sleep", "60")
		if err = cmd.Start(); err != nil {
			break
		}
		all = append(all, cmd)
	}
	for _, cmd := range all {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	return "started " + strconv.Itoa(len(all)), nil
}

// opFiles makes so many empty files in a folder, at most 2000.
func opFiles(words []string) (string, error) {
	if len(words) != 2 {
		return "", errors.New("usage: files DIR N")
	}
	n, err := strconv.Atoi(words[1])
	if err != nil || n > 2000 {
		return "", errors.New("at most 2000")
	}
	for i := range n {
		f, err := os.OpenFile(filepath.Join(words[0], "many"+strconv.Itoa(i)), os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
		if err != nil {
			return "", err
		}
		_ = f.Close()
	}
	return "", nil
}

// opFill writes so many bytes into a file, at most 16 MiB.
func opFill(words []string) (string, error) {
	if len(words) != 2 {
		return "", errors.New("usage: fill FILE BYTES")
	}
	n, err := strconv.Atoi(words[1])
	if err != nil || n > 16<<20 {
		return "", errors.New("at most 16 MiB")
	}
	return "", os.WriteFile(words[0], make([]byte, n), 0o600)
}

// opLong prints a line of so many bytes, at most 32 MiB.
func opLong(words string) (string, error) {
	n, err := strconv.Atoi(words)
	if err != nil || n > 32<<20 {
		return "", errors.New("at most 32 MiB")
	}
	return strings.Repeat("x", n), nil
}

// opTail ends the program within a line.
func opTail(text string) (string, error) {
	_, _ = os.Stdout.WriteString(text)
	unix.Exit(0)
	return "", nil
}

// opProc looks at every process that can be seen, in /proc, for a link among those of one
// kind: "fd" and "map_files" for one that leads to the file, "root" for another root than
// this process's own. It says how many there were, or "none".
func opProc(words []string) (string, error) {
	if len(words) != 2 {
		return "", errors.New("usage: proc fd|map_files|root PATH")
	}
	var own unix.Stat_t
	if err := unix.Stat("/", &own); err != nil {
		return "", err
	}
	found := 0
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return "", err
	}
	for _, p := range all {
		if words[0] == "root" {
			var st unix.Stat_t
			if unix.Stat(p+"/root/.", &st) == nil && (st.Dev != own.Dev || st.Ino != own.Ino) {
				found++
			}
			continue
		}
		names, _ := os.ReadDir(p + "/" + words[0])
		for _, n := range names {
			if to, err := os.Readlink(p + "/" + words[0] + "/" + n.Name()); err == nil && to == words[1] {
				found++
			}
		}
	}
	if found == 0 {
		return "none", nil
	}
	return "found " + strconv.Itoa(found), nil
}

// opSharedFork is what a start must not be: a file is mapped, shared and writable, and a
// child of fork(2) that executes nothing writes to it.
func opSharedFork(path string) (string, error) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	m, err := unix.MmapPtr(fd, 0, nil, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return "", err
	}
	src, err := unix.MemfdCreate("text", unix.MFD_CLOEXEC)
	if err != nil {
		return "", err
	}
	if _, err := unix.Write(src, []byte("forked")); err != nil {
		return "", err
	}
	return forked(uintptr(unix.SIGCHLD), []rawCall{{unix.SYS_PREAD64, [6]uintptr{uintptr(src), uintptr(m), 6, 0}}})
}

// opLate opens a file for writing, only then gives up the right to by Landlock, and writes.
// It says what a second open(2) answers.
func opLate(path string) (string, error) {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_WRITE_FILE}
	ruleset, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), 8, 0)
	if errno != 0 {
		return "", errno
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return "", err
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0); errno != 0 {
		return "", errno
	}
	if _, err := unix.Write(fd, []byte("late")); err != nil {
		return "", err
	}
	_, err = unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	return fmt.Sprint("again: ", err), nil
}
