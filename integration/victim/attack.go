package main

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// opAttack tries for a short while to get at the parent of this process and at
// each of its threads, and lists what succeeded: nothing may.
func opAttack(limit string) (string, error) {
	limitFor, err := time.ParseDuration(limit)
	if err != nil {
		return "", err
	}
	parent := os.Getppid()
	hits := map[string]bool{}
	tries := 0
	for end := time.Now().Add(limitFor); tries == 0 || time.Now().Before(end); tries++ {
		threads, err := os.ReadDir("/proc/" + strconv.Itoa(parent) + "/task")
		if err != nil && !errors.Is(err, unix.ESRCH) && !errors.Is(err, unix.ENOENT) {
			return "", err
		}
		targets := []int{parent}
		for _, thread := range threads {
			if tid, err := strconv.Atoi(thread.Name()); err == nil {
				targets = append(targets, tid)
			}
		}
		for _, tid := range targets {
			for _, name := range attackOne(parent, tid) {
				hits[name] = true
			}
		}
	}
	var names []string
	for name := range hits {
		names = append(names, name)
	}
	return "tries=" + strconv.Itoa(tries) + " hits=" + strings.Join(append(names, "."), ","), nil
}

// attackOne makes every attempt on one thread and returns the names of those that
// succeeded. Signal 0 is only asked for: it needs the same permission.
func attackOne(pid, tid int) []string {
	var hits []string
	hit := func(name string, err error) {
		if err == nil {
			hits = append(hits, name)
		}
	}
	seized := unix.PtraceSeize(tid)
	hit("ptrace-seize", seized)
	if seized == nil {
		_ = unix.PtraceDetach(tid)
	}
	attached := unix.PtraceAttach(tid)
	hit("ptrace-attach", attached)
	if attached == nil {
		_, _ = unix.Wait4(tid, nil, unix.WALL, nil)
		_ = unix.PtraceDetach(tid)
	}
	hit("tgkill", unix.Tgkill(pid, tid, 0))
	hit("kill", unix.Kill(tid, 0))
	return append(hits, attackMemory(tid)...)
}

// attackMemory tries the ways into memory, descriptors and limits.
func attackMemory(tid int) []string {
	var hits []string
	hit := func(name string, err error) {
		if err == nil {
			hits = append(hits, name)
		}
	}
	var b [1]byte
	local := []unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(1)
	// An address that is mapped in every static Go program of this machine: its own
	// text. EFAULT means that the permission was given.
	remote := []unix.RemoteIovec{{Base: textAddress(), Len: 1}}
	_, err := unix.ProcessVMReadv(tid, local, remote, 0)
	hit("process_vm_readv", granted(err))
	_, err = unix.ProcessVMWritev(tid, local, remote, 0)
	hit("process_vm_writev", granted(err))
	if pidfd, err := unix.PidfdOpen(tid, 0); err == nil {
		fd, err := unix.PidfdGetfd(pidfd, 1, 0)
		hit("pidfd_getfd", err)
		if err == nil {
			_ = unix.Close(fd)
		}
		hit("pidfd_send_signal", unix.PidfdSendSignal(pidfd, 0, nil, 0))
		_ = unix.Close(pidfd)
	}
	limit := unix.Rlimit{Cur: 1, Max: 1}
	hit("prlimit", unix.Prlimit(tid, unix.RLIMIT_MSGQUEUE, &limit, nil))
	fd, err := unix.Open("/proc/"+strconv.Itoa(tid)+"/mem", unix.O_RDWR|unix.O_CLOEXEC, 0)
	hit("mem", err)
	if err == nil {
		_ = unix.Close(fd)
	}
	return hits
}

// granted counts a bad address as a success: the permission check comes first.
func granted(err error) error {
	if errors.Is(err, unix.EFAULT) {
		return nil
	}
	return err
}
