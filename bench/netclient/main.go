package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "proxy" {
		if err := serveProxy(); err != nil {
			fmt.Fprintln(os.Stderr, "netclient:", err)
			os.Exit(1)
		}
		return
	}
	var c client
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		took, err := c.answer(strings.Fields(in.Text()))
		if err != nil {
			fmt.Printf("error %q\n", err)
			continue
		}
		fmt.Println(took.Nanoseconds())
	}
	if err := in.Err(); err != nil {
		fmt.Fprintln(os.Stderr, "netclient:", err)
		os.Exit(1)
	}
}

// client is what stays from one request to the next.
type client struct{ held []net.Conn }

// answer does what one request says.
func (c *client) answer(words []string) (time.Duration, error) {
	if len(words) == 1 && words[0] == "drop" {
		return timed(c.drop)
	}
	if len(words) < 4 {
		return 0, fmt.Errorf("request %q", words)
	}
	n, err := strconv.Atoi(words[3])
	if err != nil {
		return 0, err
	}
	if words[0] == "lookup" {
		return lookups(words[1], words[2], n)
	}
	open, err := opener(words[1], words[2])
	if err != nil {
		return 0, err
	}
	switch words[0] {
	case "first":
		return median(n, func() error { return one(open) })
	case "bulk":
		return bulk(open, uint64(n))
	case "hold":
		return timed(func() error { return c.hold(open, n) })
	case "many":
		if len(words) == 5 {
			at, err := strconv.Atoi(words[4])
			if err != nil {
				return 0, err
			}
			return timed(func() error { return many(open, n, at) })
		}
	}
	return 0, fmt.Errorf("request %q", words)
}

// one is a connection with one byte.
func one(open func() (net.Conn, error)) error {
	conn, err := open()
	if err != nil {
		return err
	}
	defer conn.Close()
	return ask(conn, 1)
}

// bulk receives bytes; the connection is there before.
func bulk(open func() (net.Conn, error), bytes uint64) (time.Duration, error) {
	conn, err := open()
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	if err := ask(conn, 1); err != nil {
		return 0, err
	}
	return timed(func() error { return ask(conn, bytes) })
}

// many makes n connections, at of them at the same time.
func many(open func() (net.Conn, error), n, at int) error {
	var left atomic.Int64
	left.Store(int64(n))
	errs := make(chan error, at)
	var all sync.WaitGroup
	for range at {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if err := one(open); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(errs)
	return <-errs // nil: none
}

func (c *client) hold(open func() (net.Conn, error), n int) error {
	for range n {
		conn, err := open()
		if err != nil {
			return fmt.Errorf("after %d: %w", len(c.held), err)
		}
		c.held = append(c.held, conn)
		if err := ask(conn, 1); err != nil {
			return err
		}
	}
	return nil
}

func (c *client) drop() error {
	for _, conn := range c.held {
		if err := conn.Close(); err != nil {
			return err
		}
	}
	c.held = nil
	return nil
}

func timed(do func() error) (time.Duration, error) {
	start := time.Now()
	err := do()
	return time.Since(start), err
}

// median is that of n times.
func median(n int, do func() error) (time.Duration, error) {
	all := make([]time.Duration, n)
	for i := range all {
		var err error
		if all[i], err = timed(do); err != nil {
			return 0, err
		}
	}
	if n == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	slices.Sort(all)
	return all[n/2], nil
}
