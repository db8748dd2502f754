package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// host is the driver's end of a long-lived program that uses the library (serve.go).
type host struct {
	w      *world
	user   bool
	cmd    *exec.Cmd
	in     io.WriteCloser
	said   *clipped
	mu     sync.Mutex
	wait   map[int]chan answer
	ended  bool
	orders sync.Mutex
}

// startHost starts it as a user.
func (w *world) startHost(user bool, idle int) (*host, error) {
	h := &host{w: w, user: user, wait: map[int]chan answer{}, said: &clipped{}}
	dir := w.side(user).dir + "/cwd" // the default policy grants it
	h.cmd = w.command(step{User: user}, dir, w.base+"/bin/soak", "-serve", w.base+"/bin", "-at-once", fmt.Sprint(idle))
	h.cmd.Stderr = h.said
	var err error
	if h.in, err = h.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := h.cmd.Start(); err != nil {
		return nil, err
	}
	go h.read(out)
	return h, nil
}

func (h *host) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var a answer
		if json.Unmarshal(lines.Bytes(), &a) != nil {
			continue
		}
		h.mu.Lock()
		if c := h.wait[a.N]; c != nil {
			c <- a
			delete(h.wait, a.N)
		}
		h.mu.Unlock()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
	for _, c := range h.wait {
		close(c)
	}
	h.wait = map[int]chan answer{}
}

var errHostGone = errors.New("the long-lived host has ended")

// ask gives an order and waits for its answer; it may take as long as a step.
func (h *host) ask(o order) (answer, error) {
	n := o.Step.N
	if o.Measure {
		n = -1
	}
	c := make(chan answer, 1)
	h.mu.Lock()
	if h.ended {
		h.mu.Unlock()
		return answer{}, errHostGone
	}
	h.wait[n] = c
	h.mu.Unlock()
	h.orders.Lock()
	err := json.NewEncoder(h.in).Encode(o)
	h.orders.Unlock()
	if err != nil {
		return answer{}, err
	}
	select {
	case a, ok := <-c:
		if !ok {
			return a, errHostGone
		}
		return a, nil
	case <-time.After(hangs):
		return answer{}, os.ErrDeadlineExceeded
	}
}

// step has the host make a step.
func (h *host) step(s step, dir string) outcome {
	a, err := h.ask(order{Step: s, Dir: dir, Argv: h.w.inside(s), Socket: h.w.web.socket})
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return outcome{Hung: true, Said: describe(h.cmd.Process.Pid)}
	case err != nil:
		return outcome{Status: 1, Said: "panic: " + err.Error() + "\n" + h.said.String()}
	}
	return a.Outcome
}

// close ends the host, and says what it said besides.
func (h *host) close() error {
	_ = h.in.Close()
	timer := time.AfterFunc(time.Minute, func() { _ = h.cmd.Process.Kill() })
	defer timer.Stop()
	if err := h.cmd.Wait(); err != nil || h.said.String() != "" {
		return fmt.Errorf("the long-lived host: %w\n%s", err, h.said)
	}
	return nil
}
