package supervise

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/sighold"
)

// forwarded are the signals that ask brainbox to do something.
func (r *run) forwarded() []unix.Signal {
	wanted := []unix.Signal{unix.SIGTERM, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2, unix.SIGINT, unix.SIGQUIT}
	if r.job.Terminal {
		// The terminal sends it to the program too, and this process stops when that one
		// has: a program may have much to do before, and may not stop at all.
		return append(wanted, unix.SIGTSTP)
	}
	return append(wanted, unix.SIGWINCH)
}

// forward passes the signals on to the program, the host's too, until the returned
// function is called.
func (r *run) forward(held *sighold.Held) (stop func()) {
	held.Pass(r.pass)
	done := make(chan struct{})
	if r.job.Signals != nil {
		go r.forwardHost(done)
	}
	return func() {
		if r.job.Linger > 0 {
			linger(held, r.job.Linger)
		} else {
			held.Release()
		}
		close(done)
	}
}

// linger takes the signals on, for good. The first that asks for the end is given to this
// process after the time.
func linger(held *sighold.Held, wait time.Duration) {
	var once sync.Once
	held.Pass(func(sig unix.Signal) {
		if sig == unix.SIGWINCH || sig == unix.SIGTSTP {
			return
		}
		once.Do(func() {
			time.AfterFunc(wait, func() {
				held.Release()
				_ = unix.Kill(unix.Getpid(), sig)
			})
		})
	})
}

func (r *run) forwardHost(done <-chan struct{}) {
	for {
		select {
		case s := <-r.job.Signals:
			r.signal(s)
		case <-done:
			return
		}
	}
}

// pass sends sig to the program. On a shared terminal in the foreground the program got
// ^C, ^\ and ^Z from the terminal itself; a second copy would look like a second key.
func (r *run) pass(sig unix.Signal) {
	key := sig == unix.SIGINT || sig == unix.SIGQUIT || sig == unix.SIGTSTP
	typed := r.job.Terminal && key && r.term.foreground()
	if !typed {
		r.signal(sig)
	}
	if !r.hold.isActive() {
		return
	}
	switch {
	case typed && sig == unix.SIGTSTP: // the program is stopped already, so that there is nothing to follow
		_ = unix.Tgkill(unix.Getpid(), unix.Gettid(), unix.SIGSTOP)
	case sig == unix.SIGINT || sig == unix.SIGQUIT || sig == unix.SIGTERM || sig == unix.SIGHUP:
		r.hold.lose(holdGrace) // what is held cannot act on it
	}
}
