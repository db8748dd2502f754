package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"brainbox/gate/prompt"
	"brainbox/gate/tty"
	"brainbox/internal/hold"
)

// terminal asks the operator on the run's terminal, if he wants to be asked there. The
// program shares it, and brainbox holds the program meanwhile.
func (s *service) terminal(ctx context.Context, run func(func())) {
	if s.c.Terminal < 0 {
		return
	}
	client := hold.NewClient(passed(s.c.Terminal, "hold"), nil)
	s.closers = append(s.closers, client.Close)
	ui := tty.New(tty.Options{Program: client, Dumb: os.Getenv("TERM") == "dumb"})
	run(func() {
		if err := s.broker.Serve(ctx, "terminal", ui); ctx.Err() == nil && !errors.Is(err, prompt.ErrClosed) {
			s.complain(fmt.Sprintf("nobody is asked on this terminal any more: %v", err))
		}
	})
}
