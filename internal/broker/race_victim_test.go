package broker

import (
	"bufio"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// blocking makes one connect that has to wait. args: how, and a path or a port.
func blocking(args []string) {
	runtime.LockOSThread()
	if args[0] == "interrupt" || args[0] == "restart" {
		signal.Notify(make(chan os.Signal, 1), unix.SIGUSR1)
		if args[0] == "interrupt" {
			noRestart(unix.SIGUSR1)
		}
	}
	var fd int
	a := address(unix.AF_UNIX, args[1]+"\x00")
	if port, err := strconv.Atoi(args[1]); err == nil {
		fd, _ = newSocket(unix.AF_INET, unix.SOCK_STREAM)
		a = inet(unix.AF_INET, uint16(port), 16)
		a[4], a[7] = 127, 1
	} else {
		fd, _ = newSocket(unix.AF_UNIX, unix.SOCK_STREAM)
	}
	if args[0] == "timeout" {
		tv := unix.Timeval{Usec: 30_000}
		_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &tv)
	}
	fmt.Println(unix.Gettid())
	fmt.Println(errName(rawConnect(fd, a, len(a))))
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // until then the connection stays
}

// crowd blocks n threads in connects to full, and then connects to free.
func crowd(full, free, n string) {
	count, _ := strconv.Atoi(n)
	for range count {
		go func() { try("stream " + full) }()
	}
	for blocked() < count {
		runtime.Gosched()
	}
	fmt.Println(try("stream " + free))
	select {}
}

// blocked counts the threads of this process that wait in connect(2).
func blocked() int {
	n := 0
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, t := range tasks {
		text, _ := os.ReadFile("/proc/self/task/" + t.Name() + "/syscall")
		if strings.HasPrefix(string(text), strconv.Itoa(unix.SYS_CONNECT)+" ") {
			n++
		}
	}
	return n
}

// noRestart clears SA_RESTART of a signal's action.
func noRestart(sig syscall.Signal) {
	var act [4]uint64 // struct kernel_sigaction: handler, flags, restorer, mask
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), 0, uintptr(unsafe.Pointer(&act)), 8, 0, 0)
	act[1] &^= 0x10000000
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&act)), 0, 8, 0, 0)
}

// race tries to reach no with the help of yes: something is swapped all the time that the
// broker looks at. args: what, tries, directory.
func race(args []string) {
	tries, _ := strconv.Atoi(args[1])
	var over atomic.Bool
	yes, no := filepath.Join(args[2], "yes"), filepath.Join(args[2], "no!")
	swap := func() {}
	fd := func() int { s, _ := newSocket(unix.AF_UNIX, unix.SOCK_STREAM); return s }
	a := address(unix.AF_UNIX, yes+"\x00")
	b := address(unix.AF_UNIX, no+"\x00")
	switch args[0] {
	case "address": // as many bytes, one after the other
		turn := false
		shared := make([]byte, len(a))
		copy(shared, a)
		from := [2][]byte{append([]byte(nil), a...), append([]byte(nil), b...)}
		a = shared
		swap = func() {
			turn = !turn
			n := 0
			if turn {
				n = 1
			}
			copy(shared, from[n])
		}
	case "descriptor": // a TCP socket, and a Unix one, under one number
		tcp, _ := newSocket(unix.AF_INET, unix.SOCK_STREAM)
		const at = 500
		a = b
		fd = func() int {
			s, _ := newSocket(unix.AF_UNIX, unix.SOCK_STREAM)
			_ = unix.Dup3(s, at, 0)
			unix.Close(s)
			return at
		}
		swap = func() { _ = unix.Dup3(tcp, at, 0) }
	case "directory":
		a = address(unix.AF_UNIX, "s\x00")
		turn := false
		swap = func() {
			turn = !turn
			_ = os.Chdir(filepath.Join(args[2], map[bool]string{true: "a", false: "b"}[turn]))
		}
	case "link", "folder": // a link to the one or the other; a folder on the way
		a = address(unix.AF_UNIX, filepath.Join(args[2], "w/x")+"\x00")
		one, two := filepath.Join(args[2], "w/x"), filepath.Join(args[2], "w/y")
		if args[0] == "folder" {
			a = address(unix.AF_UNIX, filepath.Join(args[2], "w/a/s")+"\x00")
			one, two = filepath.Join(args[2], "w/a"), filepath.Join(args[2], "w/b")
		}
		swap = func() { _ = unix.Renameat2(unix.AT_FDCWD, one, unix.AT_FDCWD, two, unix.RENAME_EXCHANGE) }
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !over.Load() {
			swap()
		}
	}()
	results := map[string]int{}
	for range tries {
		s := fd()
		results[errName(rawConnect(s, a, len(a)))]++
		unix.Close(s)
	}
	over.Store(true)
	<-done
	fmt.Println(results["ok"], results)
}
