package main

import (
	"fmt"
	"os"
	"path/filepath"

	"brainbox/bridge/spec"
	"brainbox/gate"
	"brainbox/gate/rule"
	"brainbox/launcher"
	"brainbox/policy"
)

// rules are what the gate goes by; of several that match, the last one counts. What holds
// without a rule: no tool reaches out of the project or writes to its .git (session.go), and
// no rule alone opens a file that other programs run or trust, such as .envrc.
const rules = `{
	"*":        "ask",
	"path":     "allow",
	"read":     "allow",
	"ask_user": "allow",
	"edit":     {"*": "ask", "docs/*": "allow"}
}`

// gatePolicy compiles the rules for one project.
func gatePolicy(project string) (*gate.Compiled, error) {
	list, err := rule.ParseJSON([]byte(rules))
	if err != nil {
		return nil, err
	}
	compiled, notices, err := gate.Compile(gate.Policy{
		Rules: rule.Config{
			Scopes: []rule.Scope{{Kind: rule.Global, Trusted: true, Name: "the example", Rules: list}},
			Roots:  []string{project},
			Tools:  spec.AllowedNames(false), // so that rules may name ask_user
		},
		AnyTool: true, // the rules alone say which
	})
	for _, n := range notices {
		fmt.Fprintln(os.Stderr, "backend: rules:", n.Text)
	}
	return compiled, err
}

// sandbox is what one agent gets.
type sandbox struct {
	isolation string
	project   string
	command   []string
	serve     func(launcher.BridgeSession) (stop func(), err error)
}

// sandboxed runs the agent, and returns when it and all that it started have ended.
func sandboxed(s sandbox) (*launcher.Result, error) {
	place, err := launcher.Look(os.Environ())
	if err != nil {
		return nil, err
	}
	resolved, err := s.policy(place)
	if err != nil {
		return nil, err
	}
	facts, err := launcher.Observe(resolved, place, launcher.Request{
		Command: s.command,
		Bridge: &launcher.Bridge{
			Text: "the example", Source: -1, // for what is said of it: no file asked for it
			Roots: []launcher.BridgeRoot{{Name: rootName, Path: s.project, Source: -1}}, Serve: s.serve,
		},
	})
	if err != nil {
		return nil, err
	}
	defer facts.Close()
	plan := launcher.NewPlan(resolved, facts)
	return plan.Run(facts, launcher.Options{Sanitize: true}) // no control characters of the agent's reach this terminal
}

// policy is the sandbox's: the programs of the system, the agent, and the project to read.
// There is no network, and a minute.
func (s *sandbox) policy(place *launcher.Place) (*policy.Policy, error) {
	agent, err := filepath.Abs(s.command[0])
	if err != nil {
		return nil, err
	}
	s.command[0] = agent
	layer := policy.NewFlagLayer()
	for _, kv := range [][2]string{
		{"filesystem.read", s.project},
		{"filesystem.exec", agent},
		{"sandbox.cwd", s.project},
		{"sandbox.isolation", s.isolation},
		{"process.timeout", "1m"},
	} {
		if err := layer.Set(kv[0], kv[0], kv[1]); err != nil { // the second is for messages
			return nil, err
		}
	}
	layers, err := policy.Layers("minimal", nil, layer)
	if err != nil {
		return nil, err
	}
	return policy.Resolve(policy.Input{Vars: place.Vars(), Inside: launcher.Inside}, layers...)
}
