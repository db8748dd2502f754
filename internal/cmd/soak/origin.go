package main

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
)

// origin is what programs inside may reach: a host by name, and a Unix socket.
type origin struct {
	port   int
	socket string
	ending []io.Closer
}

// startOrigin serves both on this process's loopback and in a folder that all may look into.
func startOrigin(dir string) (*origin, error) {
	if err := errors.Join(os.Mkdir(dir, 0o755)); err != nil {
		return nil, err
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	sock, err := net.Listen("unix", dir+"/sock")
	if err != nil {
		return nil, errors.Join(err, tcp.Close())
	}
	if err := os.Chmod(dir+"/sock", 0o777); err != nil {
		return nil, err
	}
	addr, ok := tcp.Addr().(*net.TCPAddr)
	if !ok {
		return nil, errors.New("not TCP")
	}
	web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, originText) })}
	go func() { _ = web.Serve(tcp) }()
	go func() {
		for {
			conn, err := sock.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(conn, io.LimitReader(conn, 1<<20))
				_ = conn.Close()
			}()
		}
	}()
	return &origin{port: addr.Port, socket: dir + "/sock", ending: []io.Closer{web, sock}}, nil
}

func (o *origin) close() {
	for _, c := range o.ending {
		_ = c.Close()
	}
}
