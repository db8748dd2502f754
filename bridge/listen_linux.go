package bridge

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// mostPath bounds the path of a socket, in bytes. The kernel's bound is 107.
const mostPath = 100

// Listen listens on a Unix socket in a directory that is the caller's alone (section
// E.3.6). The directory is made with mode 0700 unless it is there; one that is there must
// be the caller's, no link, and closed to others. A socket that a dead server left is
// replaced; one that somebody answers on, or that is not the caller's, is not.
//
// No umask is used, since it is the whole process's: nobody else can reach the socket in
// its directory before it has its mode, 0600.
func Listen(dir, name string) (*net.UnixListener, error) {
	path := filepath.Join(dir, name)
	switch {
	case !filepath.IsAbs(dir) || filepath.Base(name) != name || strings.HasPrefix(name, "."):
		return nil, errors.New("bridge: a socket needs an absolute directory, and a name in it")
	case len(path) > mostPath:
		return nil, fmt.Errorf("bridge: the path of a socket has at most %d bytes", mostPath)
	}
	if err := private(dir); err != nil {
		return nil, err
	}
	if err := removeStale(path); err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("bridge: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("bridge: %w", err), l.Close())
	}
	return l, nil
}

// private makes a directory, or takes one that is the caller's alone.
func private(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("bridge: %w", err)
	}
	st, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("bridge: %w", err)
	}
	if !st.IsDir() || st.Mode().Perm() != 0o700 || !owned(st) {
		return errors.New("bridge: the directory of a socket must be the caller's, with mode 0700")
	}
	return nil
}

func owned(st os.FileInfo) bool {
	s, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}

// removeStale removes a socket of the caller's on which nobody listens.
func removeStale(path string) error {
	st, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("bridge: %w", err)
	}
	if st.Mode().Type() != os.ModeSocket || !owned(st) {
		return errors.New("bridge: there is something in the place of the socket")
	}
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err == nil {
		_ = c.Close()
		return errors.New("bridge: another server listens there")
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("bridge: %w", err)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("bridge: %w", err)
	}
	return nil
}
