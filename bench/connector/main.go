package main

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "connector:", err)
		os.Exit(1)
	}
}

func run(path, times string) error {
	n, err := strconv.Atoi(times)
	if err != nil {
		return err
	}
	to := &unix.SockaddrUnix{Name: path}
	for range n {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return os.NewSyscallError("socket", err)
		}
		if err := unix.Connect(fd, to); err != nil {
			return os.NewSyscallError("connect", err)
		}
		if err := unix.Close(fd); err != nil {
			return os.NewSyscallError("close", err)
		}
	}
	return nil
}
