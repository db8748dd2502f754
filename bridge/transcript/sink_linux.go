package transcript

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"brainbox/bridge/envelope"
	"brainbox/bridge/redact"
)

// Folder is where transcripts are, beneath the directory of a sink: what references say.
const Folder = "files/parent-tools"

// DefaultTotal is how many bytes the files of one sink may have together.
const DefaultTotal = 1 << 30

// block is what a file takes at least: a sandbox that makes many short calls fills the disk,
// too.
const block = 4096

// ErrFull means that the files of a sink have as many bytes as they may.
var ErrFull = errors.New("transcript: the files have as many bytes as they may")

// ErrClosed means that the sink was closed.
var ErrClosed = fmt.Errorf("transcript: %w", fs.ErrClosed)

// Options bound a sink.
type Options struct {
	Total int64 // bytes of all files, at least 4096 for each; 0: [DefaultTotal]
}

// Sink writes transcripts into one directory. It may be used by any number of goroutines.
type Sink struct {
	red   *redact.Redactor
	total int64
	write func(fd int, p []byte) (int, error)

	mu   sync.RWMutex // held for writing to close and to count
	fd   int          // of Folder; -1: closed
	used int64
}

// Open returns a sink that writes beneath dir, which is there, belongs to the caller and may be
// written by nobody else; so may the folders in it, which are made where they are missing.
// None of them may be a link.
func Open(dir string, red *redact.Redactor, o Options) (*Sink, error) {
	if o.Total <= 0 {
		o.Total = DefaultTotal
	}
	fd, err := openDir(unix.AT_FDCWD, dir)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"files", "parent-tools"} {
		next, err := enter(fd, name)
		unix.Close(fd)
		if err != nil {
			return nil, err
		}
		fd = next
	}
	return &Sink{red: red, total: o.Total, write: unix.Write, fd: fd}, nil
}

func enter(fd int, name string) (int, error) {
	if err := unix.Mkdirat(fd, name, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
		return -1, fmt.Errorf("transcript: %w", &fs.PathError{Op: "mkdirat", Path: name, Err: err})
	}
	return openDir(fd, name)
}

// openDir opens a directory that is ours alone to write.
func openDir(at int, name string) (int, error) {
	fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("transcript: %w", &fs.PathError{Op: "open", Path: name, Err: err})
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && (int(st.Uid) != os.Geteuid() || st.Mode&0o022 != 0) {
		err = unix.EPERM // others could exchange what is in it
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("transcript: %w", &fs.PathError{Op: "fstat", Path: name, Err: err})
	}
	return fd, nil
}

// Close closes the directory; files that are being written are finished first.
func (s *Sink) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fd < 0 {
		return ErrClosed
	}
	err := unix.Close(s.fd)
	s.fd = -1
	return os.NewSyscallError("close", err)
}

// Write writes one record and returns its reference. After an error there is no file of this
// record; the error names no path of the host.
func (s *Sink) Write(r Record) (envelope.Ref, error) {
	text, err := r.encode(s.red)
	if err != nil {
		return envelope.Ref{}, err
	}
	cost := max(int64(len(text)), block)
	if err := s.take(cost); err != nil {
		return envelope.Ref{}, err
	}
	name := fileName(s.red, r.Request.ID)
	if err := s.create(name, text); err != nil {
		s.give(cost)
		return envelope.Ref{}, fmt.Errorf("transcript: %w", err)
	}
	sum := sha256.Sum256(text)
	return envelope.Ref{
		Kind: "tool-call-transcript", Path: Folder + "/" + name, SHA256: hex.EncodeToString(sum[:]),
	}, nil
}

func (s *Sink) take(n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n > s.total-s.used {
		return ErrFull
	}
	s.used += n
	return nil
}

func (s *Sink) give(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used -= n
}

// create makes the file name with text in it. What is there already stays.
func (s *Sink) create(name string, text []byte) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.fd < 0 {
		return fs.ErrClosed
	}
	const flags = unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(s.fd, name, flags, 0o600)
	if err != nil {
		return &fs.PathError{Op: "openat", Path: name, Err: err}
	}
	err = s.fill(fd, text)
	if e := unix.Close(fd); err == nil && e != nil { // a quota may be told of here
		err = os.NewSyscallError("close", e)
	}
	if err != nil {
		return errors.Join(err, os.NewSyscallError("unlinkat", unix.Unlinkat(s.fd, name, 0)))
	}
	return nil
}

func (s *Sink) fill(fd int, text []byte) error {
	for len(text) > 0 {
		n, err := s.write(fd, text)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return os.NewSyscallError("write", err)
		}
		if n <= 0 {
			return io.ErrShortWrite
		}
		text = text[n:]
	}
	return nil
}
