package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"

	"brainbox/landlock"
)

func main() {
	if err := start(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "rejected:", err)
	}
}

// start restricts the calling thread and runs the program from it. Irreversible.
func start(argv []string) error {
	if len(argv) == 0 {
		return errors.New("usage: rejected PROGRAM [ARG]…")
	}
	support, err := landlock.Probe()
	if err != nil {
		return err
	}
	root, err := unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	ruleset, err := landlock.Build(landlock.Spec{
		Rules:                []landlock.Rule{{FD: root, Dir: true, Right: landlock.WriteExec}},
		ResolveUnixElsewhere: true,
	}, support)
	if err != nil {
		return err
	}
	runtime.LockOSThread() // never unlocked: the thread is confined
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0, 0); errno != 0 {
		return os.NewSyscallError("landlock_restrict_self", errno)
	}
	// As brainbox does with a root caller: the program has no capability, and here
	// its thread has none either.
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return err
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	waited := make(chan error, 1)
	go func() { waited <- cmd.Wait() }() // on another thread: this one may be stopped
	return <-waited
}
