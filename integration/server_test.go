package integration

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// server is a Unix socket of the host that keeps what it is sent, and who sent it.
type server struct {
	path string
	l    net.Listener

	mu   sync.Mutex
	got  bytes.Buffer
	seen int
	who  string
}

// serverAt answers each connection with a line; kind is "unix" or "unixpacket".
func serverAt(t testing.TB, kind, path string) *server {
	t.Helper()
	s := &server{path: path}
	s.listen(t, kind)
	return s
}

func (s *server) listen(t testing.TB, kind string) {
	t.Helper()
	l, err := net.Listen(kind, s.path)
	must(t, err)
	must(t, os.Chmod(s.path, 0o777))
	s.l = l
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.talk(c.(*net.UnixConn))
		}
	}()
}

func (s *server) talk(c *net.UnixConn) {
	defer c.Close()
	s.mu.Lock()
	s.seen++
	s.who = peer(c)
	s.mu.Unlock()
	_, _ = io.WriteString(c, "hello\n")
	var b [512]byte
	n, _ := c.Read(b[:])
	s.mu.Lock()
	s.got.Write(b[:n])
	s.mu.Unlock()
}

func peer(c *net.UnixConn) string {
	raw, err := c.SyscallConn()
	if err != nil {
		return err.Error()
	}
	text := ""
	_ = raw.Control(func(fd uintptr) {
		u, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err != nil {
			text = err.Error()
			return
		}
		text = fmt.Sprintf("%d:%d", u.Uid, u.Gid)
	})
	return text
}

func (s *server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

func (s *server) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got.String()
}

func (s *server) from() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.who
}

// shortDir is a folder with a name that leaves room for a socket's.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "bb-") //nolint:usetesting // t.TempDir's names are too long
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	dir, err = filepath.EvalSymlinks(dir)
	must(t, err)
	return dir
}
