//go:build cgo

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"

	"brainbox/internal/version"
	"brainbox/seccomp"
	"brainbox/seccomp/compile"
	"brainbox/seccomp/lint"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// lintReport is the shape of the answer to --lint.
type lintReport struct {
	Protocol   int           `json:"protocol"`
	Version    string        `json:"version"`
	Arch       string        `json:"arch"`
	Libseccomp string        `json:"libseccomp"`
	Form       string        `json:"form"`
	Judged     string        `json:"judged"`
	Findings   []lintFinding `json:"findings"`
	Wider      []lintChange  `json:"wider"`
	Narrower   []lintChange  `json:"narrower"`
	Partial    []string      `json:"partial"`
}

type lintFinding struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	Place    string `json:"place"`
	Message  string `json:"message"`
	Why      string `json:"why"`
	Hint     string `json:"hint"`
}

type lintChange struct {
	Call    string `json:"call"`
	Some    bool   `json:"some"`
	Example string `json:"example"`
}

// against is the default filter of a policy that opens what a policy can without
// --seccomp debug and without namespaces: a profile that is as wide is not weaker.
func against() seccomp.Options {
	return seccomp.Options{Network: seccomp.NetHost, Listen: true, UnixSockets: true}
}

// lintOutput judges the profile on standard input. A profile that can not be read is a
// finding, not an error.
func lintOutput(stdin io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(stdin, maxProfile+1))
	if err != nil {
		return nil, fmt.Errorf("read the profile: %w", err)
	}
	base, err := seccomp.Default(against())
	if err != nil {
		return nil, err
	}
	got := lint.Lint(text, lint.Env{
		Arch: runtime.GOARCH, Default: base,
		Compile: func(p *specs.LinuxSeccomp) (seccomp.Program, error) {
			r, err := compile.Compile(p)
			return r.Program, err
		},
		Runtime: compile.Runtime, Known: compile.Resolves,
	})
	out := lintReport{
		Protocol: protocol, Version: version.String(), Arch: runtime.GOARCH, Libseccomp: compile.Version(),
		Form: got.Form, Judged: got.Judged, Findings: []lintFinding{}, Partial: append([]string{}, got.Partial...),
		Wider: changes(got.Wider), Narrower: changes(got.Narrower),
	}
	for _, f := range got.Findings {
		out.Findings = append(out.Findings, lintFinding{f.Rule, f.Severity.String(), f.Place, f.Message, f.Why, f.Hint})
	}
	line, err := json.Marshal(out)
	return append(line, '\n'), err
}

func changes(list []lint.Change) []lintChange {
	out := make([]lintChange, 0, len(list))
	for _, c := range list {
		out = append(out, lintChange(c))
	}
	return out
}
