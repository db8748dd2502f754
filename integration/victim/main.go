package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func main() {
	// Attempts such as unshare(2) and ptrace(2) are about one thread.
	runtime.LockOSThread()
	if len(os.Args) == 2 && os.Args[1] == "canary" {
		canary(os.Stdin, os.Stdout)
		return
	}
	if len(os.Args) > 1 {
		_, _ = io.WriteString(os.Stdout, answer(os.Args[1:])+"\n")
		return
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		_, _ = io.WriteString(os.Stdout, answer(strings.Fields(lines.Text()))+"\n")
	}
}

// attempt carries the results of one line from call to call.
type attempt struct {
	results []uintptr
	keep    []any // what the kernel is given addresses of
}

// answer makes the calls of one attempt in order and stops at the first failure.
func answer(words []string) string {
	a := &attempt{}
	last := ""
	for i, call := range split(words) {
		detail, err := a.call(call)
		if err != nil {
			return failure(i, err)
		}
		last = detail
	}
	runtime.KeepAlive(a)
	if strings.HasPrefix(last, "signal ") || strings.HasPrefix(last, "exit ") || strings.HasPrefix(last, "errno ") {
		return last
	}
	return strings.TrimRight("ok "+last, " ")
}

// split cuts an attempt into its calls. What follows a word that takes a whole
// attempt belongs to that word.
func split(words []string) [][]string {
	var calls [][]string
	start := 0
	for i, w := range words {
		switch {
		case w == ";":
			calls = append(calls, words[start:i])
			start = i + 1
		case i == start && takesAttempt(w):
			return append(calls, words[start:])
		}
	}
	return append(calls, words[start:])
}

func takesAttempt(word string) bool {
	switch word {
	case "fork", "self", "memfd", "filter", "without":
		return true
	}
	return false
}

// failure turns an error into an answer. The place is named when it is not the
// first call, because a row may only expect the last one to fail.
func failure(at int, err error) string {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return "bad " + strings.ReplaceAll(err.Error(), "\n", " ")
	}
	name := unix.ErrnoName(errno)
	switch {
	case errno == unix.EOPNOTSUPP: // one number, two names
		name = "EOPNOTSUPP"
	case name == "":
		name = strconv.Itoa(int(errno))
	}
	return fmt.Sprintf("errno %s at %d", name, at)
}

// call makes one call.
func (a *attempt) call(words []string) (string, error) {
	if len(words) == 0 {
		return "", errors.New("empty call")
	}
	if nr, err := strconv.ParseUint(words[0], 0, 64); err == nil {
		return a.syscall(uintptr(nr), words[1:])
	}
	op := operation(words[0])
	if op == nil {
		return "", fmt.Errorf("unknown operation %q", words[0])
	}
	rest := make([]string, len(words)-1)
	for i, w := range words[1:] {
		rest[i] = a.expand(w)
	}
	detail, err := op(rest)
	a.results = append(a.results, 0)
	return detail, err
}

// syscall makes one raw call.
func (a *attempt) syscall(nr uintptr, words []string) (string, error) {
	args, err := a.values(words)
	if err != nil {
		return "", err
	}
	r, _, errno := syscall.Syscall6(nr, args[0], args[1], args[2], args[3], args[4], args[5])
	a.results = append(a.results, r)
	if errno != 0 {
		return "", errno
	}
	return strconv.FormatUint(uint64(r), 10), nil
}
