package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"brainbox/bridge"
	"brainbox/bridge/audit"
	"brainbox/bridge/envelope"
	"brainbox/bridge/lock"
	"brainbox/bridge/redact"
	"brainbox/bridge/tool/files"
	"brainbox/bridge/transcript"
	"brainbox/bridge/wire"
	"brainbox/dirchain"
	"brainbox/gate"
	"brainbox/gate/event"
	"brainbox/gate/grant"
	"brainbox/gate/prompt"
	"brainbox/gate/protect"
	"brainbox/internal/hostask"
	"brainbox/internal/state"
)

// service is the host's side of one run.
type service struct {
	c        *hostask.Config
	parent   *envelope.Bridge // nil: the host has no tools of its own
	redactor *redact.Redactor
	dirs     []*dirchain.Root
	roots    *files.Roots
	state    *state.Dir
	log      *audit.Log
	sink     *transcript.Sink
	hub      *event.Hub
	broker   *prompt.Broker
	server   *bridge.Server
	closers  []func() // of dispatchers and the like, last first
	cancel   context.CancelFunc
	running  sync.WaitGroup
}

// newService makes everything, and serves. On an error nothing is left of it.
func newService(c *hostask.Config) (s *service, warnings []string, err error) {
	s = &service{c: c}
	defer func() {
		if err != nil {
			s.end()
			s = nil
		}
	}()
	if err := s.readEnvelope(); err != nil {
		return s, nil, err
	}
	policy, warnings, err := s.policy()
	if err != nil {
		return s, warnings, err
	}
	if err := s.openRoots(); err != nil {
		return s, warnings, err
	}
	if err := s.openState(); err != nil {
		return s, warnings, err
	}
	g, err := s.gate(policy)
	if err != nil {
		return s, warnings, err
	}
	if err := s.newServer(g); err != nil {
		return s, warnings, err
	}
	return s, warnings, s.serve()
}

// readEnvelope reads the bridge again: brainbox has checked it, and is another process.
func (s *service) readEnvelope() (err error) {
	if s.c.Envelope != "" {
		if s.parent, err = envelope.DecodeBridge([]byte(s.c.Envelope)); err != nil {
			return err
		}
	}
	s.redactor = redact.New(redact.Options{Secrets: s.parent.Secrets(os.Getenv), SandboxRoots: s.rootPaths(), HostRoots: []string{s.c.State, s.c.Dir}})
	return nil
}

func (s *service) rootPaths() (list []string) {
	for _, r := range s.c.Roots {
		list = append(list, r.Path)
	}
	return list
}

// told are the roots that the program may name. Their paths are the same inside.
func (s *service) told() (list []wire.Root) {
	for _, r := range s.c.Roots {
		list = append(list, wire.Root{Name: r.Name, Path: r.Path})
	}
	return list
}

// policy compiles the gate's. The tools of the host are known to the rules by their names.
func (s *service) policy() (*gate.Compiled, []string, error) {
	r := s.c.Gate
	r.OtherTools = false // all of them are known here
	var declared []string
	if s.parent != nil {
		declared = s.parent.AllowedTools
	}
	p, problems := policyOf(&r, declared)
	var warnings []string
	for _, x := range problems {
		if !x.Warns {
			return nil, nil, &hinted{"[gate]: " + x.Text, "brainbox policy validate FILE says where"}
		}
		warnings = append(warnings, "[gate]: "+x.Text)
	}
	compiled, _, err := gate.Compile(p)
	return compiled, warnings, err
}

// openRoots takes the folders over that brainbox opened.
func (s *service) openRoots() error {
	var list []files.Root
	for _, r := range s.c.Roots {
		for _, p := range slices.Concat(s.c.Keep, s.c.Hide) {
			if below(r.Path, p) {
				return &hinted{fmt.Sprintf("root %s lies in %q, which is kept from the program", r.Name, p), "name another folder in [bridge] roots"}
			}
		}
		f := passed(r.FD, r.Path)
		keep, hide := beneath(r.Path, s.c.Keep), beneath(r.Path, s.c.Hide)
		dir, err := dirchain.NewRoot(f, dirchain.Options{Protect: slices.Concat(keep, hide)})
		err = errors.Join(err, f.Close())
		if err != nil {
			return fmt.Errorf("root %s: %w", r.Name, err)
		}
		s.dirs = append(s.dirs, dir)
		list = append(list, files.Root{
			Name: r.Name, Dir: dir, At: r.Path, Deny: slices.Concat(files.RepositoryDeny, keep), Allow: files.RepositoryAllow, Hide: hide,
		})
	}
	var err error
	s.roots, err = files.NewRoots(list...)
	return err
}

