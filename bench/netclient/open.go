package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"
)

// opener makes connections to a target in one way.
func opener(way, target string) (func() (net.Conn, error), error) {
	switch way {
	case "direct":
		return func() (net.Conn, error) { return dial(target) }, nil
	case "connect":
		proxy := strings.TrimPrefix(os.Getenv("HTTP_PROXY"), "http://")
		return func() (net.Conn, error) { return through(proxy, target) }, nil
	case "named":
		return func() (net.Conn, error) {
			at, err := resolved(target)
			if err != nil {
				return nil, err
			}
			return dial(at)
		}, nil
	case "known":
		at, err := resolved(target)
		return func() (net.Conn, error) { return dial(at) }, err
	}
	return nil, fmt.Errorf("way %q", way)
}

func dial(to string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(context.Background(), "tcp", to)
}

// through asks an HTTP proxy for a tunnel.
func through(proxy, target string) (net.Conn, error) {
	conn, err := dial(proxy)
	if err != nil {
		return nil, err
	}
	if _, err = fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target); err == nil {
		err = established(conn)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// established reads the answer to CONNECT: nothing follows its head before this side speaks.
func established(conn net.Conn) error {
	var head []byte
	buf := make([]byte, 512)
	for !strings.Contains(string(head), "\r\n\r\n") {
		n, err := conn.Read(buf)
		head = append(head, buf[:n]...)
		if err != nil {
			return fmt.Errorf("answer %q: %w", head, err)
		}
	}
	if !strings.HasPrefix(string(head), "HTTP/1.1 200 ") {
		return fmt.Errorf("answer %q", head)
	}
	return nil
}

// resolved has the name in HOST:PORT replaced by its IPv4 address.
func resolved(target string) (string, error) {
	host, port, err := net.SplitHostPort(target)
	if err != nil {
		return "", err
	}
	ips, err := net.DefaultResolver.LookupNetIP(context.Background(), "ip4", host+".")
	if err != nil {
		return "", err
	}
	return net.JoinHostPort(ips[0].Unmap().String(), port), nil
}

// lookups are those that brainbox-host makes for each connection to a name.
func lookups(server, name string, n int) (time.Duration, error) {
	r := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, server)
	}}
	return median(n, func() error {
		_, err := r.LookupNetIP(context.Background(), "ip", name+".")
		return err
	})
}

// ask receives so many bytes.
func ask(conn net.Conn, bytes uint64) error {
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return err
	}
	if _, err := conn.Write(binary.BigEndian.AppendUint64(nil, bytes)); err != nil {
		return err
	}
	return receive(conn, bytes)
}

func receive(conn net.Conn, bytes uint64) error {
	if bytes == 1 {
		_, err := io.ReadFull(conn, make([]byte, 1))
		return err
	}
	buf := make([]byte, 256<<10)
	for bytes > 0 {
		n, err := conn.Read(buf[:min(bytes, uint64(len(buf)))])
		if err != nil {
			return err
		}
		bytes -= uint64(n)
	}
	return nil
}
