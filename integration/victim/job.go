package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// opJob is a very small shell with job control: it runs one program as the terminal's
// foreground job, says when that is stopped, and continues it after the line "fg".
func opJob(words []string) (string, error) {
	signal.Ignore(unix.SIGTTOU, unix.SIGTTIN)
	signal.Notify(make(chan os.Signal, 1), unix.SIGTSTP) // not ignored, which the job would inherit
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Foreground: true, Ctty: 0}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	pid := cmd.Process.Pid
	lines := bufio.NewScanner(os.Stdin)
	for {
		var status unix.WaitStatus
		if _, err := unix.Wait4(pid, &status, unix.WUNTRACED, nil); err != nil {
			return "", err
		}
		if !status.Stopped() {
			if err := unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, unix.Getpgrp()); err != nil {
				return "", err
			}
			return fmt.Sprintf("ended %d", status.ExitStatus()), nil
		}
		if err := unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, unix.Getpgrp()); err != nil {
			return "", err
		}
		fmt.Fprintln(os.Stdout, "stopped")
		if !lines.Scan() {
			return "", lines.Err()
		}
		fmt.Fprintln(os.Stdout, "continued")
		if err := unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, pid); err != nil {
			return "", err
		}
		if err := unix.Kill(-pid, unix.SIGCONT); err != nil {
			return "", err
		}
	}
}
