package keeper

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"brainbox/internal/procfs"

	"golang.org/x/sys/unix"
)

// Program is one program to run. The zero value runs nothing.
type Program struct {
	// Keeper is the executable that calls Serve, opened with O_PATH.
	Keeper *os.File

	File *os.File // the program, opened with O_PATH; it is run by this descriptor
	Path string   // not empty: run by this name, if it still names File. A script needs it.
	Argv []string
	Env  []string // the whole environment
	Dir  *os.File // its working directory

	Stdin, Stdout, Stderr *os.File

	// Cgroup is the folder of a group of its own, or nil. The caller made it and removes it.
	Cgroup *os.File

	// Grace is how long after SIGTERM SIGKILL follows.
	Grace time.Duration
}

// Exit is how the program itself ended.
type Exit struct {
	Code   int            // -1 when a signal ended it
	Signal syscall.Signal // 0 when none did
}

// End is how its tree ended.
type End struct {
	// Killed: processes were left when the program had exited, and were killed.
	Killed bool
	// Survivors counts those that could not be ended.
	Survivors int
	// Lost: the keeper ended before its work was done. What was in the session of the program
	// was killed.
	Lost bool
}

// Kept is a program that runs. The caller owes it a Wait.
type Kept struct {
	keeper  *os.Process
	control *os.File
	cgroup  *os.File
	leader  int
	begun   uint64
	exited  chan struct{}
	exit    Exit // when exited is closed, unless lost
	ended   chan struct{}
	end     End // when ended is closed

	mu   sync.Mutex // guards last and over
	last *time.Timer
	over bool
}

// Start starts the program and returns once it runs, or cannot. An error of execve(2) answers
// to errors.Is; then, and at the deadline (os.ErrDeadlineExceeded), nothing is left behind.
func Start(p *Program, deadline time.Time) (*Kept, error) {
	if p.Keeper == nil || p.File == nil || p.Dir == nil || len(p.Argv) == 0 {
		return nil, fmt.Errorf("keeper: no program: %w", unix.EINVAL)
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "control")
	defer theirs.Close()
	if err := unix.SetNonblock(fds[0], true); err != nil { // for the deadlines of os.File
		unix.Close(fds[0])
		return nil, os.NewSyscallError("fcntl", err)
	}
	k := &Kept{
		control: os.NewFile(uintptr(fds[0]), "control"), cgroup: p.Cgroup,
		exited: make(chan struct{}), ended: make(chan struct{}),
	}
	group := p.Cgroup
	if group == nil {
		group = p.Dir
	}
	files := []*os.File{p.Stdin, p.Stdout, p.Stderr, theirs, p.File, p.Dir, group, p.Keeper}
	k.keeper, err = os.StartProcess(procPath(fdKeeper), []string{"brainbox-host", Verb}, &os.ProcAttr{
		Dir: "/", Env: []string{}, Files: files, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		k.control.Close()
		return nil, fmt.Errorf("keeper: %w", err)
	}
	theirs.Close()
	if err := k.handOver(p, deadline); err != nil {
		// It has started nothing, or ends what it started: the connection is gone.
		k.control.Close()
		k.reapKeeper()
		return nil, fmt.Errorf("keeper: %w", err)
	}
	go k.watch()
	return k, nil
}

// handOver says what to run and waits until it does.
func (k *Kept) handOver(p *Program, deadline time.Time) error {
	if err := k.control.SetDeadline(deadline); err != nil {
		return err
	}
	o := order{path: p.Path, argv: p.Argv, env: p.Env, grace: p.Grace, cgroup: p.Cgroup != nil}
	f := frame{}
	_, err := k.control.Write(o.encode())
	if err == nil {
		f, err = readFrame(k.control)
	}
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, unix.ECONNRESET), errors.Is(err, unix.EPIPE):
		return errors.New("the executable is no keeper")
	case err != nil:
		return err
	case f.kind == saidFailed:
		return os.NewSyscallError("execve", syscall.Errno(f.a))
	case f.kind != saidStarted:
		return errors.New("the executable is no keeper")
	}
	k.leader = int(f.a)
	if s, ok := procfs.ReadStat(k.leader); ok {
		k.begun = s.Begun
	}
	return k.control.SetDeadline(time.Time{})
}

