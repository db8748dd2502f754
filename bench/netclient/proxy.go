package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
)

// serveProxy is the least that a proxy of Go does for CONNECT, until standard input ends. Its
// address is one line on standard output.
func serveProxy() error {
	var c net.ListenConfig
	l, err := c.Listen(context.Background(), "tcp4", "127.0.0.1:0")
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
			go tunnel(conn)
		}
	}()
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// tunnel serves one CONNECT.
func tunnel(client net.Conn) {
	defer client.Close()
	in := bufio.NewReader(client)
	line, err := in.ReadString('\n')
	words := strings.Fields(line)
	if err != nil || len(words) != 3 {
		return
	}
	for line != "\r\n" {
		if line, err = in.ReadString('\n'); err != nil {
			return
		}
	}
	origin, err := dial(words[1])
	if err != nil {
		return
	}
	defer origin.Close()
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	go func() { _, _ = io.Copy(client, origin) }() // it ends when either is closed
	_, _ = io.Copy(origin, client)
}
