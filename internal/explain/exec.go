package explain

import (
	"bytes"
	"encoding/binary"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"brainbox/launcher"
)

func seeExecve(l *look)   { l.exec(here, l.c.Args[0], follow) }
func seeExecveat(l *look) { l.execat(int32(l.c.Args[0]), l.c.Args[1], l.c.Args[4]) }

func (l *look) execat(dir int32, at, flags uint64) {
	h := follow
	if flags&unix.AT_SYMLINK_NOFOLLOW != 0 {
		h = 0
	}
	if flags&unix.AT_EMPTY_PATH != 0 {
		h |= empty
	}
	l.exec(dir, at, h)
}

// maxScripts is how many interpreters the kernel starts for each other's sake, the first
// script's own included (execve(2), BINPRM_BUF_SIZE and search_binary_handler).
const maxScripts = 5

// exec asks for the file, for each interpreter that a script names, and for the one that the
// last program is loaded by.
func (l *look) exec(dir int32, at uint64, h how) {
	b, ok := l.path(0, at)
	if !ok {
		return
	}
	n := &l.one
	for range maxScripts {
		l.resolve(n, dir, b, h)
		next, script, ok := l.execed(n)
		if !ok || next == "" {
			return
		}
		b, dir, h = append(l.text[0][:0], next...), here, follow
		if !script {
			break
		}
	}
	l.resolve(n, dir, b, h)
	l.execed(n)
}

// execed asks for one file. It returns what the file is started by, and whether that is the
// interpreter of a script; ok is false if the kernel gets no further.
func (l *look) execed(n *name) (next string, script, ok bool) {
	op := launcher.Operation{Op: launcher.OpExec}
	if l.settled(n, op) {
		return "", false, false
	}
	op.Path, op.Kind = text(n.path), n.kind()
	if op.Kind != launcher.KindRegular {
		l.moot(op) // EACCES, ELOOP
		return "", false, false
	}
	if l.ask(op, need{at: n, want: mayExec, exec: true}) {
		return "", false, false
	}
	fd := dup(n.fd)
	cred, known := readCredentials(l.c.TID)
	mode := n.status
	got, ok := await(&l.e.budget, func() started {
		defer closeFD(fd)
		// The kernel asks for the mode first, and gets no further.
		if known && !cred.allows(&mode, mayExec) && !hasACL(fd) {
			return started{never: true}
		}
		return startedBy(fd)
	}, func(started) {})
	switch {
	case !ok:
		l.doubt(op)
		return "", false, false
	case got.never:
		l.moot(op)
		return "", false, false
	}
	return got.by, got.script, true
}

// started is what a file is started by: "" if by nothing else.
type started struct {
	by     string
	script bool
	never  bool // its mode refuses it
}

// startedBy reads the head of a regular file.
func startedBy(fd int) started {
	own := "/proc/self/fd/" + itoa(fd)
	f, err := unix.Open(own, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return started{}
	}
	defer unix.Close(f)
	r := fileReader(f)
	var head [scriptHead]byte
	n, _ := r.ReadAt(head[:], 0)
	if by, ok := parseScript(head[:n]); ok {
		return started{by: by, script: true}
	}
	return started{by: parseInterp(r)}
}

// fileReader reads a descriptor as an io.ReaderAt.
type fileReader int

func (f fileReader) ReadAt(b []byte, at int64) (int, error) {
	for n := 0; ; {
		got, err := unix.Pread(int(f), b[n:], at+int64(n))
		if err == syscall.EINTR { //nolint:errorlint // of a raw call
			continue
		}
		n += max(got, 0)
		if err != nil || got <= 0 || n == len(b) {
			return n, err
		}
	}
}

// scriptHead is how much of a script the kernel looks at (execve(2)).
const scriptHead = 256

// parseScript returns the interpreter in the first line of a script, as fs/binfmt_script.c
// finds it. One that does not end within the head is none.
func parseScript(head []byte) (string, bool) {
	rest, ok := bytes.CutPrefix(head, []byte("#!"))
	if !ok {
		return "", false
	}
	line, _, ended := bytes.Cut(rest, []byte{'\n'})
	line = bytes.TrimLeft(line, " \t")
	end := bytes.IndexAny(line, " \t\x00")
	if end < 0 {
		if !ended && len(head) >= scriptHead {
			return "", false
		}
		end = len(line)
	}
	return string(line[:end]), end > 0
}

// The limits of the kernel for ELF program headers (fs/binfmt_elf.c).
const maxHeaders = 65536

// What is read of a program's head (elf(5)). Package debug/elf would link its tables of names,
// DWARF and two decompressors.
const (
	elfMagic     = "\x7fELF"
	elfWide      = 2 // ELFCLASS64
	elfBigEndian = 2 // ELFDATA2MSB
	elfInterp    = 3 // PT_INTERP
)

// parseInterp returns the interpreter that an ELF program of 32 or 64 bits names, "" if it
// names none or is none.
func parseInterp(r interface {
	ReadAt(b []byte, at int64) (int, error)
},
) string {
	var h [64]byte
	if n, _ := r.ReadAt(h[:], 0); n < 52 || string(h[:4]) != elfMagic {
		return ""
	}
	var order binary.ByteOrder = binary.LittleEndian
	if h[5] == elfBigEndian {
		order = binary.BigEndian
	}
	wide := h[4] == elfWide
	off, size, count := uint64(order.Uint32(h[28:])), order.Uint16(h[42:]), order.Uint16(h[44:])
	want := uint16(32)
	if wide {
		off, size, count = order.Uint64(h[32:]), order.Uint16(h[54:]), order.Uint16(h[56:])
		want = 56
	}
	if size != want || int(size)*int(count) > maxHeaders || off > 1<<62 {
		return ""
	}
	all := make([]byte, int(size)*int(count))
	if n, _ := r.ReadAt(all, int64(off)); n != len(all) {
		return ""
	}
	for ; len(all) > 0; all = all[size:] {
		if order.Uint32(all) != elfInterp {
			continue
		}
		at, length := uint64(order.Uint32(all[4:])), uint64(order.Uint32(all[16:]))
		if wide {
			at, length = order.Uint64(all[8:]), order.Uint64(all[32:])
		}
		return readInterp(r, at, length)
	}
	return ""
}

func readInterp(r interface {
	ReadAt(b []byte, at int64) (int, error)
}, at, length uint64,
) string {
	if length < 2 || length > pathMax || at > 1<<62 {
		return ""
	}
	b := make([]byte, length)
	if n, _ := r.ReadAt(b, int64(at)); n != len(b) || b[len(b)-1] != 0 {
		return ""
	}
	by, _, _ := strings.Cut(string(b), "\x00")
	return by
}