// watch reads what the keeper says until the end.
func (k *Kept) watch() {
	done, told := false, false
	for !done {
		f, err := readFrame(k.control)
		switch {
		case err != nil:
			k.end.Lost, done = true, true
		case f.kind == saidExited && !told:
			told = true
			ws := syscall.WaitStatus(f.a)
			k.exit = Exit{Code: ws.ExitStatus()}
			if ws.Signaled() {
				k.exit.Signal = ws.Signal()
			}
			close(k.exited)
		case f.kind == saidEnded:
			k.end.Killed, k.end.Survivors, done = f.a == 1, int(f.b), true
		}
	}
	k.mu.Lock()
	k.over = true
	if k.last != nil {
		k.last.Stop()
	}
	k.mu.Unlock()
	k.control.Close()
	k.reapKeeper()
	if k.end.Lost {
		k.end.Survivors = k.endSession()
	}
	close(k.ended)
}

// reapKeeper waits for a keeper that has nothing left to do, and kills one that does not end.
func (k *Kept) reapKeeper() {
	timer := time.AfterFunc(patience+time.Second, func() { _ = k.keeper.Kill() })
	defer timer.Stop()
	_, _ = k.keeper.Wait()
}

// Exited is closed when the program itself has ended; [Kept.Exit] says how. It stays open when
// the keeper was lost.
func (k *Kept) Exited() <-chan struct{} { return k.exited }

// Exit says how the program ended. ok is false as long as it has not.
func (k *Kept) Exit() (exit Exit, ok bool) {
	select {
	case <-k.exited:
		return k.exit, true
	default:
		return Exit{}, false
	}
}

// Ended is closed when nothing is left, or what is left cannot be ended.
func (k *Kept) Ended() <-chan struct{} { return k.ended }

// Stop sends SIGTERM to everything that runs, and SIGKILL after the grace.
func (k *Kept) Stop(grace time.Duration) { k.order(orderStop, grace+2*patience) }

// Kill sends SIGKILL to everything that runs.
func (k *Kept) Kill() { k.order(orderKill, 2*patience) }

// order tells the keeper, and kills it if it has not ended after the limit: it may have been
// stopped by a signal of the program's.
func (k *Kept) order(b byte, limit time.Duration) {
	_, _ = k.control.Write([]byte{b}) // one that is gone is noticed by watch
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.over {
		return
	}
	if k.last != nil {
		k.last.Stop()
	}
	k.last = time.AfterFunc(limit, func() { _ = k.keeper.Kill() })
}

// Wait returns when nothing is left.
func (k *Kept) Wait() End {
	<-k.ended
	return k.end
}

// endSession kills what is in the session of the program, and returns how many it could not.
// The number of a session is not given away as long as a process is in it, and none of another
// one is older than the program. Who has the number since then has it from an empty session.
func (k *Kept) endSession() int {
	if k.cgroup != nil {
		killCgroup(int(k.cgroup.Fd()))
	}
	deadline := time.Now().Add(patience)
	for {
		left := 0
		if k.reused() {
			return 0
		}
		for _, pid := range procfs.Others() {
			if !k.inSession(pid) {
				continue
			}
			left++
			if fd, err := unix.PidfdOpen(pid, 0); err == nil {
				if k.inSession(pid) {
					_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
				}
				unix.Close(fd)
			}
		}
		if left == 0 || time.Now().After(deadline) {
			return left
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// reused: the number of the program is that of another process. A program that exited long
// before its keeper was lost has left it to anybody.
func (k *Kept) reused() bool {
	s, ok := procfs.ReadStat(k.leader)
	return ok && s.Begun != k.begun
}

func (k *Kept) inSession(pid int) bool {
	s, ok := procfs.ReadStat(pid)
	return ok && s.Session == k.leader && s.Begun >= k.begun && s.State != 'Z' && s.State != 'X'
}
