package names

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const programEnv = "NAMES_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(programEnv) != "" {
		program(os.Stdin, os.Stdout)
		return
	}
	os.Exit(m.Run())
}

// program is what runs in the namespace: it does what each line says, and answers with one.
func program(in io.Reader, out io.Writer) {
	var kept []net.Listener
	for lines := bufio.NewScanner(in); lines.Scan(); {
		words := strings.Fields(lines.Text())
		answer := "what?"
		switch words[0] {
		case "lookup":
			answer = lookup(words[1], words[2], words[3])
		case "dial":
			answer = dialled(words[1])
		case "bind":
			listener, err := net.Listen("tcp", words[1])
			if answer = word(err); err == nil {
				kept = append(kept, listener)
			}
		}
		fmt.Fprintln(out, answer)
	}
	for _, listener := range kept {
		listener.Close()
	}
}

// word is an error in one word.
func word(err error) string {
	var errno syscall.Errno
	var dns *net.DNSError
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &errno):
		return unix.ErrnoName(errno)
	case errors.As(err, &dns) && dns.IsNotFound:
		return "notfound"
	case errors.As(err, &dns) && dns.IsTemporary:
		return "temporary"
	}
	return err.Error()
}

// lookup asks 127.0.0.1:53 by one protocol for the addresses of one family.
func lookup(network, family, name string) string {
	ctx, cancel := context.WithTimeout(context.Background(), generous)
	defer cancel()
	got, err := resolver(network, "127.0.0.1:53").LookupNetIP(ctx, family, name)
	if err != nil {
		return word(err)
	}
	return strings.Trim(fmt.Sprint(got), "[]")
}

// dialled connects, and hears itself.
func dialled(address string) string {
	conn, err := net.DialTimeout("tcp", address, generous)
	if err != nil {
		return word(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(generous)); err != nil {
		return word(err)
	}
	if _, err := io.WriteString(conn, "x"); err != nil {
		return word(err)
	}
	_, err = io.ReadFull(conn, make([]byte, 1))
	return word(err)
}
