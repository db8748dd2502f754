package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/mutation"
	"brainbox/launcher"
)

type config struct {
	Worker launcher.Worker
	Turn   launcher.Turn
	Mode   string // "run", "probe", "lines"
	Leak   string // a file that is open for writing, as descriptor 9 and not close-on-exec
	Held   string // a file that is open for writing and mapped, close-on-exec
	Init   string // a program of the agent's that a careless host runs itself (mutation)
}

func main() {
	status, err := host()
	if err != nil {
		fmt.Fprintln(os.Stderr, "workerhost:", err)
	}
	os.Exit(status)
}

func host() (int, error) {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		return 1, err
	}
	var c config
	if err := json.Unmarshal(text, &c); err != nil {
		return 1, err
	}
	// What this process inherited is its own to mark.
	if err := unix.CloseRange(3, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return 1, err
	}
	if err := c.descriptors(); err != nil {
		return 1, err
	}
	if c.Init != "" && mutation.On("init-in-host") {
		_ = exec.Command(c.Init).Run()
	}
	if c.Mode == "probe" {
		c.probes()
		return 0, nil
	}
	run, err := c.Worker.Start(context.Background(), c.Turn)
	var refused *launcher.WorkerRefusal
	if errors.As(err, &refused) {
		fmt.Println(string(refused.JSON()))
		return 125, nil
	}
	if err != nil {
		return 1, err
	}
	if c.Mode == "lines" {
		return lines(run)
	}
	return relay(run)
}

// descriptors opens what a careless host has open.
func (c *config) descriptors() error {
	if c.Leak != "" {
		fd, err := unix.Open(c.Leak, unix.O_RDWR|unix.O_APPEND, 0)
		if err != nil {
			return err
		}
		if err := unix.Dup3(fd, 9, 0); err != nil {
			return err
		}
		unix.Close(fd)
	}
	if c.Held == "" {
		return nil
	}
	fd, err := unix.Open(c.Held, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if mutation.On("clear-cloexec") {
		if err := unix.Dup3(fd, 9, 0); err != nil {
			return err
		}
	}
	_, err = unix.Mmap(fd, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	return err
}

// relay passes everything on until the worker ends.
func relay(run *launcher.WorkerRun) (int, error) {
	go func() {
		_, _ = io.Copy(run.Stdin, os.Stdin)
		_ = run.Stdin.Close()
	}()
	errs := make(chan error, 1)
	go func() {
		_, err := io.Copy(os.Stderr, run.Stderr)
		errs <- err
	}()
	_, err := io.Copy(os.Stdout, run.Stdout)
	err = errors.Join(err, <-errs)
	res, werr := run.Wait()
	if werr != nil {
		return 1, errors.Join(err, werr)
	}
	return res.Status, err
}

// lines reads the worker's lines as a backend does, and says how that ended.
func lines(run *launcher.WorkerRun) (int, error) {
	go func() { _, _ = io.Copy(io.Discard, run.Stderr) }()
	n, size := 0, 0
	for {
		line, err := run.Lines().Next()
		if err != nil {
			res, werr := run.Wait()
			status := -1
			if werr == nil {
				status = res.Status
			}
			fmt.Printf("lines=%d longest=%d end=%q status=%d\n", n, size, err, status)
			return 0, nil
		}
		n, size = n+1, max(size, len(line))
	}
}

// probes answers each line with what a probe says at that moment.
func (c *config) probes() {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		switch strings.TrimSpace(in.Text()) {
		case "probe":
			began := time.Now()
			err := launcher.Probe(context.Background(), c.Worker, c.Turn)
			var refused *launcher.WorkerRefusal
			switch {
			case errors.As(err, &refused):
				fmt.Println(string(refused.JSON()))
			default:
				fmt.Printf("held %v %v\n", time.Since(began).Round(time.Millisecond), err)
			}
		case "disable":
			fmt.Println("disabled", disable())
		}
	}
}

// disable takes user namespaces away, in a user namespace of the test's own alone: the limit
// of the first one is the machine's.
func disable() error {
	text, err := os.ReadFile("/proc/self/uid_map")
	if err != nil || strings.Contains(string(text), "4294967295") {
		return errors.Join(err, errors.New("not in a user namespace of its own"))
	}
	return os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0)
}
