// Command try does one thing that a policy may refuse, and says what happened.
//
//	try read FILE | write FILE | connect ADDRESS | signal PID
//	try listen      accepts on a loopback port, which it prints, until its input ends
//
// Status 0: it was done. 1: it was not.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"
)

func main() {
	if err := try(os.Args[1], os.Args[2:]...); err != nil {
		fmt.Println("refused:", err)
		os.Exit(1)
	}
}

func try(what string, args ...string) error {
	switch what {
	case "read":
		data, err := os.ReadFile(args[0])
		fmt.Printf("%s", data)
		return err
	case "write":
		return os.WriteFile(args[0], []byte("written\n"), 0o644)
	case "connect":
		conn, err := net.DialTimeout("tcp", args[0], 5*time.Second)
		if err != nil {
			return err
		}
		return conn.Close()
	case "signal":
		pid, err := strconv.Atoi(args[0])
		if err != nil {
			return err
		}
		return os.NewSyscallError("kill", syscall.Kill(pid, 0))
	case "listen":
		return listen()
	}
	return fmt.Errorf("try what? %q", what)
}

func listen() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