// openState opens the record. Without it nothing is decided: what is done is written down.
func (s *service) openState() (err error) {
	if s.c.State == "" {
		return &hinted{"there is no folder for the record of what is decided", "set XDG_STATE_HOME, or HOME"}
	}
	if s.state, err = state.Open(s.c.State); err != nil {
		return err
	}
	s.log, err = audit.Open(audit.Options{
		Dir: s.state, Session: s.c.Session, SyncEvery: time.Second,
		Redact: func(text string) string { return s.redactor.Text(text, redact.Output) },
	})
	if err != nil {
		return err
	}
	return s.openTranscripts()
}

func (s *service) gate(p *gate.Compiled) (*gate.Gate, error) {
	mask := func(text string) string { return s.redactor.Text(text, redact.Output) }
	s.hub = event.New(event.Options{Session: s.c.Session, Redact: mask})
	var err error
	if s.broker, err = prompt.New(prompt.Options{Hub: s.hub}); err != nil {
		return nil, err
	}
	judge, mounted, err := protect.Compile(protect.Seat{}, protect.Options{Env: s.roots, DataRoot: s.c.State})
	if err != nil || !mounted {
		return nil, errors.Join(err, errors.New("write protection has no table"))
	}
	begun := time.Now()
	return gate.New(gate.Config{
		Policy: p, Hub: s.hub, Session: s.c.Session, Judge: judge, Broker: s.broker, Resolver: s.roots.Places(),
		Book: grant.NewBook(func() time.Duration { return time.Since(begun) }),
	})
}

func (s *service) newServer(g *gate.Gate) error {
	s.roots.SetRules(g, "") // calls are made as nobody in particular
	parent, err := s.dispatcher()
	if err != nil {
		return err
	}
	tools, err := s.tools()
	if err != nil {
		return err
	}
	key, err := s.state.MakeKey()
	if err != nil {
		return err
	}
	locks, err := lock.New(lock.Config{YieldAfter: lock.DefaultYieldAfter})
	if err != nil {
		return err
	}
	level := slog.LevelError
	s.server, err = bridge.New(bridge.Config{
		Session: s.c.Session, Cwd: s.cwd(), Gate: g, Hub: s.hub, Broker: s.broker, Parent: parent, Tools: tools, Locks: locks,
		Roots:  s.told(),
		Redact: s.redact, Transcript: s, Recorder: s, Key: wire.Key(key), AgentUIDs: []uint32{s.c.UID}, RefuseUI: s.refuseUI,
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})),
	})
	return err
}

// cwd is where relative paths start: the caller's directory, if it lies in a root.
func (s *service) cwd() string {
	for _, r := range s.c.Roots {
		if below(s.c.Gate.Dir, r.Path) {
			return s.c.Gate.Dir
		}
	}
	return s.c.Roots[0].Path
}

// serve accepts from now on.
func (s *service) serve() error {
	agent, err := passedListener(s.c.Agent)
	if err != nil {
		return err
	}
	ui, err := passedListener(s.c.UI)
	if err != nil {
		return errors.Join(err, agent.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	run := func(f func()) {
		s.running.Add(1)
		go func() {
			defer s.running.Done()
			f()
		}()
	}
	run(func() { _ = s.server.ServeAgent(ctx, agent) })
	run(func() { _ = s.server.ServeUI(ctx, ui) })
	run(func() { s.follow(ctx) })
	if s.c.Conn >= 0 {
		conn, err := passedConn(s.c.Conn)
		if err != nil {
			return err
		}
		run(func() { _ = s.server.ServeConn(ctx, conn) })
	}
	s.terminal(ctx, run)
	s.hub.Ready()
	return nil
}

// end gives calls their time, then takes everything away, whatever there is of it.
func (s *service) end() {
	if s.server != nil {
		ctx, cancel := shutdown()
		_ = s.server.Shutdown(ctx)
		cancel()
	}
	if s.hub != nil {
		s.hub.Close() // before the record: it ends with what the hub still has
	}
	if s.cancel != nil {
		s.cancel()
		s.running.Wait()
	}
	for _, f := range slices.Backward(s.closers) {
		f()
	}
	if s.sink != nil {
		_ = s.sink.Close()
	}
	if s.log != nil {
		if err := s.log.Close(); err != nil {
			s.complain("the end of the record may not be on the disk: " + err.Error())
		}
	}
	if s.state != nil {
		s.state.Close()
	}
	if s.roots != nil {
		s.roots.Close()
	}
	for _, d := range s.dirs {
		_ = d.Close()
	}
	removeSockets(s.c.Dir)
}
