package remote

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"brainbox/internal/supervise"
)

// Spawner is a small process that runs jobs for this one, one after the other.
type Spawner struct {
	link *link
	proc *os.Process
	mu   sync.Mutex // one run at a time
}

// Start starts `brainbox spawn` from a held executable.
func Start(exe *os.File, version string) (*Spawner, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "spawner")
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		unix.Close(pair[0])
		return nil, errors.Join(err, theirs.Close())
	}
	proc, err := os.StartProcess("/proc/self/fd/"+strconv.Itoa(int(exe.Fd())), []string{"brainbox", "spawn"}, &os.ProcAttr{
		Dir: "/", Env: []string{}, Files: []*os.File{null, null, os.Stderr, theirs},
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	err = errors.Join(err, theirs.Close(), null.Close())
	if err != nil {
		unix.Close(pair[0])
		return nil, err
	}
	s := &Spawner{link: &link{pair[0]}, proc: proc}
	if err := s.link.greet(version); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close ends the spawner, and with it a run that goes on.
func (s *Spawner) Close() error {
	unix.Close(s.link.fd)
	_, err := s.proc.Wait()
	return err
}

// Run is one run in a spawner.
type Run struct {
	PID   int
	PidFD *os.File // of the program; closed by Wait
	s     *Spawner

	mu   sync.Mutex // a signal is sent before the run is known to be over, or not at all
	over bool
}

// Run starts a job and returns when the program runs. The descriptors of the job stay the
// caller's. The spawner is busy until Wait has returned.
func (s *Spawner) Run(j *supervise.Job) (*Run, error) {
	s.mu.Lock()
	run, err := s.begin(j)
	if err != nil {
		s.mu.Unlock()
	}
	return run, err
}

func (s *Spawner) begin(j *supervise.Job) (*Run, error) {
	if n := j.Spawn.Namespaces; n != nil && n.Network != nil {
		return nil, errors.New("remote: what a start does in the program's network cannot be sent to a spawner")
	}
	if j.Watch != nil {
		return nil, errors.New("remote: a job with a watch cannot be sent: it is code")
	}
	text, fds := j.Encode()
	if err := s.link.sendJob(text, fds); err != nil {
		return nil, err
	}
	p, err := s.link.receive()
	if err != nil {
		return nil, fmt.Errorf("remote: the spawner has gone: %w", err)
	}
	e, err := decodeEvent(p.data)
	switch {
	case err != nil:
	case e.kind == "refused":
		err = e.err
	case e.kind == "started" && len(p.fds) == 1:
		return &Run{PID: e.pid, PidFD: os.NewFile(uintptr(p.fds[0]), "pidfd"), s: s}, nil
	default:
		err = fmt.Errorf("remote: unexpected answer of the spawner")
	}
	closeAll(p.fds)
	return nil, err
}

// Signal sends a signal to the program. Once Wait knows of the end it is os.ErrProcessDone:
// the spawner may be busy with another run by then, and its descriptor be another's.
func (r *Run) Signal(sig syscall.Signal) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return os.ErrProcessDone
	}
	return r.s.link.send([]byte{'s', byte(sig)})
}

// Wait returns when the program and its whole tree have ended.
func (r *Run) Wait() (*supervise.Result, error) {
	defer r.s.mu.Unlock()
	defer r.PidFD.Close()
	p, err := r.s.link.receive()
	r.mu.Lock()
	r.over = true
	r.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("remote: the spawner has gone: %w", err)
	}
	closeAll(p.fds)
	e, err := decodeEvent(p.data)
	if err != nil {
		return nil, err
	}
	if e.kind != "exited" {
		return nil, fmt.Errorf("remote: unexpected answer of the spawner")
	}
	return e.result, nil
}
