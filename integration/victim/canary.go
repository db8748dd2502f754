package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// secret is what an attempt tries to read or to change from outside.
var secret = [16]byte{'c', 'a', 'n', 'a', 'r', 'y', '-', 's', 'e', 'c', 'r', 'e', 't'}

// canary is a process that attempts are aimed at. It prints its number and the
// address of its secret, and then its state for every line it reads.
func canary(in io.Reader, out io.Writer) {
	var got atomic.Int64
	signals := make(chan os.Signal, 1024)
	signal.Notify(signals, unix.SIGUSR1, unix.SIGUSR2, unix.SIGWINCH, unix.SIGIO, unix.SIGHUP, unix.SIGTERM, unix.SIGINT)
	go func() {
		for range signals {
			got.Add(1)
		}
	}()
	fmt.Fprintf(out, "ready %d %d\n", os.Getpid(), uintptr(unsafe.Pointer(&secret[0])))
	for lines := bufio.NewScanner(in); lines.Scan(); {
		fmt.Fprintf(out, "signals=%d %s secret=%q\n", got.Load(), state(), string(secret[:]))
	}
}

// state lists what others may set on a process from outside.
func state() string {
	var limit unix.Rlimit
	var set unix.CPUSet
	nice, err1 := unix.Getpriority(unix.PRIO_PROCESS, 0)
	err2 := unix.Getrlimit(unix.RLIMIT_CORE, &limit)
	err3 := unix.SchedGetaffinity(os.Getpid(), &set)
	policy, _, errno := syscall.RawSyscall(unix.SYS_SCHED_GETSCHEDULER, uintptr(os.Getpid()), 0, 0)
	io, _, errno2 := syscall.RawSyscall(unix.SYS_IOPRIO_GET, 1, uintptr(os.Getpid()), 0)
	return fmt.Sprintf("nice=%d core=%d cpus=%d policy=%d io=%d errors=%v,%v,%v,%d,%d",
		nice, limit.Cur, set.Count(), policy, io, err1, err2, err3, errno, errno2)
}
