package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"brainbox/bridge"
	"brainbox/bridge/ask"
	"brainbox/bridge/audit"
	"brainbox/bridge/dispatch"
	"brainbox/bridge/envelope"
	"brainbox/bridge/tool"
	"brainbox/bridge/tool/files"
	"brainbox/bridge/tool/shell"
	"brainbox/internal/strictjson"
)

// dispatcher is what carries out the host's own tools; nil: it has none.
func (s *service) dispatcher() (*bridge.Parent, error) {
	p := s.parent
	if p == nil {
		return nil, nil
	}
	out := &bridge.Parent{Tools: map[string]bridge.ParentTool{}, NotReady: p.FailureStatus}
	for _, name := range p.AllowedTools {
		out.Tools[name] = bridge.ParentTool{}
	}
	switch {
	case p.Endpoint != nil:
		out.Dispatcher = dispatch.NewEndpoint(dispatch.EndpointConfig{
			URLEnv: p.Endpoint.URLVariable, TokenEnv: p.Endpoint.TokenVariable, Timeout: p.Timeout,
		}, os.Getenv)
	case p.Command != nil:
		env := map[string]string{}
		for _, v := range p.Command.Env {
			env[v.Name] = v.Value
		}
		command, err := dispatch.NewCommand(dispatch.CommandConfig{
			Argv: p.Command.Argv, CwdEnv: p.Command.CwdVariable, Env: env, Transport: dispatch.Transport(p.Command.Transport),
			Timeout: p.Timeout, Keeper: "/proc/self/exe", Writable: s.c.Writes, Roots: s.rootPaths(),
		}, os.Getenv)
		if err != nil {
			return nil, &hinted{err.Error(), "the command of a bridge lies where the program cannot write"}
		}
		s.closers = append(s.closers, command.Close)
		out.Dispatcher = command
	}
	return out, nil
}

// tools are those that are carried out here.
func (s *service) tools() ([]tool.Tool, error) {
	list := files.Tools(s.roots)
	bash, err := shell.New(shell.Config{}) // the caller is inside, and runs what was allowed
	if err != nil {
		return nil, err
	}
	// No host asks questions but about leave: each of these tools says so.
	questions, err := ask.New(ask.Config{})
	if err != nil {
		return nil, err
	}
	return append(append(list, bash), questions.Tools()...), nil
}

// redact takes what is secret out of an answer.
func (s *service) redact(res *envelope.Result) (*envelope.Result, error) {
	return s.redactor.Result(res)
}

// Record writes the effect of a call down. It is that of [bridge.Recorder].
func (s *service) Record(c bridge.Call) error {
	code := ""
	if c.Result.Err != nil {
		code = c.Result.Err.Code
	}
	data := strictjson.Object(
		strictjson.Pair("method", strictjson.Text(c.Method)),
		strictjson.Pair("request_id", strictjson.Text(c.Decision.RequestID)),
		strictjson.Pair("client_request_id", strictjson.Text(c.Request.ID)),
		strictjson.Pair("tool", strictjson.Text(c.Request.Tool)),
		strictjson.Pair("operation", strictjson.Text(c.Request.Operation)),
		strictjson.Pair("input_sha256", strictjson.Text(digest(c.Input))),
		strictjson.Pair("status", strictjson.Text(string(c.Result.Status))),
		strictjson.Pair("error_code", strictjson.Text(code)),
		strictjson.Pair("cancelled", strictjson.Bool(c.Cancelled)),
		strictjson.Pair("pid", strictjson.Int(int64(c.Peer.PID))),
		strictjson.Pair("duration_ms", strictjson.Int(c.Took.Milliseconds())))
	err := s.log.Put(audit.Effect, data)
	if err != nil {
		s.complain("the record of what was done cannot be written, and nothing more is done: " + err.Error())
	}
	return err
}

// follow writes down what the gate decides and asks, until the hub is closed.
func (s *service) follow(ctx context.Context) {
	if err := s.log.Follow(ctx, s.hub, true); err != nil && !errors.Is(err, context.Canceled) {
		s.server.Halt()
		s.complain("the record of what was decided cannot be written, and nothing more is done: " + err.Error())
	}
}

// complain tells the operator, on brainbox's own standard error.
func (s *service) complain(text string) {
	_, _ = fmt.Fprintf(os.Stderr, "brainbox: host: %s\n", strictjson.Escape(text))
}

// refuseUI turns away who lives in the program's pid namespace: an operator does not
// (contract bridge-and-gate, section E.3.5). The proof is what keeps it out; this is told.
func (s *service) refuseUI(p bridge.Peer) error {
	var own, theirs unix.Stat_t
	if unix.Stat("/proc/self/ns/pid", &own) != nil {
		return nil
	}
	if err := unix.Stat(fmt.Sprintf("/proc/%d/ns/pid", p.PID), &theirs); err != nil {
		return nil // gone, or not ours to look at
	}
	if own.Ino != theirs.Ino {
		return errors.New("it lives in another pid namespace")
	}
	return nil
}

// beneath gives those of the paths that lie in a root, relative to it.
func beneath(root string, paths []string) (list []string) {
	for _, p := range paths {
		if rel := strings.TrimPrefix(p, strings.TrimSuffix(root, "/")+"/"); rel != p && path.Clean(rel) == rel {
			list = append(list, rel)
		}
	}
	return list
}

// below reports whether a clean path is dir, or lies in it.
func below(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}
