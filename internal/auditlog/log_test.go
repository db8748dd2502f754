package auditlog

import (
	"encoding/binary"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestOpenSaysWhyNot is for this machine: whoever may read gets a log, or hears that it is off.
func TestOpenSaysWhyNot(t *testing.T) {
	l, err := Open()
	switch {
	case err == nil:
		if list := l.Denied(os.Getpid(), "/none", time.Millisecond); len(list) != 0 {
			t.Errorf("a process without a domain: %+v", list)
		}
		l.Close()
	case errors.Is(err, ErrOff), errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EPROTONOSUPPORT):
	default:
		t.Errorf("Open: %v", err)
	}
}

// TestTakeBelievesTheKernelAlone has a process send what looks like a record.
func TestTakeBelievesTheKernelAlone(t *testing.T) {
	var l Log
	recorded(t, func(kind uint16, text []byte) {
		msg := make([]byte, headerSize, headerSize+len(text))
		binary.NativeEndian.PutUint16(msg[4:], kind)
		msg = append(msg, text...)
		l.take(msg, &unix.SockaddrNetlink{Pid: 77})
		l.take(msg[:headerSize-1], &unix.SockaddrNetlink{})
		l.take(msg, nil)
	})
	if list, _ := l.c.of(20601, "/usr/bin/brainbox"); len(list) != 0 || l.read != 0 {
		t.Fatalf("a process's own: %+v", list)
	}
	recorded(t, func(kind uint16, text []byte) {
		msg := make([]byte, headerSize, headerSize+len(text))
		binary.NativeEndian.PutUint16(msg[4:], kind)
		l.take(append(msg, text...), &unix.SockaddrNetlink{})
	})
	if list, _ := l.c.of(20601, "/usr/bin/brainbox"); len(list) != 5 {
		t.Errorf("the kernel's: %d events, want 5", len(list))
	}
}
