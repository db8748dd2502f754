package auditlog

import (
	"encoding/binary"
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrOff says that the kernel writes no records now.
var ErrOff = errors.New("auditlog: audit is off (audit_enabled is 0)")

const (
	groupLog   = 1       // AUDIT_NLGRP_READLOG
	typeGet    = 1000    // AUDIT_GET
	asked      = 8 << 20 // of the socket's buffer, in bytes
	largest    = 16 << 10
	tick       = 50 * time.Millisecond
	headerSize = unix.SizeofNlMsghdr
)

// Log is the kernel's log while it is read.
type Log struct {
	fd   int
	stop chan struct{}
	done chan struct{}

	mu   sync.Mutex
	c    collector
	read int64 // records of all kinds
	lost bool  // the socket was full
}

// Open begins to read. It fails with EPERM without CAP_AUDIT_READ (capabilities(7)), and with
// ErrOff where the kernel says that it writes nothing.
func Open() (*Log, error) {
	if on, err := enabled(); err == nil && !on {
		return nil, ErrOff
	}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_AUDIT)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: groupLog}); err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("bind", err)
	}
	// As large as it may be: what finds no room is lost.
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, asked) != nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, asked)
	}
	wait := unix.NsecToTimeval(int64(tick))
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait); err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("setsockopt", err)
	}
	l := &Log{fd: fd, stop: make(chan struct{}), done: make(chan struct{})}
	go l.follow()
	return l, nil
}

// enabled asks the kernel whether it writes records, which takes CAP_AUDIT_CONTROL.
func enabled() (bool, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_AUDIT)
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	wait := unix.NsecToTimeval(int64(time.Second))
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait); err != nil {
		return false, err
	}
	msg := make([]byte, headerSize)
	binary.NativeEndian.PutUint32(msg, headerSize)
	binary.NativeEndian.PutUint16(msg[4:], typeGet)
	binary.NativeEndian.PutUint16(msg[6:], unix.NLM_F_REQUEST)
	if err := unix.Sendto(fd, msg, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return false, err
	}
	buf := make([]byte, 512)
	n, _, err := unix.Recvfrom(fd, buf, 0)
	if err != nil {
		return false, err
	}
	if n < headerSize+8 || binary.NativeEndian.Uint16(buf[4:]) != typeGet {
		return false, syscall.EPERM // an error message
	}
	return binary.NativeEndian.Uint32(buf[headerSize+4:]) != 0, nil // struct audit_status: mask, enabled
}

// follow reads records until stop. Every one is a message of its own.
func (l *Log) follow() {
	defer close(l.done)
	buf := make([]byte, largest)
	for {
		n, from, err := unix.Recvfrom(l.fd, buf, 0)
		if err == nil {
			l.take(buf[:n], from)
			continue
		}
		if errors.Is(err, unix.ENOBUFS) {
			l.mu.Lock()
			l.lost = true
			l.mu.Unlock()
			continue
		}
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			return
		}
		select {
		case <-l.stop:
			return
		default:
		}
	}
}

// take is for one message, which is the kernel's if its sender is 0 (netlink(7)).
func (l *Log) take(msg []byte, from unix.Sockaddr) {
	if sender, ok := from.(*unix.SockaddrNetlink); !ok || sender.Pid != 0 || len(msg) < headerSize {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read++
	// The length in the header of an audit record is without the header itself.
	l.c.add(binary.NativeEndian.Uint16(msg[4:]), msg[headerSize:])
}

// Denied gives what the domain of a run refused: pid is the process that it began with, exe the
// executable of brainbox, which made the domain. The records come after the refusals: it waits
// for the end of the domain, which is written down too, at most so long; and without any record
// of it, for one in which no record of any kind comes.
func (l *Log) Denied(pid int, exe string, most time.Duration) []Event {
	until := time.Now().Add(most)
	before := int64(-1)
	for {
		l.mu.Lock()
		list, open := l.c.of(pid, exe)
		read := l.read
		l.mu.Unlock()
		if len(list) > 0 && !open || len(list) == 0 && read == before || !time.Now().Before(until) {
			return list
		}
		before = read
		time.Sleep(tick)
	}
}

// Close ends the reading.
func (l *Log) Close() {
	close(l.stop)
	<-l.done
	unix.Close(l.fd)
}
