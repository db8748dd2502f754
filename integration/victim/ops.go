package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// operation finds a named operation, or nil.
func operation(name string) func([]string) (string, error) {
	switch name {
	case "read":
		return one(opRead)
	case "write":
		return opWrite
	case "list":
		return one(opList)
	case "status":
		return opStatus
	case "fds":
		return opFDs
	case "env":
		return opEnv
	case "cwd":
		return func([]string) (string, error) { return os.Getwd() }
	case "signals":
		return opSignals
	case "int80":
		return opInt80
	case "clone":
		return opClone
	case "fork":
		return opFork
	case "sigio":
		return one(opSigIO)
	}
	if op := worker(name); op != nil {
		return op
	}
	return process(name)
}

// process finds the named operations that start or are processes, or nil.
func process(name string) func([]string) (string, error) {
	switch name {
	case "run":
		return opRun
	case "self":
		return opSelf
	case "memfd":
		return opMemfd
	case "filter":
		return opFilter
	case "without":
		return opWithout
	case "daemon":
		return one(opDaemon)
	case "daemon-middle":
		return one(opDaemonMiddle)
	case "hold":
		return one(opHold)
	case "stubborn":
		return one(opStubborn)
	case "die":
		return one(opDie)
	case "child-check":
		return one(opChildCheck)
	case "attack":
		return one(opAttack)
	case "job":
		return opJob
	case "tty":
		return opTTY
	}
	return nil
}

// one adapts an operation that takes one word.
func one(op func(string) (string, error)) func([]string) (string, error) {
	return func(words []string) (string, error) {
		if len(words) != 1 {
			return "", fmt.Errorf("%d words, want one", len(words))
		}
		return op(words[0])
	}
}

// opRead reads the first bytes of a file.
func opRead(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var b [4096]byte
	n, err := f.Read(b[:])
	if n == 0 && err != nil {
		return "", err
	}
	return strconv.QuoteToASCII(string(b[:n])), nil
}

// opWrite opens a file with the flags and writes into it.
func opWrite(words []string) (string, error) {
	if len(words) != 3 {
		return "", errors.New("usage: write PATH FLAGS TEXT")
	}
	flags, ok := number(words[1])
	if !ok {
		return "", errors.New("bad flags")
	}
	f, err := os.OpenFile(words[0], int(flags)|os.O_WRONLY, 0o644)
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(words[2])
	return "", errors.Join(err, f.Close())
}

// opList counts the names in a folder.
func opList(path string) (string, error) {
	names, err := os.ReadDir(path)
	return strconv.Itoa(len(names)), err
}

// opStatus returns fields of /proc/self/status.
func opStatus(fields []string) (string, error) {
	text, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		return "", err
	}
	var out []string
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if slices.Contains(fields, name) {
			out = append(out, name+"="+strings.Join(strings.Fields(value), ","))
		}
	}
	return strings.Join(out, " "), nil
}

// opFDs lists the open descriptors, found without any help of /proc.
func opFDs(words []string) (string, error) {
	var open []string
	for fd := range 8192 {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil {
			continue
		}
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return "", err
		}
		// The Go runtime of this program opens epoll, eventfd and cgroup descriptors.
		name, _ := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
		if fd > 2 && (st.Mode&unix.S_IFMT == 0 || strings.HasPrefix(name, "/sys/fs/cgroup/")) {
			continue
		}
		open = append(open, strconv.Itoa(fd))
	}
	return strings.Join(append(open, words...), " "), nil
}

// opEnv prints the environment, names only or one value.
func opEnv(words []string) (string, error) {
	if len(words) == 1 {
		return strconv.QuoteToASCII(os.Getenv(words[0])), nil
	}
	var names []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		names = append(names, strconv.QuoteToASCII(name))
	}
	slices.Sort(names)
	return strings.Join(names, " "), nil
}

// opSignals tells which dispositions were inherited as ignored and which signals
// as blocked: the runtime of this program changes neither.
func opSignals([]string) (string, error) {
	text, err := opStatus([]string{"SigBlk", "SigIgn"})
	return text, err
}

// opSigIO aims an asynchronous notification at another process and causes it
// (fcntl(2), F_SETOWN, F_SETSIG, O_ASYNC).
func opSigIO(target string) (string, error) {
	pid, err := strconv.Atoi(target)
	if err != nil {
		return "", err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = unix.Close(pair[0]); _ = unix.Close(pair[1]) }()
	if _, err := unix.FcntlInt(uintptr(pair[0]), unix.F_SETOWN, pid); err != nil {
		return "", err
	}
	if _, err := unix.FcntlInt(uintptr(pair[0]), unix.F_SETSIG, int(unix.SIGUSR1)); err != nil {
		return "", err
	}
	if _, err := unix.FcntlInt(uintptr(pair[0]), unix.F_SETFL, unix.O_ASYNC); err != nil {
		return "", err
	}
	_, err = syscall.Write(pair[1], []byte("x"))
	return "", err
}
