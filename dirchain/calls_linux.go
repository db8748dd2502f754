package dirchain

import (
	"errors"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// calls makes the system calls of one root. hook, Options.Trace or set by a test
// before the first use, is told each call before it is made and may fail it.
type calls struct {
	hook    func(call string) error
	buffers sync.Pool // of *[chunk]byte
}

// do makes one call, again when a signal interrupts it, and names it in the error.
func (c *calls) do(name string, call func() error) error {
	if c.hook != nil {
		if err := c.hook(name); err != nil {
			return os.NewSyscallError(name, err)
		}
	}
	for {
		err := call()
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError(name, err)
		}
	}
}

// point is a place between two calls where tests may interfere.
func (c *calls) point(name string) error {
	if c.hook == nil {
		return nil
	}
	return c.hook(name)
}

const beneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV

// maxAgain is how often an openat2 that met a concurrent rename is tried: the
// kernel answers EAGAIN when it cannot tell whether ".." left the tree, which a
// path without ".." does not meet in practice (openat2(2)).
const maxAgain = 32

func (c *calls) openat2(dir int, name string, flags, mode int) (fd int, err error) {
	how := unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC), Mode: uint64(mode), Resolve: beneath}
	for range maxAgain {
		err = c.do("openat2", func() (err error) { fd, err = unix.Openat2(dir, name, &how); return err })
		if !errors.Is(err, unix.EAGAIN) || flags&unix.O_NONBLOCK != 0 {
			break
		}
	}
	return fd, err
}

func (c *calls) openat(dir int, name string, flags, mode int) (fd int, err error) {
	err = c.do("openat", func() (err error) {
		fd, err = unix.Openat(dir, name, flags|unix.O_CLOEXEC|unix.O_NOFOLLOW, uint32(mode))
		return err
	})
	return fd, err
}

func (c *calls) close(fd int) {
	if fd >= 0 {
		_ = unix.Close(fd) // never again after EINTR: Linux has released the number (close(2))
	}
}

func (c *calls) mkdirat(dir int, name string, mode uint32) error {
	return c.do("mkdirat", func() error { return unix.Mkdirat(dir, name, mode) })
}

func (c *calls) unlinkat(dir int, name string, flags int) error {
	return c.do("unlinkat", func() error { return unix.Unlinkat(dir, name, flags) })
}

func (c *calls) renameat2(from int, old string, to int, name string, flags uint) error {
	return c.do("renameat2", func() error { return unix.Renameat2(from, old, to, name, flags) })
}

func (c *calls) fchmod(fd int, mode uint32) error {
	return c.do("fchmod", func() error { return unix.Fchmod(fd, mode) })
}

func (c *calls) fchown(fd int, uid, gid int) error {
	return c.do("fchown", func() error { return unix.Fchown(fd, uid, gid) })
}

func (c *calls) fsync(fd int) error {
	return c.do("fsync", func() error { return unix.Fsync(fd) })
}

func (c *calls) flock(fd, how int) error {
	return c.do("flock", func() error { return unix.Flock(fd, how) })
}

func (c *calls) pread(fd int, buf []byte, at int64) (n int, err error) {
	err = c.do("pread", func() (err error) { n, err = unix.Pread(fd, buf, at); return err })
	return n, err
}

// writeAll writes the whole buffer at the descriptor's offset.
func (c *calls) writeAll(fd int, buf []byte) error {
	for len(buf) > 0 {
		var n int
		err := c.do("write", func() (err error) { n, err = unix.Write(fd, buf); return err })
		if err != nil {
			return err
		}
		if n <= 0 {
			return io.ErrShortWrite // never an endless loop
		}
		buf = buf[n:]
	}
	return nil
}
