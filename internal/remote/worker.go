package remote

import (
	"errors"
	"io"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"brainbox/internal/mutation"
	"brainbox/internal/supervise"
)

// StartWorker starts the bootstrap of one worker from a held executable, with an empty
// environment and the worker's ends of its pipes. Greet it next.
func StartWorker(exe *os.File, pipes [3]*os.File) (*Spawner, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "worker")
	argv := []string{"brainbox", "worker"}
	if list := mutation.List(); list != "" {
		argv = append(argv, list)
	}
	proc, err := os.StartProcess("/proc/self/fd/"+strconv.Itoa(int(exe.Fd())), argv, &os.ProcAttr{
		Dir: "/", Env: []string{}, Files: []*os.File{pipes[0], pipes[1], pipes[2], theirs},
		Sys: &syscall.SysProcAttr{Setsid: !mutation.On("keep-session")},
	})
	if err = errors.Join(err, theirs.Close()); err != nil {
		unix.Close(pair[0])
		return nil, err
	}
	return &Spawner{link: &link{pair[0]}, proc: proc}, nil
}

// Greet exchanges greetings with a bootstrap: its answer means that it found nothing wrong.
// Where there is none, it has said why on a pipe.
func (s *Spawner) Greet(version string) error { return s.link.greet(version) }

// PID is the process number of the spawner.
func (s *Spawner) PID() int { return s.proc.Pid }

// Kill ends the spawner at once, and with it what it runs. Close has still to be called.
func (s *Spawner) Kill() error { return s.proc.Kill() }

// serveWorker carries out one job and waits for the host to go.
func serveWorker(version string) error {
	l := &link{control}
	if err := l.greet(version); err != nil {
		return err
	}
	s := &server{link: l, packets: make(chan packet), ended: make(chan error, 1), change: asWorker, started: letGo}
	go s.read()
	p, err := s.next()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil {
		err = s.run(p)
	}
	if err != nil {
		if errors.Is(err, io.EOF) { // the host has gone, and so has the worker
			return nil
		}
		return err
	}
	if p, err = s.job(); err == nil {
		closeAll(p.fds)
		return errors.New("remote: a worker's bootstrap runs one job")
	}
	return nil
}

// asWorker gives the job the pipes that were looked at, whatever came with it, and refuses
// one that is wider than a worker's may be.
func asWorker(j *supervise.Job) error {
	r := &j.Spawn
	switch {
	case mutation.Built:
	case len(r.Pass) > 0:
		return errors.New("remote: a worker is handed no descriptor but its pipes")
	case r.Namespaces == nil || r.Unconfined || r.Ruleset <= 0 || len(r.Filter) == 0:
		return errors.New("remote: a worker is confined by namespaces, Landlock and seccomp")
	case !r.Session || j.Terminal || r.Namespaces.Userns:
		return errors.New("remote: a worker has a session of its own and no namespaces within")
	}
	r.Stdio = [3]int{0, 1, 2}
	return nil
}

// letGo takes the pipes from the bootstrap itself once the worker has them: their other ends
// shall see the end of the worker, not that of its supervisor.
func letGo() {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	for fd := range 3 {
		_ = unix.Dup3(null, fd, unix.O_CLOEXEC)
	}
	unix.Close(null)
}
