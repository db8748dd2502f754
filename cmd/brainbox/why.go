package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/urfave/cli/v2"

	"brainbox/internal/strictjson"
	"brainbox/internal/toolask"
	"brainbox/launcher"
	"brainbox/policy"
	"brainbox/seccomp"
)

// The exit statuses of why (docs/interfaces.md).
const (
	whyAllowed = 0
	whyDenied  = 1
	whyUnknown = 2
)

// whyAction is `brainbox why`: it answers from the plan that run would use.
func whyAction(status *int) cli.ActionFunc {
	return func(c *cli.Context) error {
		a, err := whyAnswer(c)
		if err != nil {
			return err
		}
		*status = a.status
		if c.Bool("json") {
			v := a.JSON()
			printf(c.App.Writer, "%s", strictjson.AppendLine(nil, &v))
			return nil
		}
		printf(c.App.Writer, "%s: %s\n", whyWords[a.status], oneLine(a.reason))
		if a.hint != "" {
			printf(c.App.Writer, "hint: %s\n", oneLine(a.hint))
		}
		return nil
	}
}

const whyOperations = "read write exec connect bind unix host env syscall tool"

// whyWords are the verdicts, by status.
var whyWords = [...]string{"allowed", "denied", "unknown"}

// whyAnswer answers a question: of the gate, or of the plan.
func whyAnswer(c *cli.Context) (verdict, error) {
	op := c.Args().First()
	if op == "tool" {
		if c.NArg() != 3 {
			return verdict{}, refuse("why tool takes a tool and its arguments", "brainbox why tool bash 'git push', or why tool read_file '{\"path\":\"x\"}'")
		}
		return whyTool(c, c.Args().Get(1), c.Args().Get(2))
	}
	if c.NArg() != 2 {
		return verdict{}, refuse("why takes an operation and a target", "brainbox why write ./file; operations: "+whyOperations)
	}
	all, err := plan(c, launcher.Request{})
	if err != nil {
		return verdict{}, err
	}
	defer all.close()
	return answer(all.pol, all.facts, all.plan, op, c.Args().Get(1))
}

type verdict struct {
	status       int
	reason, hint string
	tool         *toolask.Answer // of the gate, for --json
}

func answer(pol *policy.Policy, f *launcher.Facts, p *launcher.Plan, op, target string) (verdict, error) {
	switch op {
	case "read":
		return whyPath(f, p, policy.RightRead, target, "--ro")
	case "write":
		return whyPath(f, p, policy.RightWrite, target, "--rw")
	case "exec":
		return whyPath(f, p, policy.RightExec, target, "--rox")
	case "connect", "bind":
		return whyPort(p, op, target)
	case "unix":
		return whyUnix(p, target)
	case "env":
		ok, reason := launcher.ExplainEnv(pol, f, target)
		return verdict{status: denyUnless(ok), reason: reason}, nil
	case "syscall":
		return whySyscall(p, target)
	case "host":
		return whyHost(pol, p, target)
	}
	return verdict{}, refuse("unknown operation "+quote(op), whyOperations)
}

func denyUnless(ok bool) int {
	if ok {
		return whyAllowed
	}
	return whyDenied
}

// whyPath answers for a path: for one that does not exist yet, for its folder.
func whyPath(f *launcher.Facts, p *launcher.Plan, right policy.Right, name, flag string) (verdict, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return verdict{}, err
	}
	if right == policy.RightRead {
		if allowed, known, reason := p.ProcRead(abs); known {
			return verdict{status: denyUnless(allowed), reason: reason}, nil
		}
	}
	target, err := filepath.EvalSymlinks(abs)
	if errors.Is(err, fs.ErrNotExist) {
		var dir string
		dir, err = filepath.EvalSymlinks(filepath.Dir(abs))
		target = filepath.Join(dir, filepath.Base(abs))
		if _, lerr := os.Lstat(abs); lerr == nil {
			return verdict{status: whyUnknown, reason: quote(name) + " is a link that leads nowhere"}, nil
		}
	}
	if err != nil {
		return verdict{status: whyUnknown, reason: err.Error()}, nil
	}
	if v, ok := whyInside(p, right, target); ok {
		return v, nil
	}
	if st, err := os.Lstat(target); err == nil && st.Mode()&fs.ModeSocket != 0 {
		return verdict{status: whyDenied, reason: "it is a socket, which nobody can open", hint: "brainbox why unix " + quote(target)}, nil
	}
	ok, e := p.Allows(right, target)
	if held, _ := p.Held(target); ok && held != launcher.HeldOwn && !p.Permits(f, right, target) {
		return verdict{
			status: whyDenied, reason: "it is granted, and its mode refuses it to the program's user",
			hint: "chmod, or another user: no grant gives more than the user has",
		}, nil
	}
	if ok {
		return verdict{reason: right.String() + " is granted by " + e.Right + " " + quote(e.Value) + " (" + sourceName(p, e.Source) + ")"}, nil
	}
	return verdict{
		status: whyDenied, reason: "no entry grants " + right.String() + " on " + quote(target),
		hint: flag + " " + quote(target) + " would",
	}, nil
}

