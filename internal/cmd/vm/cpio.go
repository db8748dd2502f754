package main

import (
	"bytes"
	"fmt"
)

// archive is a cpio archive in the form "newc", which the kernel unpacks
// (Documentation/driver-api/early-userspace/buffer-format.rst). Every file is root's.
type archive struct {
	buf   bytes.Buffer
	inode int
}

const (
	modeDir    = 0o040000
	modeFile   = 0o100000
	modeDevice = 0o020000 // a character device
)

func (a *archive) dir(name string) { a.entry(name, modeDir|0o755, nil, 0, 0) }

func (a *archive) file(name string, mode int, text []byte) { a.entry(name, modeFile|mode, text, 0, 0) }

func (a *archive) device(name string, major, minor int) {
	a.entry(name, modeDevice|0o600, nil, major, minor)
}

// end closes the archive and returns it.
func (a *archive) end() []byte {
	a.entry("TRAILER!!!", 0, nil, 0, 0)
	return a.buf.Bytes()
}

// entry writes a header of thirteen numbers, the name and the contents, each padded to four
// bytes.
func (a *archive) entry(name string, mode int, text []byte, major, minor int) {
	a.inode++
	a.buf.WriteString("070701")
	for _, n := range [...]int{a.inode, mode, 0, 0, 1, 0, len(text), 0, 0, major, minor, len(name) + 1, 0} {
		fmt.Fprintf(&a.buf, "%08X", n)
	}
	a.buf.WriteString(name + "\x00")
	a.pad()
	a.buf.Write(text)
	a.pad()
}

func (a *archive) pad() {
	for a.buf.Len()%4 != 0 {
		a.buf.WriteByte(0)
	}
}
