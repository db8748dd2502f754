package launcher

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"brainbox/internal/remote"
	"brainbox/internal/version"
)

// Host starts plans for a large program. The program itself never forks: each run lives
// in a small `brainbox spawn` process, which is kept for the next run. A Host is safe for
// concurrent use.
type Host struct {
	exe  *os.File
	mu   sync.Mutex
	idle []*remote.Spawner
	shut bool
}

// HostOptions names where the brainbox command is.
type HostOptions struct {
	Dir string // its folder; empty: /usr/local/bin, then /usr/bin
}

// NewHost finds the brainbox command. It must be root's or the caller's, and neither it
// nor its folder may be writable by others. No process is started yet.
func NewHost(o HostOptions) (*Host, error) {
	exe, err := openBrainbox(o.Dir)
	if err != nil {
		return nil, err
	}
	return &Host{exe: exe}, nil
}

// openBrainbox holds the brainbox command of a folder (O_PATH); empty: of the usual ones.
func openBrainbox(dir string) (*os.File, error) {
	dirs := []string{"/usr/local/bin", "/usr/bin"}
	if dir != "" {
		dirs = []string{dir}
	}
	for _, dir := range dirs {
		exe, err := openHelper(dir, "brainbox")
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return exe, err
	}
	return nil, &Refusal{
		Status: StatusRefused, Message: "there is no brainbox command in " + quotePath(dirs[0]),
		Hint: "install it, or name its folder in the field Dir",
	}
}

// Close ends all idle spawners. Runs that go on end when they are waited for.
func (h *Host) Close() error {
	h.mu.Lock()
	idle := h.idle
	h.idle, h.shut = nil, true
	h.mu.Unlock()
	err := h.exe.Close()
	for _, sp := range idle {
		err = errors.Join(err, sp.Close())
	}
	return err
}

// Warm starts n spawners ahead of the first runs.
func (h *Host) Warm(n int) error {
	for range n {
		sp, err := remote.Start(h.exe, version.String())
		if err != nil {
			return err
		}
		h.give(sp)
	}
	return nil
}

func (h *Host) take() (*remote.Spawner, error) {
	h.mu.Lock()
	if n := len(h.idle); n > 0 {
		sp := h.idle[n-1]
		h.idle = h.idle[:n-1]
		h.mu.Unlock()
		return sp, nil
	}
	h.mu.Unlock()
	return remote.Start(h.exe, version.String())
}

// give keeps a spawner for the next run, or ends it if the Host has been closed.
func (h *Host) give(sp *remote.Spawner) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.shut {
		go func() { _ = sp.Close() }()
		return
	}
	h.idle = append(h.idle, sp)
}

// Session is one run that a Host started.
type Session struct {
	PID   int      // of the program
	PidFD *os.File // of the program, until Wait has returned

	Plan *Plan // that was carried out; see [Result.Plan]

	host    *Host
	spawner *remote.Spawner
	run     *remote.Run
	session *session
}

// Start carries a plan out as [Plan.Run] does, in a spawner, and returns when the program
// runs. The facts are held until [Session.Wait] has returned. Options.Stdio are descriptors of
// the caller and must be given; the program gets a session of its own and never the caller's
// terminal.
func (h *Host) Start(p *Plan, f *Facts, o Options) (*Session, error) {
	if p.Refusal != nil {
		return nil, p.Refusal
	}
	if o.Observe != nil {
		return nil, &Refusal{
			Status: StatusRefused, Message: "the calls of a program are watched by the process that starts it, and a Host has another one do that",
			Hint: "Plan.Run, or brainbox run",
		}
	}
	if p.Network != nil {
		return nil, &Refusal{
			Status: StatusRefused, Clause: "hosts",
			Message: "hosts: hosts by name and published ports need the process that starts the program, and a Host has another one do that",
			Hint:    "Plan.Run, or brainbox run",
		}
	}
	s, err := h.start(p, f, o)
	if next := p.without(f, err); next != nil {
		return h.Start(next, f, o)
	}
	if err != nil {
		return nil, p.startError(err)
	}
	return s, nil
}

func (h *Host) start(p *Plan, f *Facts, o Options) (*Session, error) {
	in := &session{plan: p, facts: f}
	s := &Session{host: h, session: in, Plan: p}
	job, err := in.prepare(o)
	if err == nil {
		s.spawner, err = h.take()
	}
	if err != nil {
		in.close()
		return nil, err
	}
	s.run, err = s.spawner.Run(job)
	if err != nil {
		in.close()
		return nil, errors.Join(err, s.spawner.Close())
	}
	in.started()
	s.PID, s.PidFD = s.run.PID, s.run.PidFD
	return s, nil
}

// Signal sends a signal to the program. After Wait it is os.ErrProcessDone.
func (s *Session) Signal(sig syscall.Signal) error { return s.run.Signal(sig) }

// Wait returns when the program and its whole tree have ended, and removes what the run
// was given.
func (s *Session) Wait() (*Result, error) {
	res, err := s.run.Wait()
	if err != nil {
		s.session.close()
		return nil, errors.Join(err, s.spawner.Close())
	}
	s.host.give(s.spawner)
	out := s.session.ended(res)
	s.session.close()
	return out, nil
}
