package main

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// values turns words into the arguments of a system call:
//
//	12 -100 0x80000  a number
//	$1               the result of the attempt's first call
//	s:TEXT           the address of TEXT and a NUL
//	buf:N            the address of N zero bytes
//	hex:0102         the address of these bytes
//	u32:1,2 u64:1,2  the address of these numbers; $1 works here too
//	in4:A:P in6:[A]:P un:PATH ab:NAME nl:GROUPS   the address of a socket address
//	iov:TEXT riov:ADDRESS,N                        the address of one iovec
//	msg:ADDRESS|TEXT                               the address of a msghdr
//	#                the length of what the last address points to
//	pid ppid         this process and its parent
func (a *attempt) values(words []string) ([6]uintptr, error) {
	var args [6]uintptr
	if len(words) > len(args) {
		return args, fmt.Errorf("%d arguments", len(words))
	}
	length := 0
	for i, word := range words {
		word = a.expand(word)
		if word == "#" {
			args[i] = uintptr(length)
			continue
		}
		if n, ok := number(word); ok {
			args[i] = n
			continue
		}
		b, err := a.memory(word)
		if err != nil {
			return args, err
		}
		length = len(b)
		args[i] = a.address(b)
	}
	return args, nil
}

// address keeps b where it is for as long as the attempt lasts.
func (a *attempt) address(b []byte) uintptr {
	if len(b) == 0 {
		b = make([]byte, 1)
	}
	a.keep = append(a.keep, b)
	return uintptr(unsafe.Pointer(&b[0]))
}

// expand puts results in place of $1, $2 and so on.
func (a *attempt) expand(word string) string {
	for i := len(a.results); i > 0; i-- {
		word = strings.ReplaceAll(word, "$"+strconv.Itoa(i), strconv.FormatUint(uint64(a.results[i-1]), 10))
	}
	return word
}

func number(word string) (uintptr, bool) {
	switch word {
	case "pid":
		return uintptr(os.Getpid()), true
	case "ppid":
		return uintptr(os.Getppid()), true
	}
	if n, err := strconv.ParseInt(word, 0, 64); err == nil {
		return uintptr(n), true
	}
	n, err := strconv.ParseUint(word, 0, 64)
	return uintptr(n), err == nil
}

// memory is what a word other than a number stands for.
func (a *attempt) memory(word string) ([]byte, error) {
	kind, text, _ := strings.Cut(word, ":")
	switch kind {
	case "s":
		return append([]byte(text), 0), nil
	case "buf":
		n, err := strconv.Atoi(text)
		return make([]byte, max(n, 0)), err
	case "hex":
		return hex.DecodeString(text)
	case "u32", "u64":
		return numbers(kind == "u64", text)
	case "in4", "in6", "un", "ab", "nl":
		return sockaddr(kind, text)
	case "iov":
		return a.iovec(a.address([]byte(text)), len(text)), nil
	case "riov":
		at, n, _ := strings.Cut(text, ",")
		from, ok1 := number(at)
		size, ok2 := number(n)
		if !ok1 || !ok2 {
			return nil, fmt.Errorf("bad remote vector %q", word)
		}
		return a.iovec(from, int(size)), nil
	case "msg":
		return a.msghdr(text)
	}
	return nil, fmt.Errorf("bad argument %q", word)
}

func numbers(wide bool, text string) ([]byte, error) {
	var b []byte
	for part := range strings.SplitSeq(text, ",") {
		n, ok := number(part)
		if !ok {
			return nil, fmt.Errorf("bad number %q", part)
		}
		if wide {
			b = binary.NativeEndian.AppendUint64(b, uint64(n))
		} else {
			b = binary.NativeEndian.AppendUint32(b, uint32(n))
		}
	}
	return b, nil
}

func (a *attempt) iovec(base uintptr, n int) []byte {
	b := binary.NativeEndian.AppendUint64(nil, uint64(base))
	return binary.NativeEndian.AppendUint64(b, uint64(n))
}

// msghdr is struct msghdr with one address and one vector, with room behind it for
// the msg_len of struct mmsghdr (sendmmsg(2)).
func (a *attempt) msghdr(text string) ([]byte, error) {
	dest, payload, _ := strings.Cut(text, "|")
	name, err := a.memory(dest)
	if err != nil {
		return nil, err
	}
	vec := a.iovec(a.address([]byte(payload)), len(payload))
	b := make([]byte, unsafe.Sizeof(unix.Msghdr{})+8)
	h := (*unix.Msghdr)(unsafe.Pointer(&b[0]))
	binary.NativeEndian.PutUint64(b[unsafe.Offsetof(h.Name):], uint64(a.address(name)))
	h.Namelen = uint32(len(name))
	binary.NativeEndian.PutUint64(b[unsafe.Offsetof(h.Iov):], uint64(a.address(vec)))
	h.SetIovlen(1)
	return b, nil
}

// sockaddr encodes a socket address as the kernel reads it.
func sockaddr(kind, text string) ([]byte, error) {
	family := map[string]uint16{
		"in4": unix.AF_INET, "in6": unix.AF_INET6, "un": unix.AF_UNIX, "ab": unix.AF_UNIX, "nl": unix.AF_NETLINK,
	}[kind]
	b := binary.NativeEndian.AppendUint16(nil, family)
	switch kind {
	case "un":
		return append(append(b, text...), 0), nil
	case "ab":
		return append(append(b, 0), text...), nil
	case "nl":
		groups, err := strconv.ParseUint(text, 0, 32)
		b = append(b, 0, 0, 0, 0, 0, 0)
		return binary.NativeEndian.AppendUint32(b, uint32(groups)), err
	}
	at, err := netip.ParseAddrPort(text)
	if err != nil {
		return nil, err
	}
	b = binary.BigEndian.AppendUint16(b, at.Port())
	if kind == "in4" {
		ip := at.Addr().As4()
		return append(append(b, ip[:]...), make([]byte, 8)...), nil
	}
	ip := at.Addr().As16()
	b = append(append(b, 0, 0, 0, 0), ip[:]...) // flow information
	return append(b, 0, 0, 0, 0), nil           // scope
}
