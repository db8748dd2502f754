package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "starter:", err)
		os.Exit(1)
	}
}

func serve() error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	env := os.Environ()
	for in.Scan() {
		words, err := split(in.Text())
		if err != nil {
			return err
		}
		if err := start(words, env, null.Fd()); err != nil {
			return err
		}
	}
	return in.Err()
}

// split takes a request apart.
func split(line string) ([]string, error) {
	var words []string
	for line != "" {
		quoted, err := strconv.QuotedPrefix(line)
		if err != nil {
			return nil, fmt.Errorf("request %q: %w", line, err)
		}
		word, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, err
		}
		words, line = append(words, word), strings.TrimPrefix(line[len(quoted):], " ")
	}
	if len(words) < 2 {
		return nil, fmt.Errorf("request %q: no program", words)
	}
	return words, nil
}

// start runs one program and prints what it took.
func start(words, env []string, null uintptr) error {
	attr := &syscall.ProcAttr{Dir: words[0], Env: env, Files: []uintptr{null, null, null}}
	before := time.Now()
	pid, err := syscall.ForkExec(words[1], words[1:], attr)
	if err != nil {
		return fmt.Errorf("%q: %w", words[1], err)
	}
	var status syscall.WaitStatus
	var usage syscall.Rusage
	for {
		if _, err = syscall.Wait4(pid, &status, 0, &usage); err != syscall.EINTR { //nolint:errorlint // a bare errno
			break
		}
	}
	took := time.Since(before)
	if err != nil {
		return os.NewSyscallError("wait4", err)
	}
	_, err = fmt.Println(took.Nanoseconds(), usage.Maxrss, int(status))
	return err
}
