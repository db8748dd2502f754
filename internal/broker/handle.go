package broker

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/notify"
)

// handle is one connect(2) of a program: of its descriptor, to the address of size bytes at
// a place in its memory. What it returns is the call's answer.
func (b *Broker) handle(c *notify.Call, fd int32, at uint64, size int32) syscall.Errno {
	socket, err := take(c.TID, fd)
	if err != nil {
		return b.unread(err)
	}
	defer unix.Close(socket) // may wait: it may be any file of the program, and the last reference to it
	if size < 0 || size > maxAddress {
		return unix.EINVAL
	}
	var buf [maxAddress]byte
	address := buf[:size]
	if err := copyMemory(c.TID, at, address); err != nil {
		return b.unread(err)
	}
	k, err := describe(socket)
	if err != nil {
		return errnoOf(err)
	}
	v := b.cfg.Rules.decide(k, address)
	if v.errno != 0 {
		return b.refuse(v.errno)
	}
	cwd := unix.AT_FDCWD
	if v.path != "" && v.path[0] != '/' {
		if cwd, err = workingDirectory(c.TID); err != nil {
			return b.unread(err)
		}
		defer closeFD(cwd)
	}
	// Whatever was taken is the caller's if the caller still waits, and from here on nothing
	// is taken from it.
	if !c.Valid() {
		return notify.Gone
	}
	c.Spare() // the file system may be slow, too
	if err := b.id.enter(); err != nil {
		return unix.EACCES
	}
	e := b.act(c, socket, k, v, address, cwd)
	// A thread that could not come back can take nothing from a program any more, and answers
	// EACCES.
	_ = b.id.leave()
	return e
}

// act does what was decided, as the program.
func (b *Broker) act(c *notify.Call, socket int, k kind, v verdict, address []byte, cwd int) syscall.Errno {
	if v.path != "" {
		asked, err := look(cwd, v.path)
		if err != nil {
			return errnoOf(err)
		}
		defer closeFD(asked.fd)
		listed, ok := find(b.cfg.Sockets, &asked)
		if !ok {
			return b.refuse(unix.EACCES)
		}
		defer closeFD(listed.fd)
		address = addressOf(listed.fd)
	}
	b.connected.Add(1)
	return await(c, socket, k, address)
}

// await connects, and waits for the connection as the socket's owner asked for it.
func await(c *notify.Call, socket int, k kind, address []byte) syscall.Errno {
	flags, err := statusFlags(socket)
	if err != nil {
		return errnoOf(err)
	}
	if flags&unix.O_NONBLOCK != 0 || k.kind == unix.SOCK_DGRAM {
		return connect(socket, address)
	}
	begun := time.Now()
	e := c.Block(func() syscall.Errno {
		e := connect(socket, address)
		if e != unix.EINTR {
			return e
		}
		// Each time it is made the kernel's own limit begins anew.
		if limit := timeLimit(socket); limit > 0 && time.Since(begun) >= limit {
			return tooLate(k)
		}
		return e
	})
	if e == notify.Restart && timeLimit(socket) > 0 {
		return unix.EINTR // signal(7): such a call is not made again
	}
	return e
}

// tooLate is what a connect returns whose time limit is over.
func tooLate(k kind) syscall.Errno {
	if k.domain == unix.AF_UNIX {
		return unix.EAGAIN
	}
	return unix.EINPROGRESS
}

// timeLimit is how long the socket's owner wants to wait (SO_SNDTIMEO); 0: for ever.
func timeLimit(socket int) time.Duration {
	tv, err := unix.GetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_SNDTIMEO)
	if err != nil {
		return 0
	}
	return time.Duration(tv.Nano())
}

// unread is the answer when something could not be taken from the program.
func (b *Broker) unread(err error) syscall.Errno {
	switch e := errnoOf(err); e {
	case unix.EPERM, unix.EACCES:
		b.unreadable.Add(1)
		return unix.EACCES
	case unix.EMFILE, unix.ENFILE: // of this process, not of the program
		return unix.ENOBUFS
	default:
		return e
	}
}

func (b *Broker) refuse(e syscall.Errno) syscall.Errno {
	if e == unix.EACCES || e == unix.EPERM {
		b.refused.Add(1)
	}
	return e
}