// whyInside answers where isolation namespaces has something else than the host.
func whyInside(p *launcher.Plan, right policy.Right, target string) (verdict, bool) {
	held, place := p.Held(target)
	if held != launcher.HeldDenied && p.Masked(target) {
		return verdict{
			status: whyDenied, reason: "it is masked: the program finds something empty in place of what the host has at " + quote(target),
			hint: "a socket can be listed: --unix " + quote(target),
		}, true
	}
	switch held {
	case launcher.HeldOwn:
		if _, err := os.Lstat(target); err != nil && filepath.Dir(target) == place {
			break // it can make that one in a folder of its own
		}
		return verdict{
			status: whyDenied, reason: "the program has a " + quote(place) + " of its own, without what the host has there",
			hint: "grant " + quote(target) + " itself",
		}, true
	case launcher.HeldProtected:
		if right.Writes() {
			return verdict{
				status: whyDenied, reason: quote(place) + " is protected", hint: "--no-protect " + quote(place) + ", if an entry protects just that",
			}, true
		}
	case launcher.HeldDenied:
		return verdict{status: whyDenied, reason: quote(place) + " is denied, whatever else grants it"}, true
	case launcher.HeldAsGranted:
	}
	return verdict{}, false
}

// resolvedSocket is where a name leads; the name itself if it leads nowhere.
func resolvedSocket(abs string) string {
	if target, err := filepath.EvalSymlinks(abs); err == nil {
		return target
	}
	return abs
}

// whyUnix answers for a socket by path.
func whyUnix(p *launcher.Plan, name string) (verdict, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return verdict{}, err
	}
	for i := range p.Clauses {
		if p.Clauses[i].Name != "unix" {
			continue
		}
		for _, e := range p.Clauses[i].Entries {
			if e.State == launcher.StateEnforced && e.Right == "connect" && e.Source >= 0 && (e.Path == abs || e.Target == resolvedSocket(abs)) {
				return verdict{reason: "it is listed: " + quote(e.Value) + " (" + sourceName(p, e.Source) + ")"}, nil
			}
		}
	}
	v := whyClause(p, "unix")
	if v.status == whyDenied && p.Refusal == nil {
		v.hint = "--unix " + quote(abs) + " would allow it"
	}
	return v, nil
}

func whyPort(p *launcher.Plan, op, target string) (verdict, error) {
	port, err := policy.ParsePort(target)
	if err != nil {
		return verdict{}, refuse(err.Error(), "brainbox why "+op+" 443")
	}
	v := whyClause(p, "network")
	if p.OwnNetwork {
		return whyOwnPort(p, op, port), nil
	}
	if p.Landlock.OpenTCP {
		return verdict{reason: "the network is the host's"}, nil
	}
	list := p.Landlock.ConnectTCP
	if op == "bind" {
		list = p.Landlock.BindTCP
	}
	for _, q := range list {
		if q == port {
			return verdict{reason: op + "_tcp lists port " + strconv.Itoa(int(port)) + ", on every address"}, nil
		}
	}
	v.status, v.hint = whyDenied, "--net ports --"+op+"-tcp "+strconv.Itoa(int(port))+" would allow it"
	return v, nil
}

// whyClause answers with the state of a whole clause.
func whyClause(p *launcher.Plan, name string) verdict {
	for i := range p.Clauses {
		c := &p.Clauses[i]
		if c.Name != name {
			continue
		}
		if c.State == launcher.StateOpen {
			return verdict{reason: "the clause " + name + " is open: " + c.Requirement}
		}
		if c.State == launcher.StateRefused {
			return verdict{status: whyDenied, reason: name + ": refused, since it needs " + c.Requirement, hint: c.Route}
		}
		return verdict{status: whyDenied, reason: name + ": " + c.State.String() + " by " + c.Mechanism, hint: c.Route}
	}
	return verdict{status: whyUnknown, reason: "no clause " + name}
}

func whySyscall(p *launcher.Plan, name string) (verdict, error) {
	filter, err := p.FilterProgram()
	if err != nil {
		return verdict{}, err
	}
	if len(filter) == 0 {
		return verdict{reason: "seccomp = none: every system call is open"}, nil
	}
	v, err := seccomp.Explain(filter, name)
	if errors.Is(err, fs.ErrNotExist) {
		return verdict{}, refuse("unknown system call "+quote(name), "the kernel's own names are known, such as openat or io_uring_setup")
	}
	if err != nil {
		return verdict{}, err
	}
	out := verdict{reason: name + ": " + v.String()}
	switch {
	case v.Depends():
		out.status = whyUnknown
	case v.Actions[0] == seccomp.Notify:
		out.status, out.hint = whyUnknown, "the supervisor makes the call, to listed sockets and ports: brainbox why unix PATH, why connect PORT"
	case !v.Allowed():
		out.status = whyDenied
		out.hint = "--seccomp FILE with an OCI profile of your own would"
	}
	return out, nil
}
