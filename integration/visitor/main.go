package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// patience bounds everything that waits for an answer.
const patience = 60 * time.Second

func main() {
	if len(os.Args) > 1 {
		_, _ = io.WriteString(os.Stdout, answer(os.Args[1:])+"\n")
		return
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 4<<20) // a header of 1 MiB, in hexadecimal
	for lines.Scan() {
		_, _ = io.WriteString(os.Stdout, answer(strings.Fields(lines.Text()))+"\n")
	}
}

// operation finds an operation and how many words it takes at least, or nil.
func operation(name string) (op func([]string) (string, error), words int) {
	switch name {
	case "line":
		return opLine, 1
	case "http":
		return opHTTP, 2
	case "fetch":
		return opFetch, 1
	case "lookup":
		return opLookup, 1
	case "serve":
		return opServe, 2
	case "relay":
		return opRelay, 2
	case "flood":
		return opFlood, 3
	case "stall":
		return opStall, 3
	case "env":
		return func(words []string) (string, error) { return os.Getenv(words[0]), nil }, 1
	case "network":
		return func([]string) (string, error) { return os.Readlink("/proc/self/ns/net") }, 0
	}
	return nil, 0
}

// answer does what one line says.
func answer(words []string) string {
	if len(words) == 0 {
		return "bad empty line"
	}
	op, least := operation(words[0])
	if op == nil || len(words) <= least {
		return "bad operation " + strconv.Quote(words[0])
	}
	detail, err := op(words[1:])
	var errno syscall.Errno
	var named *net.DNSError
	switch {
	case err == nil:
		return strings.TrimRight("ok "+detail, " ")
	case errors.As(err, &named) && named.IsNotFound:
		return "bad no such host"
	case errors.As(err, &errno):
		return "errno " + unix.ErrnoName(errno)
	}
	return fmt.Sprintf("bad %q", err.Error())
}

// opLine prints the first line of a connection.
func opLine(words []string) (string, error) {
	c, err := net.DialTimeout("tcp", words[0], patience)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	return strings.TrimSpace(line), err
}

// opServe listens, and answers each connection with a line until the program ends.
func opServe(words []string) (string, error) {
	network := "tcp6"
	if strings.Count(words[0], ":") == 1 {
		network = "tcp4"
	}
	l, err := net.Listen(network, words[0])
	if err != nil {
		return "", err
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, words[1]+"\n")
			_ = c.Close()
		}
	}()
	return l.Addr().String(), nil
}

// opRelay passes connections on from one address to another until the program ends.
func opRelay(words []string) (string, error) {
	l, err := net.Listen("tcp", words[0])
	if err != nil {
		return "", err
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go pass(c, words[1])
		}
	}()
	return l.Addr().String(), nil
}

// pass copies both ways until one side ends.
func pass(c net.Conn, to string) {
	defer c.Close()
	other, err := net.DialTimeout("tcp", to, patience)
	if err != nil {
		return
	}
	defer other.Close()
	go func() {
		_, _ = io.Copy(other, c)
	}()
	_, _ = io.Copy(c, other)
}
