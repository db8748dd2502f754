package supervise

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// forward passes the signals that ask brainbox to do something on to the program,
// until the returned function is called. It is called after the fork: os/signal costs
// more than the fork itself, and until then the default action ends brainbox and, by
// the death signal, the program. Nothing is passed on before started is closed.
func (r *run) forward(started <-chan struct{}) (stop func()) {
	wanted := []os.Signal{unix.SIGTERM, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2, unix.SIGINT, unix.SIGQUIT}
	if r.job.Terminal {
		// The terminal sends it to the program too, and this process stops when that one
		// has: a program may have much to do before, and may not stop at all.
		wanted = append(wanted, unix.SIGTSTP)
	} else {
		wanted = append(wanted, unix.SIGWINCH)
	}
	ch := make(chan os.Signal, 16)
	signal.Notify(ch, wanted...)
	done := make(chan struct{})
	go func() {
		select {
		case <-started:
		case <-done:
			return
		}
		for {
			select {
			case s := <-ch:
				r.pass(s)
			case s := <-r.job.Signals:
				r.signal(s)
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(ch)
		close(done)
	}
}

// pass sends s to the program. On a shared terminal in the foreground the program got
// ^C, ^\ and ^Z from the terminal itself; a second copy would look like a second key.
func (r *run) pass(s os.Signal) {
	sig, ok := s.(unix.Signal)
	key := sig == unix.SIGINT || sig == unix.SIGQUIT || sig == unix.SIGTSTP
	if !ok || r.job.Terminal && key && r.term.foreground() {
		return
	}
	r.signal(sig)
}
