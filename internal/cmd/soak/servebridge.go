package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/bridge"
	"brainbox/bridge/tool/files"
	"brainbox/bridge/wire"
	"brainbox/dirchain"
	"brainbox/gate"
	"brainbox/gate/event"
	"brainbox/gate/prompt"
	"brainbox/gate/protect"
	"brainbox/gate/rule"
	"brainbox/launcher"
)

const rootName = "repo"

// bridgeOf is the host's end of one session, and the person who is asked.
type bridgeOf struct {
	dir, how string
	ending   []func() // in reverse
}

// Prompt answers in the step's way.
func (b *bridgeOf) Prompt(ctx context.Context, v prompt.View) (prompt.Answer, error) {
	a := prompt.Answer{ID: v.ID, Digest: v.Digest, Decision: prompt.Deny}
	switch b.how {
	case "allow":
		a.Decision = prompt.Approve
	case "wait":
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Second):
		}
	case "hangup":
		return a, errors.New("gone")
	}
	return a, ctx.Err()
}

func (b *bridgeOf) serve(s launcher.BridgeSession) (stop func(), err error) {
	server, err := b.open(s.ID)
	if err == nil {
		err = b.listen(server, s)
	}
	if err != nil {
		b.close()
		return nil, err
	}
	return b.close, nil
}

// open joins gate, tools and server.
func (b *bridgeOf) open(id string) (*bridge.Server, error) {
	dir, err := dirchain.OpenRoot(b.dir, dirchain.Options{SkipSync: true})
	if err != nil {
		return nil, err
	}
	b.atEnd(func() { _ = dir.Close() })
	roots, err := files.NewRoots(files.Root{Name: rootName, Dir: dir, Deny: files.RepositoryDeny, Allow: files.RepositoryAllow})
	if err != nil {
		return nil, err
	}
	b.atEnd(roots.Close)
	hub := event.New(event.Options{Session: id})
	b.atEnd(hub.Close)
	broker, err := prompt.New(prompt.Options{Hub: hub})
	if err != nil {
		return nil, err
	}
	there, err := broker.Attach("soak")
	if err != nil {
		return nil, err
	}
	b.until(func(ctx context.Context) { _ = there.Serve(ctx, b) })
	list, err := rule.ParseJSON([]byte(gateRules))
	if err != nil {
		return nil, err
	}
	compiled, _, err := gate.Compile(gate.Policy{
		Rules: rule.Config{Scopes: []rule.Scope{{Kind: rule.Global, Trusted: true, Rules: list}}, Roots: []string{b.dir}}, AnyTool: true,
	})
	if err != nil {
		return nil, err
	}
	judge, _, err := protect.Compile(protect.Seat{}, protect.Options{Env: roots})
	if err != nil {
		return nil, err
	}
	g, err := gate.New(gate.Config{Policy: compiled, Judge: judge, Resolver: roots.Places(), Hub: hub, Broker: broker, Session: id})
	if err != nil {
		return nil, err
	}
	roots.SetRules(g, "soak")
	server, err := bridge.New(bridge.Config{
		Session: id, Agent: "soak", Cwd: b.dir, Gate: g, Hub: hub, Broker: broker, Tools: files.Tools(roots),
		Roots: []wire.Root{{Name: rootName, Path: b.dir}}, Redact: bridge.Unredacted,
	})
	if err == nil {
		b.atEnd(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if err := server.Shutdown(ctx); err != nil {
				fmt.Fprintln(os.Stderr, "panic: the bridge did not end:", err)
			}
		})
	}
	return server, err
}

// listen serves the agent's socket, or the connection that it inherits.
func (b *bridgeOf) listen(server *bridge.Server, s launcher.BridgeSession) error {
	fd := s.Agent
	if s.Conn >= 0 {
		fd = s.Conn
	}
	n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	f := os.NewFile(uintptr(n), "bridge")
	defer f.Close()
	if s.Conn >= 0 {
		conn, err := net.FileConn(f)
		if err == nil {
			b.until(func(ctx context.Context) { _ = server.ServeConn(ctx, conn) })
		}
		return err
	}
	l, err := net.FileListener(f)
	if err == nil {
		b.until(func(ctx context.Context) { _ = server.ServeAgent(ctx, l) })
	}
	return err
}

// until runs f until the session ends.
func (b *bridgeOf) until(f func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(ctx)
	}()
	b.atEnd(func() {
		cancel()
		<-done
	})
}

func (b *bridgeOf) atEnd(f func()) { b.ending = append(b.ending, f) }

func (b *bridgeOf) close() {
	for _, end := range slices.Backward(b.ending) {
		end()
	}
}
