package hold

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"brainbox/internal/visible"
)

// Pair makes the two ends, both close-on-exec and not blocking: of who asks, and of who runs
// the program.
func Pair() (host, runner *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	return os.NewFile(uintptr(fds[0]), "hold"), os.NewFile(uintptr(fds[1]), "hold"), nil
}

// mostMessage is the length of a message, in bytes.
const mostMessage = 512

// Holder can hold a program. Its methods are called by one goroutine.
type Holder interface {
	// Hold returns when the program stands still, or an error when it goes on. lost is to be
	// called, by any goroutine, when it stands still no more before Release.
	Hold(lost func()) error
	Release() // it may go on; also without a Hold
	Owns(group int) bool
}

// server is the end of who runs the program.
type server struct {
	conn *os.File
	h    Holder
	mu   sync.Mutex
	held uint64 // the hold that may be lost; 0: none
}

// Serve answers on conn until it ends, or is closed, and releases what is held then.
func Serve(conn *os.File, h Holder) {
	defer h.Release()
	s := &server{conn: conn, h: h}
	for {
		verb, n, _, err := receive(conn)
		if err != nil || !s.serve(verb, n) {
			return
		}
	}
}

// serve carries one message out; false ends the service.
func (s *server) serve(verb string, n uint64) bool {
	switch verb {
	case "hold":
		s.now(n)
		if err := s.h.Hold(func() { s.lost(n) }); err != nil {
			s.now(0)
			return s.send("failed", n, visible.Line(err.Error()))
		}
		return s.send("held", n, "")
	case "release":
		s.now(0)
		s.h.Release()
		return true
	case "owns":
		if n > 1 && n < 1<<31 && s.h.Owns(int(n)) {
			return s.send("yes", n, "")
		}
		return s.send("no", n, "")
	}
	return false
}

func (s *server) now(n uint64) {
	s.mu.Lock()
	s.held = n
	s.mu.Unlock()
}

func (s *server) lost(n uint64) {
	s.mu.Lock()
	ours := s.held == n
	s.mu.Unlock()
	if ours {
		s.send("lost", n, "")
	}
}

func (s *server) send(verb string, n uint64, text string) bool {
	return send(s.conn, verb, n, text) == nil
}

func send(conn *os.File, verb string, n uint64, text string) error {
	m := strings.TrimSuffix(verb+" "+strconv.FormatUint(n, 10)+" "+text, " ")
	_, err := conn.Write([]byte(m[:min(len(m), mostMessage)]))
	return err
}

// receive reads one message.
func receive(conn *os.File) (verb string, n uint64, text string, err error) {
	var b [mostMessage + 1]byte
	size, err := conn.Read(b[:])
	if err != nil {
		return "", 0, "", err
	}
	if size == 0 || size > mostMessage {
		return "", 0, "", syscall.EBADMSG
	}
	verb, rest, _ := strings.Cut(string(b[:size]), " ")
	number, text, _ := strings.Cut(rest, " ")
	n, err = strconv.ParseUint(number, 10, 64)
	if err != nil || strconv.FormatUint(n, 10) != number {
		return "", 0, "", errors.Join(syscall.EBADMSG, err)
	}
	return verb, n, text, nil
}
