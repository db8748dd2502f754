package explain

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"brainbox/internal/sys"
	"brainbox/launcher"
)

// maxAddress is the size of the largest address (struct sockaddr_storage).
const maxAddress = 128

// address is what is read of a socket address.
type address struct {
	family uint16
	port   uint16
	host   netip.Addr
	path   []byte // of a socket with a path
	name   []byte // of an abstract socket
}

// parseAddress reads an address as the kernel does; false: it is of no interest, or wrong.
func parseAddress(b []byte) (address, bool) {
	if len(b) < 2 {
		return address{}, false
	}
	a := address{family: binary.NativeEndian.Uint16(b)}
	switch a.family {
	case unix.AF_INET, unix.AF_INET6, unix.AF_UNSPEC:
		least := 16 // struct sockaddr_in
		if a.family == unix.AF_INET6 {
			least = 24 // SIN6_LEN_RFC2133
		}
		if len(b) < least {
			return address{}, false
		}
		a.port, a.host = binary.BigEndian.Uint16(b[2:]), host(b, a.family)
		return a, true
	case unix.AF_UNIX:
		rest := b[2:]
		switch {
		case len(rest) == 0 || len(b) > unix.SizeofSockaddrUnix:
			return a, false // an address that the kernel chooses; EINVAL
		case rest[0] == 0:
			a.name = rest[1:]
		default:
			a.path, _, _ = bytes.Cut(rest, []byte{0})
		}
		return a, true
	}
	return address{}, false
}

func seeConnect(l *look) { l.address(launcher.OpConnect) }
func seeBind(l *look)    { l.address(launcher.OpBind) }

func (l *look) address(what launcher.Op) {
	size := int32(l.c.Args[2])
	if size < 2 || size > maxAddress {
		return
	}
	var buf [maxAddress]byte
	b := buf[:size]
	if e := readAll(l.c.TID, l.c.Args[1], b); e != 0 {
		l.unread(e)
		return
	}
	a, ok := parseAddress(b)
	if !ok {
		return
	}
	k, ok := l.socketKind(int32(l.c.Args[0]))
	switch {
	case !ok:
		l.unknownSocket(what, &a)
	case k.family == unix.AF_UNIX && a.family == unix.AF_UNIX:
		l.unixAddress(what, &a)
	case k.stream && (k.family == unix.AF_INET || k.family == unix.AF_INET6):
		// connect to AF_UNSPEC dissolves a connection; bind takes it for AF_INET.
		if a.family == unix.AF_UNIX || a.family == unix.AF_UNSPEC && what == launcher.OpConnect ||
			a.family == unix.AF_INET6 && k.family == unix.AF_INET {
			return
		}
		l.port(what, &a)
	case k.datagram && what == launcher.OpConnect && a.port == domain && l.e.cfg.NoNames && !l.e.cfg.Uses:
		l.lookup()
	}
}

// domain is the port of the servers that look names up (RFC 1035, 4.2.1).
const domain = 53

// lookup tells that a name is looked up where nobody answers: no program in a network of its
// own may bind that port. The name is in a message that is sent later.
func (l *look) lookup() {
	if !l.waits() {
		return
	}
	l.e.cfg.Sink.Saw(&Seen{
		Operation: launcher.Operation{Op: launcher.OpConnect, Port: domain},
		Judgement: launcher.Judgement{
			Verdict: launcher.Refused, Clause: "network",
			Reason: "a name is looked up, and the program has a network of its own, in which nobody answers",
			Remedy: launcher.Remedy{Flag: "--net proxy --allow-host NAME", Note: "NAME is the host that is looked up, which this call does not say"},
		},
		Certainty: Proven, Call: l.call, TID: l.c.TID,
	})
}

// unknownSocket tells that it is not known what a descriptor is.
func (l *look) unknownSocket(what launcher.Op, a *address) {
	if a.family == unix.AF_UNSPEC || a.family == unix.AF_UNIX && len(a.path) == 0 {
		return
	}
	op := launcher.Operation{Op: what, Port: a.port}
	if a.family == unix.AF_UNIX {
		op = launcher.Operation{Op: launcher.OpUnix, Path: text(a.path)}
	}
	l.doubt(op)
}

func (l *look) unixAddress(what launcher.Op, a *address) {
	switch {
	case len(a.path) == 0:
		l.abstract(what, a.name)
	case what == launcher.OpBind:
		b := append(l.text[0][:0], a.path...)
		l.made(here, b, launcher.KindSocket)
	default:
		n, op := &l.one, launcher.Operation{Op: launcher.OpUnix}
		b := append(l.text[0][:0], a.path...)
		l.resolve(n, here, b, follow)
		if l.settled(n, op) {
			return
		}
		op.Path, op.Kind = text(n.path), n.kind()
		if op.Kind != launcher.KindSocket {
			l.moot(op) // ECONNREFUSED
			return
		}
		l.ask(op, need{at: n, want: mayWrite})
	}
}

