package namescan

import (
	"errors"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What one getdents64(2) may fill, in bytes: most folders fit at once. One folder alone is
// not worth clearing as much memory.
const (
	bufferSize     = 64 << 10
	flatBufferSize = 8 << 10
)

// Scan reads the names below the folder that fd stands for, which may be an O_PATH
// descriptor and stays the caller's. What cannot be read is in the result; an error means
// that fd itself could not be.
func Scan(fd int, o Options) (Result, error) {
	if o.Max <= 0 {
		o.Max = DefaultMax
	}
	size := bufferSize
	if o.Flat {
		size = flatBufferSize
	}
	s := &scanner{opts: o, want: newWanted(o.Names), buf: make([]byte, size)}
	for _, p := range o.Skip {
		if s.skip == nil {
			s.skip = make(map[string]bool, len(o.Skip))
		}
		s.skip[p] = true
	}
	if err := s.scan(fd); err != nil {
		return Result{}, err
	}
	return s.res, nil
}

// scanner is one scan. Paths that wait to be read lie one after the other in arena, each
// ended by a NUL byte as the kernel wants it: a folder costs no allocation.
type scanner struct {
	opts   Options
	opener opener
	res    Result
	want   wanted
	skip   map[string]bool
	buf    []byte
	arena  []byte
	queue  []span
	full   bool // Max is reached
}

type span struct{ from, to uint32 } // without the NUL byte

func (s *scanner) scan(fd int) error {
	top, err := unix.Openat(fd, ".", openFlags, 0)
	if err != nil {
		return os.NewSyscallError("openat", err)
	}
	defer closeFD(top)
	s.opener.root = top
	if err := s.read(top, ""); err != nil {
		return os.NewSyscallError("getdents64", err)
	}
	if !s.opts.Flat {
		s.below()
	}
	s.res.Unsure = s.want.unsure(s.opts.Names)
	return nil
}

// below reads every folder that is waiting, in order, until Max is reached.
func (s *scanner) below() {
	for next := 0; next < len(s.queue); next++ {
		at := s.queue[next]
		path := unsafe.String(&s.arena[at.from], at.to-at.from)
		if s.full {
			s.stop(path)
			return
		}
		fd, err := s.opener.open(&s.arena[at.from], path)
		switch {
		case errors.Is(err, unix.EXDEV):
			s.res.Mounts = append(s.res.Mounts, strings.Clone(path))
			continue
		case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
			continue // it was replaced meanwhile
		case err == nil:
			err = s.read(fd, path)
			closeFD(fd)
		}
		if err != nil {
			s.res.Unread = append(s.res.Unread, strings.Clone(path))
		}
	}
}

// stop notes where the scan ended.
func (s *scanner) stop(path string) {
	if s.res.Partial {
		return
	}
	if path == "" {
		path = "."
	}
	s.res.Partial, s.res.Stopped = true, strings.Clone(path)
}

// read takes in the names of one folder.
func (s *scanner) read(fd int, path string) error {
	want := s.want[path]
	for {
		n, err := getdents(fd, s.buf)
		if err != nil {
			return err
		}
		if n == 0 {
			if want != nil {
				want.read = true
			}
			return nil
		}
		if s.full || !s.parse(fd, path, s.buf[:n], want) {
			s.full = true
			s.stop(path)
			return nil
		}
	}
}

// The layout of struct linux_dirent64 (getdents64(2)).
const (
	direntReclen = 16
	direntType   = 18
	direntName   = 19
)

// parse goes through one buffer of entries and reports whether more may be read.
func (s *scanner) parse(fd int, path string, buf []byte, want *folder) bool {
	for len(buf) > direntName {
		size := int(*(*uint16)(unsafe.Pointer(&buf[direntReclen])))
		if size <= direntName || size > len(buf) {
			return true // no kernel writes that
		}
		name := buf[direntName:size]
		kind := buf[direntType]
		buf = buf[size:]
		if name[0] == '.' && (name[1] == 0 || name[1] == '.' && name[2] == 0) {
			continue
		}
		if s.res.Count >= s.opts.Max {
			return false
		}
		s.res.Count++
		if want == nil && kind == unix.DT_REG && name[0] != '.' && !s.opts.All {
			continue // nothing can be said about most names
		}
		s.entry(fd, path, name[:length(name)], kind, want)
	}
	return true
}

// length is that of the name before its NUL byte.
func length(name []byte) int {
	for i, c := range name {
		if c == 0 {
			return i
		}
	}
	return len(name)
}

// entry decides about one name.
func (s *scanner) entry(fd int, path string, name []byte, kind uint8, want *folder) {
	if kind == unix.DT_UNKNOWN {
		kind = s.look(fd, string(name))
	}
	git := string(name) == ".git"
	switch {
	case git:
		s.res.Git = append(s.res.Git, Found{join(path, name), kindOf(kind)})
	case kind == unix.DT_DIR:
		s.enqueue(path, name)
	}
	if kind == unix.DT_SOCK {
		s.res.Sockets = append(s.res.Sockets, join(path, name))
	}
	if s.opts.All {
		s.res.Names = append(s.res.Names, Found{join(path, name), kindOf(kind)})
		return
	}
	if want == nil {
		return
	}
	if n := want.names[string(name)]; n != nil {
		n.found, n.kind = true, kindOf(kind)
		if n.listed {
			s.res.Names = append(s.res.Names, Found{join(path, name), n.kind})
		}
	}
}

// enqueue lets a folder wait for its turn.
func (s *scanner) enqueue(path string, name []byte) {
	from := len(s.arena)
	if path != "" {
		s.arena = append(append(s.arena, path...), '/')
	}
	s.arena = append(s.arena, name...)
	to := len(s.arena)
	s.arena = append(s.arena, 0)
	if s.skip != nil && s.skip[string(s.arena[from:to])] {
		s.arena = s.arena[:from]
		return
	}
	s.queue = append(s.queue, span{uint32(from), uint32(to)})
}

func join(path string, name []byte) string {
	if path == "" {
		return string(name)
	}
	return path + "/" + string(name)
}

func kindOf(kind uint8) Kind {
	switch kind {
	case unix.DT_REG:
		return File
	case unix.DT_DIR:
		return Folder
	case unix.DT_LNK:
		return Link
	case unix.DT_SOCK:
		return Socket
	}
	return Other
}
