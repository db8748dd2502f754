package seccomp

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// dirVar passes a folder to the child.
const dirVar = "BRAINBOX_TEST_SECCOMP_DIR"

// filtered runs body without a filter and then, in a child, under the filter of
// o. dir is the same for both; what body leaves there is for the caller.
func filtered(t *testing.T, o Options, dir string) (child bool) {
	t.Helper()
	needs.Seccomp(t)
	if !needs.IsChild(t) {
		needs.RunChild(t, dirVar+"="+dir)
		return false
	}
	p, err := Default(o)
	if err != nil {
		t.Fatal(err)
	}
	load(t, p)
	return true
}

func workDir(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv(dirVar); dir != "" {
		return dir
	}
	return t.TempDir()
}

// TestSetIDBits is esc/MD-08 on files.
func TestSetIDBits(t *testing.T) {
	dir := workDir(t)
	file := filepath.Join(dir, "f")
	if !needs.IsChild(t) {
		if err := os.WriteFile(file, nil, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := unix.Chmod(file, 0o4755); err != nil || mode(t, file)&fs.ModeSetuid == 0 {
			t.Fatalf("without a filter: chmod = %v", err) // the positive control
		}
		if err := unix.Chmod(file, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if !filtered(t, Options{}, dir) {
		if got := mode(t, file); got != 0o2750 && got != fs.ModeSetgid|0o750 {
			t.Errorf("mode after the child = %v, want what it set last", got)
		}
		return
	}
	for name, chmod := range map[string]func() error{
		"chmod":     func() error { return unix.Chmod(file, 0o4755) },
		"fchmodat":  func() error { return unix.Fchmodat(unix.AT_FDCWD, file, 0o6755, 0) },
		"fchmodat2": func() error { return unix.Fchmodat(unix.AT_FDCWD, file, 0o4755, unix.AT_SYMLINK_NOFOLLOW) },
		"mknod":     func() error { return unix.Mknod(filepath.Join(dir, "n"), unix.S_IFREG|0o4755, 0) },
		"device":    func() error { return unix.Mknod(filepath.Join(dir, "d"), unix.S_IFCHR|0o600, 0x103) },
	} {
		if err := chmod(); !errors.Is(err, unix.EPERM) {
			t.Errorf("%s = %v, want EPERM", name, err)
		}
	}
	if got := mode(t, file); got != 0o700 {
		t.Errorf("mode = %v, want it unchanged", got)
	}
	if err := unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Errorf("mkfifo = %v", err)
	}
	if err := unix.Chmod(file, 0o2750); err != nil {
		t.Errorf("chmod g+s = %v: folders need it, and the call does not show the type", err)
	}
	// An ordinary user's open is not filtered: the walk after the run finds this.
	fd, err := unix.Open(filepath.Join(dir, "s"), unix.O_CREAT|unix.O_WRONLY, 0o4755)
	if err != nil {
		t.Errorf("open of a set-id file = %v, want it open without KeepsRoot", err)
	}
	_ = unix.Close(fd)
}

func mode(t *testing.T, file string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}

// TestKeepsRoot is the rule for a program that keeps user id 0.
func TestKeepsRoot(t *testing.T) {
	dir := workDir(t)
	if !filtered(t, Options{KeepsRoot: true}, dir) {
		names, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil || len(names) != 1 || filepath.Base(names[0]) != "plain" {
			t.Errorf("left behind: %v, %v; want the plain file only", names, err)
		}
		return
	}
	for _, bits := range []uint32{0o4755, 0o2755, 0o6000} {
		_, err := unix.Open(filepath.Join(dir, "s"), unix.O_CREAT|unix.O_WRONLY, bits)
		if !errors.Is(err, unix.EPERM) {
			t.Errorf("open with mode %#o = %v, want EPERM", bits, err)
		}
		if _, err = unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY, bits); !errors.Is(err, unix.EPERM) {
			t.Errorf("open of a file without a name with mode %#o = %v, want EPERM", bits, err)
		}
	}
	how := unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY, Mode: 0o4755}
	if _, err := unix.Openat2(unix.AT_FDCWD, filepath.Join(dir, "s"), &how); !errors.Is(err, unix.ENOSYS) {
		t.Errorf("openat2 = %v, want ENOSYS", err)
	}
	file := filepath.Join(dir, "plain")
	fd, err := unix.Open(file, unix.O_CREAT|unix.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.Close(fd)
	// Without O_CREAT the mode is what the register held.
	if fd, err = unix.Open(file, unix.O_RDONLY, 0o6777); err != nil {
		t.Errorf("open of a file that exists = %v", err)
	}
	_ = unix.Close(fd)
}

// TestDatagramPairsReachNoSocketFile is esc/IP-21.
func TestDatagramPairsReachNoSocketFile(t *testing.T) {
	needs.Seccomp(t)
	dir := workDir(t)
	name := &unix.SockaddrUnix{Name: filepath.Join(dir, "canary")}
	if needs.IsChild(t) {
		filtered(t, Options{}, dir)
		for _, typ := range []int{unix.SOCK_DGRAM, unix.SOCK_RAW, unix.SOCK_DGRAM | unix.SOCK_CLOEXEC} {
			if err := sendFromPair(typ, name); !errors.Is(err, unix.EPERM) {
				t.Errorf("a pair of type %#x sends: %v, want EPERM", typ, err)
			}
		}
		for _, typ := range []int{unix.SOCK_STREAM, unix.SOCK_SEQPACKET | unix.SOCK_NONBLOCK} {
			if err := sendFromPair(typ, name); err == nil || errors.Is(err, unix.EPERM) {
				t.Errorf("a pair of type %#x sends: %v, want a pair that is connected already", typ, err)
			}
		}
		return
	}
	canary, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name.Name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = canary.Close() }()
	if err := sendFromPair(unix.SOCK_DGRAM, name); err != nil || !received(t, canary) {
		t.Fatalf("without a filter: %v; want the datagram to arrive", err) // the positive control
	}
	filtered(t, Options{}, dir)
	if received(t, canary) {
		t.Error("a datagram arrived from under the filter")
	}
}

