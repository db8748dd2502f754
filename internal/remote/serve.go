package remote

import (
	"errors"
	"fmt"
	"io"
	"syscall"

	"golang.org/x/sys/unix"

	"brainbox/internal/strictjson"
	"brainbox/internal/supervise"
)

// Serve answers a host on descriptor fd until it closes its end. It is the whole work of
// `brainbox spawn`.
func Serve(fd int, version string) error {
	if kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE); err != nil || kind != unix.SOCK_SEQPACKET {
		return fmt.Errorf("remote: descriptor %d is not a socketpair of a host", fd)
	}
	unix.CloseOnExec(fd)
	l := &link{fd}
	if err := l.greet(version); err != nil {
		return err
	}
	s := &server{link: l, packets: make(chan packet), ended: make(chan error, 1)}
	go s.read()
	for {
		p, err := s.job()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = s.run(p)
		}
		if err != nil {
			return err
		}
	}
}

// greet exchanges greetings; both must name this protocol and this version.
func (l *link) greet(version string) error {
	if err := l.send(greeting(version)); err != nil {
		return err
	}
	p, err := l.receive()
	if err != nil {
		return err
	}
	closeAll(p.fds)
	v, err := strictjson.Decode(p.data, strictjson.Limits{})
	if err != nil {
		return err
	}
	f := strictjson.BindLenient(v)
	protocol, theirs := f.String("protocol"), f.String("version")
	if err := f.Err(); err != nil {
		return err
	}
	if protocol != Protocol || theirs != version {
		return fmt.Errorf("remote: the other side speaks %q of version %q, this is %q of version %q", protocol, theirs, Protocol, version)
	}
	return nil
}

// server reads in one goroutine, so that the end of the host is seen during a run too.
type server struct {
	link    *link
	packets chan packet
	ended   chan error

	change  func(*supervise.Job) error // looks at a job before it is carried out; nil: nothing
	started func()                     // called when the program runs; nil: nothing
}

func (s *server) read() {
	for {
		p, err := s.link.receive()
		if err != nil {
			s.ended <- err
			close(s.packets)
			return
		}
		s.packets <- p
	}
}

func (s *server) next() (packet, error) {
	p, ok := <-s.packets
	if !ok {
		return packet{}, <-s.ended
	}
	return p, nil
}

// job waits for something else than a signal: one that the host sent before it knew of a
// run's end is for nobody.
func (s *server) job() (packet, error) {
	for {
		p, err := s.next()
		if err != nil || !isSignal(p.data) {
			return p, err
		}
		closeAll(p.fds)
	}
}

// isSignal reports whether a packet is a signal for the run that goes on.
func isSignal(data []byte) bool {
	return len(data) == 2 && data[0] == 's' && data[1] != 0 && data[1] <= 64
}

// run carries out the job that p announces.
func (s *server) run(p packet) error {
	closeAll(p.fds)
	h, err := decodeHeader(p.data)
	if err != nil {
		return err
	}
	job, fds, err := receiveJob(h, s.next)
	if err != nil {
		return err
	}
	if s.change != nil {
		if err := s.change(job); err != nil {
			closeAll(fds)
			return errors.Join(err, s.link.send(refusedEvent(err)))
		}
	}
	signals, over := make(chan syscall.Signal), make(chan struct{})
	job.Signals = signals
	watched := make(chan error, 1)
	go func() { watched <- s.watch(signals, over) }()
	pidfd := -1
	job.Opened = func(fd int) { pidfd = fd }
	res, err := supervise.Run(job, func(pid int) {
		if s.started != nil {
			s.started()
		}
		_ = s.link.send(startedEvent(pid), pidfd)
	})
	close(over)
	closeAll(fds)
	if werr := <-watched; werr != nil {
		return werr
	}
	if err != nil {
		return s.link.send(refusedEvent(err))
	}
	return s.link.send(exitedEvent(res))
}

// watch passes the host's signals on during a run. When the host has gone, or says
// something else, the program is killed.
func (s *server) watch(signals chan<- syscall.Signal, over <-chan struct{}) error {
	deliver := func(sig syscall.Signal) {
		select {
		case signals <- sig:
		case <-over:
		}
	}
	for {
		select {
		case <-over:
			return nil
		case p, ok := <-s.packets:
			if !ok {
				deliver(unix.SIGKILL)
				<-over
				return <-s.ended
			}
			closeAll(p.fds)
			if !isSignal(p.data) {
				deliver(unix.SIGKILL)
				<-over
				return fmt.Errorf("remote: something else than a signal during a run")
			}
			deliver(syscall.Signal(p.data[1]))
		}
	}
}
