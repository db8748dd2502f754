package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"
)

// runner is the argument of the process that runs the jobs. The first process has another
// task: to wait for every process whose parent has ended, or tests would see them as zombies.
const runner = "runner"

func main() {
	switch {
	case len(os.Args) == 2 && os.Args[1] == runner && os.Getppid() == 1:
		if err := jobs(); err != nil {
			fmt.Println("vminit: FAILED:", err)
		}
	case os.Getpid() == 1:
		if err := first(); err != nil {
			fmt.Println("vminit: FAILED:", err)
		}
		powerOff()
	default:
		fmt.Fprintln(os.Stderr, "vminit: not the first process; see internal/cmd/vm")
		os.Exit(2)
	}
}

// first is the first process: it makes the system, and reaps until the runner has ended.
func first() error {
	if err := prepare(); err != nil {
		return err
	}
	cmd := exec.Command("/proc/self/exe", runner)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	for {
		pid, err := unix.Wait4(-1, nil, 0, nil)
		if err != nil && !errors.Is(err, unix.EINTR) || pid == cmd.Process.Pid {
			return err
		}
	}
}

// jobs runs everything and hands the results back.
func jobs() error {
	report, err := runAll()
	return errors.Join(err, deliver(report))
}

func powerOff() {
	unix.Sync()
	fmt.Println("vminit: power off")
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	for {
		time.Sleep(time.Hour) // the first process must not end
	}
}