// maxBound is how many abstract names are remembered as the program's own.
const maxBound = 1024

// abstract deals with the names that are in no file system. Which of them are the program's
// own is known from its binds.
func (l *look) abstract(what launcher.Op, name []byte) {
	e, key := l.e, string(name)
	e.mu.Lock()
	if what == launcher.OpBind && len(e.bound) < maxBound {
		e.bound[key] = true
	}
	own := e.bound[key]
	full := len(e.bound) >= maxBound
	e.mu.Unlock()
	if what == launcher.OpBind || own || !e.cfg.Abstract || !listens(l.c.TID, key) || !l.waits() {
		return
	}
	s := &Seen{
		Operation: launcher.Operation{Op: launcher.OpUnix, Path: "@" + key, Kind: launcher.KindSocket},
		Judgement: launcher.Judgement{
			Verdict: launcher.Refused, Right: "abstract_unix_socket", Errno: unix.EPERM, Clause: "ipc",
			Reason: "abstract Unix sockets of other programs are out of reach",
		},
		Certainty: Proven, Call: l.call, TID: l.c.TID,
	}
	if full || len(key) == 5 { // a name that the kernel chose is that long (unix(7)), and no bind says it
		s.Certainty = Likely
	}
	e.cfg.Sink.Saw(s)
}

// maxSockets is how much of /proc/net/unix is read.
const maxSockets = 1 << 20

// listens reports whether somebody in the thread's network namespace has an abstract name.
func listens(tid int, name string) bool {
	b, err := sys.ReadFile("/proc/"+itoa(tid)+"/net/unix", maxSockets)
	if err != nil {
		return false
	}
	return hasAbstract(b, name)
}

// hasAbstract finds a name in such a text, in which a zero is shown as "@" (proc_pid_net(5)).
func hasAbstract(b []byte, name string) bool {
	want := "@" + string(bytes.ReplaceAll([]byte(name), []byte{0}, []byte{'@'}))
	for line := range bytes.Lines(b) {
		f := bytes.SplitN(bytes.TrimSuffix(line, []byte("\n")), []byte(" "), 7)
		if len(f) < 7 {
			continue
		}
		// The inode comes last, padded, and behind it the name.
		if _, path, _ := bytes.Cut(bytes.TrimLeft(f[6], " "), []byte(" ")); string(path) == want {
			return true
		}
	}
	return false
}

// socketKind is what decides whether Landlock looks at a socket.
type socketKind struct {
	family   int
	stream   bool // TCP, for a socket of the internet
	datagram bool // UDP
}

// socketKind takes a copy of the descriptor, which is closed at once. What is no socket is
// not taken: its close might wait for a file system.
func (l *look) socketKind(fd int32) (socketKind, bool) {
	to, e := readlink(unix.AT_FDCWD, l.startOf(fd), l.link[:])
	if e == unix.ENOENT || e == 0 && !bytes.HasPrefix(to, []byte("socket:")) {
		return socketKind{}, true // EBADF, ENOTSOCK
	}
	if e != 0 {
		return socketKind{}, false
	}
	cred, ok := readCredentials(l.c.TID)
	if !ok {
		return socketKind{}, false
	}
	p, err := unix.PidfdOpen(cred.tgid, 0) // the threads of a process share their descriptors
	if err != nil {
		return socketKind{}, false
	}
	defer closeFD(p)
	s, err := unix.PidfdGetfd(p, int(fd), 0)
	if err != nil {
		return socketKind{}, false
	}
	defer unix.Close(s)
	family, e1 := socketOption(s, unix.SO_DOMAIN)
	kind, e2 := socketOption(s, unix.SO_TYPE)
	protocol, e3 := socketOption(s, unix.SO_PROTOCOL)
	k := socketKind{family: family, stream: kind == unix.SOCK_STREAM && (protocol == unix.IPPROTO_TCP || family == unix.AF_UNIX)}
	k.datagram = kind == unix.SOCK_DGRAM && protocol == unix.IPPROTO_UDP && (family == unix.AF_INET || family == unix.AF_INET6)
	return k, e1 == 0 && e2 == 0 && e3 == 0
}

func socketOption(fd, name int) (int, syscall.Errno) {
	var v int32
	size := uint32(unsafe.Sizeof(v))
	_, _, e := unix.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, uintptr(name),
		uintptr(unsafe.Pointer(&v)), uintptr(unsafe.Pointer(&size)), 0)
	return int(v), e
}
