package main

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"

	"brainbox/internal/killargs"

	"golang.org/x/sys/unix"
)

func realSystem() system {
	return system{
		privilege: currentPrivilege, config: readConfig, accounts: readAccounts, pidMax: readPidMax,
		drop: drop, kill: killGroup, stdout: os.Stdout, stderr: os.Stderr,
	}
}

func currentPrivilege() privilege {
	ruid, euid, _ := unix.Getresuid()
	rgid, egid, _ := unix.Getresgid()
	return privilege{
		ruid: uint32(ruid), euid: uint32(euid), rgid: uint32(rgid), egid: uint32(egid), secure: startedSecure(),
	}
}

// startedSecure reads AT_SECURE. Without an answer the start counts as secure,
// which is the case that is refused.
func startedSecure() bool {
	const atSecure = 23 // AT_SECURE, getauxval(3)
	vector, err := unix.Auxv()
	if err != nil {
		return true
	}
	for _, entry := range vector {
		if entry[0] == atSecure {
			return entry[1] != 0
		}
	}
	return true
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

// drop is irreversible. It takes the target's ids on all threads and, on the
// calling one, gives up every capability, so that the signal goes only where an
// ordinary process of that user could send it: without an identity that keeps
// root, too, to what is root's own. Every call is checked, and what must hold
// afterwards is read back (contract brainkit §1.6, H5, P12).
func drop(to target) error {
	if to.change {
		uid, gid := int(to.uid), int(to.gid)
		if err := os.NewSyscallError("setgroups", syscall.Setgroups([]int{})); err != nil {
			return about("drop to the identity", err)
		}
		if err := os.NewSyscallError("setresgid", syscall.Setresgid(gid, gid, gid)); err != nil {
			return about("drop to the identity", err)
		}
		if err := os.NewSyscallError("setresuid", syscall.Setresuid(uid, uid, uid)); err != nil {
			return about("drop to the identity", err)
		}
	}
	// With SECBIT_NO_SETUID_FIXUP, which is inherited, setresuid leaves the
	// capabilities as they are (capabilities(7)).
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := os.NewSyscallError("capset", unix.Capset(&head, &none[0])); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	return dropped(to)
}

// dropped reads back what drop was to bring about.
func dropped(to target) error {
	failed := errors.New("internal error: privileges are left after the drop")
	if to.change {
		ruid, euid, suid := unix.Getresuid()
		rgid, egid, sgid := unix.Getresgid()
		uid, gid := int(to.uid), int(to.gid)
		if ruid != uid || euid != uid || suid != uid || rgid != gid || egid != gid || sgid != gid {
			return failed
		}
		if groups, err := unix.Getgroups(); err != nil || len(groups) != 0 {
			return failed
		}
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	if err := unix.Capget(&head, &have[0]); err != nil || have != [2]unix.CapUserData{} {
		return failed
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