// sendFromPair sends from one end of a socket pair to a socket file.
func sendFromPair(typ int, to *unix.SockaddrUnix) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, typ, 0)
	if err != nil {
		return err
	}
	defer func() { _, _ = unix.Close(pair[0]), unix.Close(pair[1]) }()
	if err := unix.Sendto(pair[0], []byte("x"), 0, to); err != nil {
		return err
	}
	return errors.Join(unix.Connect(pair[0], to))
}

// received reports whether a datagram waits at the canary.
func received(t *testing.T, canary *net.UnixConn) bool {
	t.Helper()
	if err := canary.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	raw, err := canary.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	n := -1
	if err := raw.Control(func(fd uintptr) {
		n, _, _ = unix.Recvfrom(int(fd), make([]byte, 8), unix.MSG_DONTWAIT)
	}); err != nil {
		t.Fatal(err)
	}
	return n > 0
}

// TestFastOpenReachesNoListener is esc/NW-04, with TCP allowed.
func TestFastOpenReachesNoListener(t *testing.T) {
	needs.Seccomp(t)
	const portVar = "BRAINBOX_TEST_SECCOMP_PORT"
	if needs.IsChild(t) {
		filtered(t, Options{Network: NetPorts}, "")
		port, err := strconv.Atoi(os.Getenv(portVar))
		if err != nil {
			t.Fatal(err)
		}
		if err := fastOpen(port, unix.MSG_FASTOPEN); !errors.Is(err, unix.EPERM) {
			t.Errorf("sendto with MSG_FASTOPEN = %v, want EPERM", err)
		}
		if err := fastOpen(port, 0); !errors.Is(err, unix.EPIPE) && !errors.Is(err, unix.ENOTCONN) {
			t.Errorf("sendto without it = %v, want a socket that is not connected", err)
		}
		return
	}
	listener, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	port := listener.Addr().(*net.TCPAddr).Port
	if err := fastOpen(port, unix.MSG_FASTOPEN); err != nil {
		t.Skipf("without a filter: %v", err) // gating: tcp_fastopen may be off
	}
	if !accepted(t, listener) {
		t.Fatal("without a filter: the listener got nothing")
	}
	needs.RunChild(t, portVar+"="+strconv.Itoa(port))
	if accepted(t, listener) {
		t.Error("a connection arrived from under the filter")
	}
}

func fastOpen(port, flags int) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	to := &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}
	return unix.Sendto(fd, []byte("x"), flags|unix.MSG_NOSIGNAL, to)
}

// accepted takes one waiting connection; the handshake on loopback is over when
// the sender returns.
func accepted(t *testing.T, l *net.TCPListener) bool {
	t.Helper()
	if err := l.SetDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	c, err := l.Accept()
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}

// TestThreadsAndProgramsStart shows that clone3 is not missed: esc/NS-03.
func TestThreadsAndProgramsStart(t *testing.T) {
	if !filtered(t, Options{}, "") {
		return
	}
	var started sync.WaitGroup
	release := make(chan struct{})
	for range 20 { // each goroutine holds a thread of its own
		started.Add(1)
		go func() {
			var ts unix.Timespec
			_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
			started.Done()
			<-release
		}()
	}
	started.Wait()
	close(release)
	out, err := exec.Command("/bin/sh", "-c", "/bin/echo $(echo a | cat) & wait").CombinedOutput()
	if err != nil || string(out) != "a\n" {
		t.Errorf("sh = %q, %v", out, err)
	}
}

// TestFilterStatus is esc/SC-15, SC-06 and SC-09.
func TestFilterStatus(t *testing.T) {
	if !filtered(t, Options{}, "") {
		return
	}
	status, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nNoNewPrivs:\t1\n", "\nSeccomp:\t2\n"} {
		if !strings.Contains(string(status), want) {
			t.Errorf("status lacks %q:\n%s", want, status)
		}
	}
	for _, nr := range []uintptr{472, 473, 475, 480, 599, 1000} {
		if _, _, e := unix.RawSyscall(nr, 0, 0, 0); e != unix.ENOSYS {
			t.Errorf("call %d = %v, want ENOSYS", nr, e)
		}
	}
	everything := Program{{Code: opRetK, K: uint32(Allow)}}
	if err := setFilter(everything, 0); err != nil {
		t.Fatalf("a filter inside a filter: %v", err)
	}
	if _, _, e := unix.RawSyscall(unix.SYS_UNSHARE, unix.CLONE_NEWUTS, 0, 0); e != unix.EPERM {
		t.Errorf("unshare under an inner filter that allows = %v, want EPERM", e)
	}
}
