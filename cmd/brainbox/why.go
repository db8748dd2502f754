package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/urfave/cli/v2"

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
		if c.NArg() != 2 {
			return refuse("why takes an operation and a target", "brainbox why write ./file; operations: read write exec connect bind unix env syscall")
		}
		pol, facts, p, err := plan(c, nil)
		if err != nil {
			return err
		}
		defer facts.Close()
		a, err := answer(pol, facts, p, c.Args().Get(0), c.Args().Get(1))
		if err != nil {
			return err
		}
		printf(c.App.Writer, "%s: %s\n", [...]string{"allowed", "denied", "unknown"}[a.status], oneLine(a.reason))
		if a.hint != "" {
			printf(c.App.Writer, "hint: %s\n", oneLine(a.hint))
		}
		*status = a.status
		return nil
	}
}

type verdict struct {
	status       int
	reason, hint string
}

func answer(pol *policy.Policy, f *launcher.Facts, p *launcher.Plan, op, target string) (verdict, error) {
	switch op {
	case "read":
		return whyPath(p, policy.RightRead, target, "--ro")
	case "write":
		return whyPath(p, policy.RightWrite, target, "--rw")
	case "exec":
		return whyPath(p, policy.RightExec, target, "--rox")
	case "connect", "bind":
		return whyPort(p, op, target)
	case "unix":
		return whyUnix(p, target)
	case "env":
		ok, reason := launcher.ExplainEnv(pol, f, target)
		return verdict{status: denyUnless(ok), reason: reason}, nil
	case "syscall":
		return whySyscall(p, target)
	case "host", "tool":
		return verdict{}, refuse("why "+op+" is not available in this version", "brainbox check shows the clause hosts")
	}
	return verdict{}, refuse("unknown operation "+quote(op), "read write exec connect bind unix env syscall")
}

func denyUnless(ok bool) int {
	if ok {
		return whyAllowed
	}
	return whyDenied
}

// whyPath answers for a path: for one that does not exist yet, for its folder.
func whyPath(p *launcher.Plan, right policy.Right, name, flag string) (verdict, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return verdict{}, err
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
	ok, e := p.Allows(right, target)
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

// whyUnix answers for a socket by path.
func whyUnix(p *launcher.Plan, name string) (verdict, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return verdict{}, err
	}
	for i := range p.Clauses {
		if p.Clauses[i].Name != "unix" || p.Isolation != "namespaces" {
			continue
		}
		for _, e := range p.Clauses[i].Entries {
			if e.State == launcher.StateEnforced && e.Source >= 0 && e.Path == abs {
				return verdict{reason: "it is listed: " + quote(e.Value) + " (" + sourceName(p, e.Source) + ")"}, nil
			}
		}
	}
	v := whyClause(p, "unix")
	if p.Isolation == "namespaces" {
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
		v.status, v.reason = whyDenied, "the program has a network of its own, in which nobody listens but itself"
		v.hint = "--net ports --" + op + "-tcp " + strconv.Itoa(int(port)) + " gives it the host's"
		return v, nil
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
	case !v.Allowed():
		out.status = whyDenied
		out.hint = "--seccomp FILE with an OCI profile of your own would"
	}
	return out, nil
}
