package launcher

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// answering serves a network as whoever is handed it would: it answers on what it is handed
// with a word for each socket.
type answering struct {
	ran   string           // a file that the program makes first
	fails map[string]error // by the step
	seen  func(step string)

	mu    sync.Mutex
	calls []string
	open  []interface{ Close() error }
	wait  sync.WaitGroup
	got   NetworkSockets
	were  map[int]unix.Stat_t // what its descriptors are
}

func (a *answering) step(name string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, err := os.Stat(a.ran); name != "stop" && !errors.Is(err, fs.ErrNotExist) {
		name = "late " + name
	}
	a.calls = append(a.calls, name)
	if a.seen != nil {
		a.seen(name)
	}
	return a.fails[name]
}

func (a *answering) serve(NetworkSession) (NetworkService, error) {
	if err := a.step("serve"); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *answering) Ready() error { return a.step("ready") }

func (a *answering) Stop() {
	_ = a.step("stop")
	for _, c := range a.open {
		_ = c.Close()
	}
	a.wait.Wait()
}

func (a *answering) Hand(s NetworkSockets) error {
	a.got, a.were = s, map[int]unix.Stat_t{}
	err := a.step("hand")
	for _, fd := range []int{s.User, s.Net, s.Proxy, s.LookupUDP, s.LookupTCP} {
		var st unix.Stat_t
		if fd >= 0 && unix.Fstat(fd, &st) == nil {
			a.were[fd] = st
		}
	}
	for word, fd := range map[string]int{"proxy": s.Proxy, "lookup": s.LookupTCP} {
		if fd >= 0 && err == nil {
			err = a.accept(fd, word)
		}
	}
	if s.LookupUDP >= 0 && err == nil {
		err = a.echo(s.LookupUDP)
	}
	return err
}

// file duplicates a descriptor, as package net does once more.
func file(fd int) (*os.File, error) {
	dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(dup), "socket"), nil
}

func (a *answering) accept(fd int, word string) error {
	f, err := file(fd)
	if err != nil {
		return err
	}
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return err
	}
	a.open = append(a.open, l)
	a.wait.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte(word + " at " + l.Addr().String() + "\n"))
			_ = c.Close()
		}
	})
	return nil
}

func (a *answering) echo(fd int) error {
	f, err := file(fd)
	if err != nil {
		return err
	}
	defer f.Close()
	p, err := net.FilePacketConn(f)
	if err != nil {
		return err
	}
	a.open = append(a.open, p)
	a.wait.Go(func() {
		for {
			buf := make([]byte, 64)
			n, from, err := p.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = p.WriteTo(append([]byte("echo "), buf[:n]...), from)
		}
	})
	return nil
}
