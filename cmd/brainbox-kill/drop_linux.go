package main

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"brainbox/internal/killargs"
	"brainbox/internal/setuid"

	"golang.org/x/sys/unix"
)

func realSystem() system {
	return system{
		start: setuid.Look, begin: beginRaised, config: readConfig, readable: callerReads, accounts: readAccounts,
		pidMax: readPidMax, drop: drop, kill: killGroup, stdout: os.Stdout, stderr: os.Stderr,
	}
}

// beginRaised leaves nothing of the caller's but his arguments.
func beginRaised() {
	setuid.Begin() // the limits are not given back: no program follows
	os.Clearenv()
}

// callerReads asks as the real user, without the effective one's rights (access(2)). That
// there is no policy is no secret.
func callerReads() bool {
	err := unix.Access(execPolicy, unix.R_OK)
	return err == nil || errors.Is(err, unix.ENOENT)
}

// readPidMax returns 0, which killargs reads as the kernel's limit, when there
// is no answer.
func readPidMax() int {
	text, err := os.ReadFile("/proc/sys/kernel/pid_max")
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || n < 0 || n > killargs.PidMaxLimit {
		return 0
	}
	return n
}

// drop is irreversible. It takes the target's ids and gives up every capability, so
// that the signal goes only where an ordinary process of that user could send it:
// without an identity that keeps root, too, to what is root's own (contract brainkit
// §1.6, H5, P12).
func drop(to target) error {
	if to.change {
		if err := setuid.Drop(setuid.Target{UID: to.uid, GID: to.gid}); err != nil {
			return err
		}
	} else if err := setuid.NoCapabilities(); err != nil {
		return os.NewSyscallError("capset", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	return nil
}

// killGroup sends the signal. ESRCH is a failure here, for nothing was
// signalled; package launcher knows it as a group that is gone (P11).
func killGroup(pgid int, sig unix.Signal) error {
	if err := unix.Kill(-pgid, sig); err != nil {
		return about("process group "+strconv.Itoa(pgid), os.NewSyscallError("kill", err))
	}
	return nil
}
