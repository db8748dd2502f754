package main

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"brainbox/landlock"
)

// resolverFiles are what Go's resolver reads (package net).
var resolverFiles = [...]string{"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/services", "/etc/host.conf"}

// confine takes the file system from every thread, but for reading what a resolver reads: no
// write, no execution; from Linux 6.12 on (ABI 6) no signal to another process and no abstract
// Unix socket of one, and where the kernel has it (ABI 9) none by its path. It reports whether
// the kernel holds that; where there is no Landlock it is not held.
func confine() (bool, error) {
	support, err := landlock.Probe()
	if err != nil { // what is asked for is not there
		return false, nil
	}
	spec := landlock.Spec{OpenTCP: true, ResolveUnixElsewhere: true, Degraded: ^landlock.Features(0)}
	defer func() {
		for _, r := range spec.Rules {
			unix.Close(r.FD)
		}
	}()
	for _, name := range readable(os.Geteuid() == 0) {
		fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			continue // a host without it
		}
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			unix.Close(fd)
			return false, os.NewSyscallError("fstat", err)
		}
		spec.Rules = append(spec.Rules, landlock.Rule{FD: fd, Dir: st.Mode&unix.S_IFMT == unix.S_IFDIR, Right: landlock.Read})
	}
	ruleset, err := landlock.Build(spec, support)
	if err != nil {
		return false, err
	}
	defer unix.Close(ruleset)
	_, _, e := syscall.AllThreadsSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0, 0)
	if errors.Is(e, syscall.ENOTSUP) { // a build with cgo, whose threads Go does not know
		return false, nil
	}
	if e != 0 {
		return false, os.NewSyscallError("landlock_restrict_self", e)
	}
	return true, nil
}

// readable lists the files, and the folder that resolv.conf leads to: what manages it puts
// another file in its place. Where that is /etc, root's secrets are in it: root has the files
// alone, and goes on with the name servers of the start (package proxy, HostResolver).
func readable(root bool) []string {
	list := resolverFiles[:]
	target, err := filepath.EvalSymlinks("/etc/resolv.conf")
	if dir := filepath.Dir(target); err == nil && (dir != "/etc" || !root) {
		list = append(list, dir)
	}
	return list
}
