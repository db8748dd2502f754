package launcher

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ErrStillRunning is what Close answers while the leader runs.
var ErrStillRunning = errors.New("launcher: the process is still running")

// WrappedProcess is a program that an [ExecWrapper] started. It owns a pidfd and
// an unreaped child: while it is open, neither the process id nor the group id
// can pass to another process (contract brainkit X3). Its methods may be called
// from any goroutine.
type WrappedProcess struct {
	pid     int
	pidfd   *os.File
	conn    syscall.RawConn
	options KillOptions

	exited chan struct{} // closed once status and err are set
	status syscall.WaitStatus
	err    error

	mu        sync.Mutex
	closed    bool
	teardowns [killSignals]*Teardown
}

// newWrappedProcess takes over the child and the descriptor.
func newWrappedProcess(w *ExecWrapper, pid, pidfd int) (*WrappedProcess, error) {
	// Non-blocking, or os.NewFile would not give it to the poller and waiting
	// for an exit would cost a thread.
	err := os.NewSyscallError("fcntl", unix.SetNonblock(pidfd, true))
	file := os.NewFile(uintptr(pidfd), "pidfd")
	p := &WrappedProcess{
		pid: pid, pidfd: file, exited: make(chan struct{}),
		options: KillOptions{
			Wrapper: w.wrapper, Killer: w.killer,
			HelperLimit: w.helperLimit, Grace: w.grace, KillGrace: w.killGrace,
		},
	}
	if err == nil {
		p.conn, err = file.SyscallConn()
	}
	if err != nil {
		_ = unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0)
		_, _ = syscall.Wait4(pid, nil, 0, nil)
		_ = file.Close()
		return nil, err
	}
	go p.watch()
	return p, nil
}

// PID returns the process id of the leader, which with a wrapper is also the id
// of its process group and session.
func (p *WrappedProcess) PID() int { return p.pid }

// Exited is closed when the leader has ended. It stays unreaped until Close.
func (p *WrappedProcess) Exited() <-chan struct{} { return p.exited }

// Wait waits until the leader has ended and returns how. It reaps nothing and
// may be called any number of times. The error is the context's, or tells that
// somebody else reaped the child.
func (p *WrappedProcess) Wait(ctx context.Context) (syscall.WaitStatus, error) {
	select {
	case <-p.exited:
		return p.status, p.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// Kill is [KillWrapped] with what the process was started with.
func (p *WrappedProcess) Kill(sig KillSignal, onFailure func(error)) (*Teardown, error) {
	return KillWrapped(p, p.options, sig, onFailure)
}

// Close waits for teardowns that are under way and reaps the leader. After it no
// signal is ever sent to these numbers. While the leader runs it does nothing
// and answers ErrStillRunning. What is left of the group is then out of reach:
// call Kill first, even for a leader that ended by itself.
func (p *WrappedProcess) Close() error {
	for {
		p.mu.Lock()
		t := p.unfinished()
		if t == nil {
			break
		}
		p.mu.Unlock()
		<-t.done
	}
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	select {
	case <-p.exited:
	default:
		peek, err := killPeek(p.conn, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT)
		if err != nil || !peek.exited && !peek.gone {
			return ErrStillRunning
		}
		<-p.exited // a teardown may know before watch does
	}
	p.closed = true
	peek, err := killPeek(p.conn, unix.WEXITED|unix.WNOHANG)
	switch {
	case err != nil:
		err = fmt.Errorf("launcher: reap process %d: %w", p.pid, err)
	case peek.gone:
		err = fmt.Errorf("launcher: process %d was reaped by somebody else: %w", p.pid, fs.ErrNotExist)
	}
	return errors.Join(err, p.pidfd.Close())
}

// unfinished returns a teardown that is under way. The caller holds mu.
func (p *WrappedProcess) unfinished() *Teardown {
	for _, t := range p.teardowns {
		if t != nil && !t.finished() {
			return t
		}
	}
	return nil
}

// watch waits in the runtime's poller, not in a thread.
func (p *WrappedProcess) watch() {
	defer close(p.exited)
	err := p.conn.Read(func(fd uintptr) bool {
		peek, err := killWaitid(fd, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT)
		if err == nil && !peek.exited && !peek.gone {
			return false
		}
		p.status, p.err = peek.status, err
		if peek.gone {
			p.err = fmt.Errorf("launcher: process %d was reaped by somebody else: %w", p.pid, fs.ErrNotExist)
		}
		return true
	})
	if p.err == nil && err != nil {
		p.err = fmt.Errorf("launcher: wait for process %d: %w", p.pid, err)
	}
}

// signal reaches the leader and nothing else, whatever its number now names.
func (p *WrappedProcess) signal(sig unix.Signal) error {
	var sent error
	err := p.conn.Control(func(fd uintptr) { sent = unix.PidfdSendSignal(int(fd), sig, nil, 0) })
	return errors.Join(sent, err)
}

// held reports whether the leader is still there to be reaped by this process.
func (p *WrappedProcess) held() bool {
	peek, err := killPeek(p.conn, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT)
	return err == nil && !peek.gone
}

// abandonLimit bounds how long a refused start waits for its killed child.
const abandonLimit = 5 * time.Second

// abandon ends a child whose start is refused. Its group is not signalled: that
// its number is its group's is what could not be shown.
func (p *WrappedProcess) abandon() error {
	if err := p.signal(unix.SIGKILL); err != nil {
		return fmt.Errorf("process %d is still running: %w", p.pid, os.NewSyscallError("pidfd_send_signal", err))
	}
	limit := time.NewTimer(abandonLimit)
	defer limit.Stop()
	select {
	case <-p.exited:
		return p.Close()
	case <-limit.C:
		return fmt.Errorf("process %d is still running %v after SIGKILL", p.pid, abandonLimit)
	}
}

// peeked is what waitid(2) says about a child.
type peeked struct {
	exited bool
	gone   bool // not, or no longer, a child of this process
	status syscall.WaitStatus
}

func killPeek(conn syscall.RawConn, options int) (peeked, error) {
	var peek peeked
	var waitErr error
	err := conn.Control(func(fd uintptr) { peek, waitErr = killWaitid(fd, options) })
	return peek, errors.Join(waitErr, err)
}

// killSiginfo is the part of siginfo_t that waitid(2) fills; the union behind
// the first three numbers is aligned as a pointer.
type killSiginfo struct {
	signo, errno, code int32
	child              struct {
		_      [0]uintptr
		pid    int32
		uid    uint32
		status int32
		_      [100]byte
	}
}

// killWaitid asks about the child behind a pidfd (P_PIDFD, Linux 5.4).
func killWaitid(fd uintptr, options int) (peeked, error) {
	const cldExited, cldDumped = 1, 3 // CLD_EXITED, CLD_DUMPED (sigaction(2))
	for {
		var info killSiginfo
		err := unix.Waitid(unix.P_PIDFD, int(fd), (*unix.Siginfo)(unsafe.Pointer(&info)), options, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ECHILD):
			return peeked{gone: true}, nil
		case err != nil:
			return peeked{}, os.NewSyscallError("waitid", err)
		case info.child.pid == 0:
			return peeked{}, nil
		}
		status := syscall.WaitStatus(info.child.status)
		switch info.code {
		case cldExited:
			status <<= 8
		case cldDumped:
			status |= 0x80
		}
		return peeked{exited: true, status: status}, nil
	}
}
