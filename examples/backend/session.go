package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/bridge"
	"brainbox/bridge/ask"
	"brainbox/bridge/tool/files"
	"brainbox/bridge/wire"
	"brainbox/dirchain"
	"brainbox/gate"
	"brainbox/gate/event"
	"brainbox/gate/prompt"
	"brainbox/gate/protect"
	"brainbox/launcher"
)

// session is the host's end of one agent.
type session struct {
	server *bridge.Server
	ending []func() // in reverse
}

const (
	agentName = "agent"   // for rules that are about one agent
	rootName  = "project" // what calls name the project; also the one of calls that name none
)

// serve makes a session and serves the agent until stop is called.
func serve(b launcher.BridgeSession, project string, record bridge.Recorder) (stop func(), err error) {
	s := &session{}
	if err = s.open(b.ID, project, record); err == nil {
		err = s.listen(b)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s.close, nil
}

// open joins the parts: directory, gate, tools, bridge. Nothing is served yet.
func (s *session) open(id, project string, record bridge.Recorder) error {
	// The project is held, not named: whatever is renamed meanwhile, this is it.
	dir, err := dirchain.OpenRoot(project, dirchain.Options{})
	if err != nil {
		return err
	}
	s.atEnd(func() { _ = dir.Close() })
	roots, err := files.NewRoots(files.Root{Name: rootName, Dir: dir, Deny: files.RepositoryDeny, Allow: files.RepositoryAllow})
	if err != nil {
		return err
	}
	s.atEnd(roots.Close)

	hub := event.New(event.Options{Session: id})
	s.atEnd(hub.Close)
	broker, err := prompt.New(prompt.Options{Hub: hub})
	if err != nil {
		return err
	}
	there, err := broker.Attach("the example") // before the first call
	if err != nil {
		return err
	}
	s.until(func(ctx context.Context) { _ = there.Serve(ctx, person{}) })
	g, err := newGate(id, project, roots, hub, broker)
	if err != nil {
		return err
	}
	roots.SetRules(g, agentName) // for what lies in a folder that a call is about

	questions, err := ask.New(ask.Config{Host: person{}})
	if err != nil {
		return err
	}
	s.server, err = bridge.New(bridge.Config{
		Session: id, Agent: agentName, Cwd: project,
		Gate: g, Hub: hub, Broker: broker,
		Tools: append(files.Tools(roots), questions.Tools()...), Roots: []wire.Root{{Name: rootName, Path: project}},
		Redact:   bridge.Unredacted, // this host has no secret
		Recorder: record,
	})
	return err
}

// newGate makes what decides: the rules, the places that nobody writes, and the people who
// are asked about the rest.
func newGate(id, project string, roots *files.Roots, hub *event.Hub, broker *prompt.Broker) (*gate.Gate, error) {
	compiled, err := gatePolicy(project)
	if err != nil {
		return nil, err
	}
	judge, _, err := protect.Compile(protect.Seat{}, protect.Options{Env: roots})
	if err != nil {
		return nil, err
	}
	return gate.New(gate.Config{
		Policy: compiled, Judge: judge, Resolver: roots.Places(),
		Hub: hub, Broker: broker, Session: id,
	})
}

// listen serves the agent's socket; where none can be shown to it, the one connection that
// it inherits.
func (s *session) listen(b launcher.BridgeSession) error {
	if b.Conn >= 0 {
		f, err := own(b.Conn)
		if err != nil {
			return err
		}
		defer f.Close()
		conn, err := net.FileConn(f)
		if err != nil {
			return err
		}
		s.until(func(ctx context.Context) { _ = s.server.ServeConn(ctx, conn) })
		return nil
	}
	f, err := own(b.Agent)
	if err != nil {
		return err
	}
	defer f.Close()
	socket, err := net.FileListener(f)
	if err != nil {
		return err
	}
	s.until(func(ctx context.Context) { _ = s.server.ServeAgent(ctx, socket) })
	return nil
}

// own duplicates a descriptor of the launcher's.
func own(fd int) (*os.File, error) {
	n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(n), "bridge"), nil
}

// until runs f until the session ends.
func (s *session) until(f func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(ctx)
	}()
	s.atEnd(func() {
		cancel()
		<-done
	})
}

func (s *session) atEnd(f func()) { s.ending = append(s.ending, f) }

// close ends the session: calls that still run get a moment, and what is asked is denied.
func (s *session) close() {
	if s.server != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.server.Shutdown(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "backend: the session did not end:", err)
		}
	}
	for _, end := range slices.Backward(s.ending) {
		end()
	}
}
