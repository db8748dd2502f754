package main

import (
	"context"
	"io"
	"net"
	"os"
	"time"

	"brainbox/internal/hostask"
)

// grace is what calls get when the run is over (contract bridge-and-gate, section E.8).
const grace = 2 * time.Second

// beginBridge reads the config and serves.
func beginBridge(control io.Reader) (runService, []string, error) {
	line, err := hostask.ReadLine(control)
	if err != nil {
		return nil, nil, err
	}
	c, err := hostask.DecodeConfig(line)
	if err != nil {
		return nil, nil, err
	}
	s, warnings, err := newService(&c)
	if err != nil {
		return nil, warnings, err
	}
	return &bridgeService{s}, warnings, nil
}

// bridgeService serves from its beginning on.
type bridgeService struct{ *service }

func (*bridgeService) serve(*net.UnixConn) error { return nil }

// removeSockets takes the session's folder away, which brainbox does too when it can.
func removeSockets(dir string) {
	for _, name := range [...]string{"agent.sock", "ui.sock"} {
		_ = os.Remove(dir + "/" + name)
	}
	_ = os.Remove(dir)
}

// shutdown bounds the end of a session.
func shutdown() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), grace+500*time.Millisecond)
}
