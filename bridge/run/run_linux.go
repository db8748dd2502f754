package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Command is what is run. It inherits nothing: no variable, and no open file but a standard
// input that is empty.
type Command struct {
	Argv []string // the program is the first, an absolute path or looked up with the caller's PATH
	Dir  string   // where it starts; empty: where the caller is
	Env  []string // NAME=VALUE, all there are
}

// Bash is the argument list for a command of bash: without the files that a login or an
// interactive shell reads, which whoever may write HOME could have written (contract
// brainkit §8.2, F9), and with a mark that the text is no option.
func Bash(command string) []string {
	return []string{"bash", "--noprofile", "--norc", "-c", "--", command}
}

// Limits bound a run. Zero means the default.
type Limits struct {
	Keep int           // bytes of output that are kept, the last ones
	Most int64         // bytes of output beyond which the command is ended
	Time time.Duration // after which it is ended
	Hold time.Duration // how long streams are waited for that are open after its exit
	Kill time.Duration // between SIGTERM and SIGKILL
}

// The defaults.
const (
	DefaultKeep = 30_000 // contract brainkit §8.1
	DefaultMost = 16 << 20
	DefaultTime = 2 * time.Minute
	DefaultHold = 2 * time.Second
	DefaultKill = 500 * time.Millisecond
)

func (l Limits) filled() Limits {
	if l.Keep <= 0 {
		l.Keep = DefaultKeep
	}
	if l.Most <= 0 {
		l.Most = DefaultMost
	}
	for _, d := range []struct {
		at      *time.Duration
		instead time.Duration
	}{{&l.Time, DefaultTime}, {&l.Hold, DefaultHold}, {&l.Kill, DefaultKill}} {
		if *d.at <= 0 {
			*d.at = d.instead
		}
	}
	return l
}

// Cause is why a command was ended, if it was.
type Cause string

// The causes.
const (
	Exited    Cause = ""          // it ended itself
	Cancelled Cause = "cancelled" // its caller gave it up
	TimedOut  Cause = "timeout"
	TooMuch   Cause = "output" // it printed more than it may
)

// Result is what became of a command that was started.
type Result struct {
	Exit      int    // the exit code; -1 when a signal ended it
	Signal    string // that signal, as "SIGKILL"; empty: none
	Cause     Cause
	Output    []Chunk
	Dropped   int64 // bytes of output before those that are kept
	Truncated bool  // the output is not all that was or would have been printed
	// Held: a process had a stream open after the command had ended, and for too long.
	Held bool
}

// Run runs a command to its end. The error says that it was not started, or that ctx had
// ended by then: nothing has run.
func Run(ctx context.Context, c Command, l Limits) (*Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(c.Argv) == 0 {
		return nil, errors.New("run: no command")
	}
	l = l.filled()
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...) //nolint:noctx // the whole group is ended, not the child alone
	cmd.Dir, cmd.Env = c.Dir, c.Env
	if cmd.Env == nil {
		cmd.Env = []string{}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	p := &process{cmd: cmd, ring: NewRing(l.Keep), limits: l, over: make(chan struct{}), exited: make(chan struct{}), closed: make(chan struct{})}
	if err := p.start(); err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	return p.wait(ctx)
}

// process is one command that runs.
type process struct {
	cmd    *exec.Cmd
	ring   *Ring
	limits Limits
	pipes  [2]*os.File

	once   sync.Once
	over   chan struct{} // closed when too much was printed
	exited chan struct{} // closed when it has exited, and is not reaped yet
	closed chan struct{} // closed when both streams are at their end
}

func (p *process) start() error {
	var writers [2]*os.File
	defer func() {
		for _, w := range writers {
			if w != nil {
				_ = w.Close()
			}
		}
	}()
	for i := range p.pipes {
		var err error
		if p.pipes[i], writers[i], err = os.Pipe(); err != nil {
			p.close()
			return err
		}
	}
	p.cmd.Stdout, p.cmd.Stderr = writers[0], writers[1] // files: exec copies nothing itself
	if err := p.cmd.Start(); err != nil {
		p.close()
		return err
	}
	go p.watch()
	var both sync.WaitGroup
	both.Go(func() { p.read(Stdout, p.pipes[0]) })
	both.Go(func() { p.read(Stderr, p.pipes[1]) })
	go func() { both.Wait(); close(p.closed) }()
	return nil
}

// close ends reading.
func (p *process) close() {
	for _, r := range p.pipes {
		if r != nil {
			_ = r.Close()
		}
	}
}

// read keeps what comes, and says when it is too much.
func (p *process) read(s Stream, from io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && p.ring.Add(s, buf[:n]) > p.limits.Most {
			p.once.Do(func() { close(p.over) })
			return // the pipe fills, and the command is ended
		}
		if err != nil {
			return
		}
	}
}

// watch waits for the exit without reaping: until that is done nobody else can get the
// number of the process, nor that of its group (waitid(2), WNOWAIT).
func (p *process) watch() {
	defer close(p.exited)
	for {
		err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// wait sees the command to its end.
func (p *process) wait(ctx context.Context) (*Result, error) {
	defer p.close()
	res := &Result{}
	limit := time.NewTimer(p.limits.Time)
	defer limit.Stop()
	select {
	case <-p.exited:
	case <-ctx.Done():
		res.Cause = Cancelled
	case <-limit.C:
		res.Cause = TimedOut
	case <-p.over:
		res.Cause = TooMuch
	}
	if res.Cause != Exited {
		p.end()
	} else {
		p.hold(ctx, limit, res)
	}
	p.close()
	err := p.cmd.Wait()
	res.Exit = p.cmd.ProcessState.ExitCode()
	if st, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && st.Signaled() {
		res.Signal = unix.SignalName(st.Signal())
	}
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return nil, fmt.Errorf("run: %w", err)
	}
	res.Output, res.Dropped = p.ring.Chunks()
	res.Truncated = res.Dropped > 0 || res.Held || res.Cause != Exited
	return res, nil
}

// hold waits for who still has a stream open, and ends the group when it takes too long.
func (p *process) hold(ctx context.Context, limit *time.Timer, res *Result) {
	wait := time.NewTimer(p.limits.Hold)
	defer wait.Stop()
	select {
	case <-p.closed:
		select {
		case <-p.over: // the last that it printed was too much
			res.Cause = TooMuch
		default:
		}
		return
	case <-p.over:
		res.Cause = TooMuch
	case <-ctx.Done():
		res.Cause = Cancelled
	case <-limit.C:
		res.Held = true
	case <-wait.C:
		res.Held = true
	}
	p.end()
}

// end ends the session: it is asked, and then killed. The leader is not reaped yet, so the
// number is still the session's.
func (p *process) end() {
	p.signal(unix.SIGTERM)
	timer := time.NewTimer(p.limits.Kill)
	defer timer.Stop()
	select {
	case <-p.gone():
	case <-timer.C:
	}
	p.kill()
	<-p.exited
	timer.Reset(p.limits.Kill)
	select {
	case <-p.closed: // what was printed before the end is read
	case <-p.over:
	case <-timer.C: // somebody outside the group has it open
	}
}

// gone is closed when the command has exited and nobody has a stream open.
func (p *process) gone() <-chan struct{} {
	both := make(chan struct{})
	go func() {
		<-p.exited
		<-p.closed
		close(both)
	}()
	return both
}
