package tty

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"brainbox/gate/prompt"
)

// ErrNoAnswer says that what was typed was no answer three times, or that the terminal is
// gone. Nobody has denied.
var ErrNoAnswer = errors.New("tty: no answer")

// tries is how often something else than an answer may be typed.
const tries = 3

// Program is what shares the terminal with the prompt.
type Program interface {
	// Hold stops every process of the program, and what copies its output to the terminal,
	// and returns when that is so. release lets them go on; it is called once. A program in
	// full-screen mode should be told to draw again (SIGWINCH).
	Hold(ctx context.Context) (release func(), err error)

	// Owns reports whether a process group is the program's: the prompt may take the
	// terminal's foreground from it, and gives it back.
	Owns(group int) bool
}

// Options configures a [TTY].
type Options struct {
	Path    string  // of the terminal; empty: /dev/tty. It must be the controlling one
	Program Program // nil: no sandboxed process can open this terminal
	Dumb    bool    // the terminal knows no escape sequences (TERM=dumb): none are written
}

// TTY asks on a terminal. It holds nothing open between prompts, and shows one at a time.
type TTY struct {
	o  Options
	mu sync.Mutex
}

// New returns a user interface for [prompt.Broker.Serve]. Nothing is opened yet.
func New(o Options) *TTY {
	if o.Path == "" {
		o.Path = "/dev/tty"
	}
	return &TTY{o: o}
}

// Prompt shows v and waits for the answer, until ctx ends. An error says that nobody could
// be asked: no terminal, a program that cannot be held, or [ErrNoAnswer].
// It uses the calling thread, with SIGTTIN and SIGTTOU blocked on it.
func (t *TTY) Prompt(ctx context.Context, v prompt.View) (prompt.Answer, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	// Blocked, they are an error instead of a stop of the whole job (termios(3)).
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer unblock(block(unix.SIGTTIN, unix.SIGTTOU))

	fd, err := unix.Open(t.o.Path, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return prompt.Answer{}, fmt.Errorf("tty: %w", &os.PathError{Op: "open", Path: t.o.Path, Err: err})
	}
	defer func() { _ = unix.Close(fd) }()
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, unix.SIGCONT)
	defer signal.Stop(continued)

	s := &screen{fd: fd, o: t.o, continued: continued, left: tries}
	for {
		ans, err := s.turn(ctx, v)
		if !errors.Is(err, errAgain) {
			return ans, err
		}
	}
}

// errAgain says that the prompt has to be shown anew: the job was stopped or lost the
// terminal, or the person asked for more.
var errAgain = errors.New("tty: again")

// turn shows the prompt once. All that it changes it puts back, in the reverse order.
func (s *screen) turn(ctx context.Context, v prompt.View) (prompt.Answer, error) {
	if err := s.waitForeground(ctx); err != nil {
		return prompt.Answer{}, err
	}
	select { // what was before this turn does not matter to it
	case <-s.continued:
	default:
	}
	if s.o.Program != nil {
		release, err := s.o.Program.Hold(ctx)
		if err != nil {
			return prompt.Answer{}, fmt.Errorf("tty: the program cannot be held, so that nothing is asked on its terminal: %w", err)
		}
		defer release()
	}
	back, err := s.take()
	if err != nil {
		return prompt.Answer{}, err
	}
	defer back()
	word := ""
	if s.whole || !v.Folded() {
		word = newWord()
	}
	if err := s.draw(ctx, v, word); err != nil {
		return prompt.Answer{}, err
	}
	line, err := s.line(ctx)
	if err != nil {
		if ctx.Err() != nil { // nothing typed later is an answer to this
			_, _ = unix.Write(s.fd, []byte("\n  ask| no longer asked\n"))
		}
		return prompt.Answer{}, err
	}
	ans, what := parse(line, word, v.Grant != "")
	switch what {
	case answered:
		return ans, nil
	case more:
		s.whole = true
		return prompt.Answer{}, errAgain
	case unclear:
	}
	if s.left--; s.left == 0 {
		return prompt.Answer{}, ErrNoAnswer
	}
	return prompt.Answer{}, errAgain
}

// block blocks signals on the calling thread, and returns what was blocked before.
func block(all ...unix.Signal) *unix.Sigset_t {
	var set, old unix.Sigset_t
	for _, n := range all {
		set.Val[(n-1)/64] |= 1 << ((n - 1) % 64)
	}
	_ = unix.PthreadSigmask(unix.SIG_BLOCK, &set, &old)
	return &old
}

func unblock(old *unix.Sigset_t) { _ = unix.PthreadSigmask(unix.SIG_SETMASK, old, nil) }
