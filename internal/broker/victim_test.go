package broker

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// victim is the program behind the filter. Its answers go to standard output, a line each.
func victim(what string, args []string) {
	switch what {
	case "connect":
		for _, a := range args {
			fmt.Println(try(a))
		}
	case "form":
		form(args[0])
	case "ask": // an attempt for each line of input
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			fmt.Println(try(in.Text()))
		}
	case "blocking":
		blocking(args)
	case "crowd":
		crowd(args[0], args[1], args[2])
	case "race":
		race(args)
	case "fault":
		fault()
	}
}

func errName(e syscall.Errno) string {
	if e == 0 {
		return "ok"
	}
	return unix.ErrnoName(e)
}

func newSocket(family, kind int) (int, syscall.Errno) {
	fd, _, e := unix.Syscall(unix.SYS_SOCKET, uintptr(family), uintptr(kind), 0)
	return int(fd), e
}

func rawConnect(fd int, a []byte, size int) syscall.Errno {
	var at unsafe.Pointer
	if len(a) > 0 {
		at = unsafe.Pointer(&a[0])
	}
	_, _, e := unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(at), uintptr(size))
	return e
}

// try makes one attempt, "how path", and returns its errno or what the server said.
func try(attempt string) string {
	how, where, _ := strings.Cut(attempt, " ")
	kind := unix.SOCK_STREAM
	switch how {
	case "packet", "send-packet":
		kind = unix.SOCK_SEQPACKET
	case "dgram":
		kind = unix.SOCK_DGRAM
	case "nonblock":
		kind |= unix.SOCK_NONBLOCK
	case "chdir":
		if err := os.Chdir(where); err != nil {
			return err.Error()
		}
		return "there"
	case "undumpable":
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
			return err.Error()
		}
		return "hidden"
	case "listen":
		return listenHere(where)
	case "listener":
		return secondListener()
	}
	fd, e := newSocket(unix.AF_UNIX, kind)
	if e != 0 {
		return "socket " + errName(e)
	}
	defer unix.Close(fd)
	if how == "abstract" {
		where = "\x00" + where
	}
	a := address(unix.AF_UNIX, where)
	if strings.HasPrefix(how, "send") { // an address without a connect
		b := []byte("x")
		_, _, e := unix.Syscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), 1, unix.MSG_NOSIGNAL,
			uintptr(unsafe.Pointer(&a[0])), uintptr(len(a)))
		return errName(e)
	}
	if e := rawConnect(fd, a, len(a)); e != 0 {
		return errName(e)
	}
	return answerOf(fd)
}

func answerOf(fd int) string {
	if err := unix.SetNonblock(fd, false); err != nil {
		return err.Error()
	}
	var buf [256]byte
	n, err := unix.Read(fd, buf[:])
	if err != nil {
		return "read " + err.Error()
	}
	return strings.TrimSpace(string(buf[:n]))
}

// listenHere binds and listens, and then tries to connect to that.
func listenHere(path string) string {
	fd, e := newSocket(unix.AF_UNIX, unix.SOCK_STREAM)
	if e != 0 {
		return "socket " + errName(e)
	}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		return "bind " + err.Error()
	}
	if err := unix.Listen(fd, 1); err != nil {
		return "listen " + err.Error()
	}
	return "listens, connect " + try("stream "+path)
}

// secondListener asks for a notification listener of its own.
func secondListener() string {
	prog := unix.SockFprog{Len: 1, Filter: &unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}}
	_, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&prog)))
	return errName(e)
}

// form makes the connects whose errors are the kernel's, with and without a broker.
func form(listed string) {
	stream := func() int { fd, _ := newSocket(unix.AF_UNIX, unix.SOCK_STREAM); return fd }
	file, _ := unix.Open("/dev/null", unix.O_RDONLY, 0)
	path, _ := unix.Open("/dev/null", unix.O_PATH, 0)
	good := address(unix.AF_UNIX, listed+"\x00")
	connected := stream()
	_ = rawConnect(connected, good, len(good))
	pair, _ := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	listening := stream()
	_ = unix.Bind(listening, &unix.SockaddrUnix{Name: listed + ".own"})
	_ = unix.Listen(listening, 1)
	long := address(unix.AF_UNIX, strings.Repeat("x", 120))
	page, _ := unix.Mmap(-1, 0, 2*4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	_ = unix.Mprotect(page[4096:], unix.PROT_NONE)
	copy(page[4096-8:4096], good)
	other := func(where string) syscall.Errno {
		a := address(unix.AF_UNIX, where+"\x00")
		return rawConnect(stream(), a, len(a))
	}
	packet, _ := newSocket(unix.AF_UNIX, unix.SOCK_SEQPACKET)
	for _, x := range []struct {
		name string
		e    syscall.Errno
	}{
		{"bad descriptor", rawConnect(99, good, len(good))},
		{"descriptor -1", rawConnect(-1, good, len(good))},
		{"file", rawConnect(file, good, len(good))},
		{"file, bad length", rawConnect(file, good, -1)},
		{"O_PATH", rawConnect(path, good, len(good))},
		{"null address", rawConnect(stream(), nil, 20)},
		{"no length", rawConnect(stream(), good, 0)},
		{"no length, null", rawConnect(stream(), nil, 0)},
		{"length 1", rawConnect(stream(), good, 1)},
		{"length 2", rawConnect(stream(), good, 2)},
		{"negative length", rawConnect(stream(), good, -5)},
		{"length 111", rawConnect(stream(), long, 111)},
		{"length 128", rawConnect(stream(), append(long, 0, 0, 0, 0, 0, 0), 128)},
		{"length 129", rawConnect(stream(), append(long, 0, 0, 0, 0, 0, 0, 0), 129)},
		{"unreadable tail", rawConnect(stream(), page[4096-8:4096], 20)},
		{"no family", rawConnect(stream(), address(0, listed+"\x00"), 40)},
		{"another family", rawConnect(stream(), inet(unix.AF_INET, 80, 16), 16)},
		{"absent", other(listed + ".absent")},
		{"through a file", other(listed + "/x")},
		{"a loop", other(listed + ".loop")},
		{"a name too long", other("/" + strings.Repeat("a", 104))},
		{"nobody listens", other(listed + ".dead")},
		{"another type", rawConnect(packet, good, len(good))},
		{"connected already", rawConnect(connected, good, len(good))},
		{"a pair", rawConnect(pair[0], good, len(good))},
		{"a listener", rawConnect(listening, good, len(good))},
		{"good", rawConnect(stream(), good, len(good))},
		{"without NUL", rawConnect(stream(), good[:len(good)-1], len(good)-1)},
	} {
		fmt.Println(x.name+":", errName(x.e))
	}
}
