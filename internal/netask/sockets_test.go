package netask

import (
	"os"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// ends are two connected sockets.
func ends(t *testing.T) (a, b *os.File) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	a, b = os.NewFile(uintptr(pair[0]), "a"), os.NewFile(uintptr(pair[1]), "b")
	t.Cleanup(func() { _ = a.Close(); _ = b.Close() })
	return a, b
}

func raw(t *testing.T, f *os.File) syscall.RawConn {
	t.Helper()
	c, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func opened(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// Whatever else comes than exactly those descriptors, none is taken and none stays open.
func TestReceiveRefuses(t *testing.T) {
	needs.Kernel(t) // an emulator keeps the descriptors that it cannot hand on
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for name, c := range map[string]struct {
		text string
		n    int
	}{
		"none":                 {headers[true], 0},
		"one too few":          {headers[true], 4},
		"one too many":         {headers[true], 6},
		"far too many":         {headers[true], 40},
		"the other mode":       {headers[false], 2},
		"the other mode's all": {headers[false], 5},
		"other names":          {"user net proxy lookup_tcp lookup_udp\n", 5},
		"more text":            {headers[true] + "x", 5},
		"half a line":          {"user net", 5},
		"too much text":        {headers[true] + string(make([]byte, 4096)), 5},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := ends(t)
			from, to := raw(t, a), raw(t, b)
			oob := []byte(nil)
			if c.n > 0 {
				oob = unix.UnixRights(slices.Repeat([]int{int(file.Fd())}, c.n)...)
			}
			if err := unix.Sendmsg(int(a.Fd()), []byte(c.text), oob, nil, 0); err != nil {
				t.Fatal(err)
			}
			_ = from
			before := opened(t)
			if s, err := Receive(to, true); err == nil {
				t.Errorf("%+v", s)
			}
			if after := opened(t); after != before {
				t.Errorf("%d descriptors before, %d after", before, after)
			}
		})
	}
	a, b := ends(t)
	to := raw(t, b)
	_ = a.Close()
	if s, err := Receive(to, true); err == nil {
		t.Errorf("at the end: %+v", s)
	}
}

func TestSocketsArrive(t *testing.T) {
	for _, proxy := range []bool{false, true} {
		a, b := ends(t)
		var files []*os.File
		for range 5 {
			f, err := os.CreateTemp(t.TempDir(), "")
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			files = append(files, f)
		}
		s := Sockets{int(files[0].Fd()), int(files[1].Fd()), int(files[2].Fd()), int(files[3].Fd()), int(files[4].Fd())}
		if err := s.Send(raw(t, a), proxy); err != nil {
			t.Fatal(err)
		}
		got, err := Receive(raw(t, b), proxy)
		if err != nil {
			t.Fatal(err)
		}
		for i, fd := range got.list(proxy) {
			f := os.NewFile(uintptr(*fd), "")
			x, err1 := f.Stat()
			y, err2 := files[i].Stat()
			flags, err3 := unix.FcntlInt(uintptr(*fd), unix.F_GETFD, 0)
			if err1 != nil || err2 != nil || err3 != nil || !os.SameFile(x, y) || flags&unix.FD_CLOEXEC == 0 {
				t.Errorf("proxy %v: descriptor %d is another, or not close-on-exec (%v, %v, %v)", proxy, i, err1, err2, err3)
			}
			_ = f.Close()
		}
		if !proxy && (got.Proxy != -1 || got.LookupUDP != -1 || got.LookupTCP != -1) {
			t.Errorf("mode none: %+v", got)
		}
	}
}
