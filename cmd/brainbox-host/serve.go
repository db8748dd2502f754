package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"brainbox/internal/hostask"
)

const (
	// configWait bounds the wait for the config: brainbox sends it at once.
	configWait = 15 * time.Second

	// What is live is little, so it is collected seldom; what programs send at once is not,
	// and from this many bytes on it is collected often (contract bridge-and-gate, E.7).
	collectAt, memoryLimit = 400, 64 << 20
)

// runVerb is one way to serve a run.
type runVerb struct {
	name   string
	within time.Duration // when the process ends, whatever still runs

	// begin reads the config and makes everything.
	begin func(control io.Reader) (runService, []string, error)
}

// runService serves one run.
type runService interface {
	// serve is called when brainbox knows that it will be served.
	serve(control *net.UnixConn) error
	// end takes everything away, whatever there is of it.
	end()
}

// runVerbs are started by brainbox run.
var runVerbs = [...]runVerb{
	{"bridge", grace + time.Second, beginBridge},
	{"proxy", networkEnd, beginNetwork},
}

// runVerbOf finds the one that brainbox run asks for.
func runVerbOf(args []string) *runVerb {
	if len(args) != 2 || args[1] != fmt.Sprintf("--protocol=%d", hostask.Protocol) {
		return nil
	}
	for i := range runVerbs {
		if runVerbs[i].name == args[0] {
			return &runVerbs[i]
		}
	}
	return nil
}

// run serves one run until the control socket ends. It returns the exit status.
func (v *runVerb) run(stderr io.Writer) int {
	// ^C, ^Z and a terminal that goes away are the program's and brainbox's affair.
	signal.Ignore(syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGTTOU, syscall.SIGTTIN, syscall.SIGHUP, syscall.SIGPIPE)
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	// It was started by descriptor, and would be a number to ps(1). Only for people: no failure counts.
	_ = os.WriteFile("/proc/self/comm", []byte("brainbox-host"), 0)
	if err := privileges(); err != nil { // first of all: it may start anew
		_, _ = fmt.Fprintf(stderr, "brainbox: host: %v\n", err)
		return statusFailed
	}
	conn, err := passedConn(hostask.Control)
	control, ok := conn.(*net.UnixConn)
	if err != nil || !ok {
		_, _ = fmt.Fprintf(stderr, "brainbox: host: %s is started by brainbox run, with a socket as descriptor %d\n", v.name, hostask.Control)
		return statusFailed
	}
	debug.SetGCPercent(collectAt)
	debug.SetMemoryLimit(memoryLimit)
	_ = control.SetReadDeadline(time.Now().Add(configWait))
	s, warnings, err := v.begin(control)
	if sent := sendReply(control, warnings, err); err == nil {
		err = sent
	}
	if err == nil {
		err = s.serve(control)
	}
	if err != nil {
		if s != nil {
			s.end()
		}
		return statusFailed
	}
	_ = control.SetReadDeadline(time.Time{})
	over := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, control) // nothing more is said: the end is
		close(over)
	}()
	select {
	case <-over:
	case <-term:
	}
	time.AfterFunc(v.within, func() { os.Exit(0) }) // a dispatcher or a disk may hang
	s.end()
	return 0
}

// sendReply says that the run will be served, or why not.
func sendReply(control io.Writer, warnings []string, err error) error {
	reply := hostask.Reply{Warnings: warnings}
	if err != nil {
		reply.Error = err.Error()
		var h *hinted
		if errors.As(err, &h) {
			reply.Error, reply.Hint = h.text, h.hint
		}
	}
	_, sent := control.Write(reply.Encode())
	return sent
}

// hinted is an error with what would help.
type hinted struct{ text, hint string }

func (h *hinted) Error() string { return h.text }
