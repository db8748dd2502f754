package main

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strconv"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

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
		if g := a.judged; g != nil && g.Verdict == launcher.Refused && g.Errno != 0 && g.Right != "" {
			printf(c.App.Writer, "kernel: %s, for %s on %s\n", unix.ErrnoName(g.Errno), g.Right, quote(g.Place))
		}
		if a.hint != "" {
			printf(c.App.Writer, "hint: %s\n", oneLine(a.hint))
		}
		if a.verified != "" {
			printf(c.App.Writer, "%s\n", oneLine(a.verified))
		}
		return nil
	}
}

const whyOperations = "read write exec create remove rename connect bind unix host env syscall tool"

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
	want := 2
	if op == "rename" {
		want = 3
	}
	if c.NArg() != want {
		return verdict{}, refuse("why takes an operation and a target", "brainbox why write ./file; operations: "+whyOperations)
	}
	all, err := plan(c, launcher.Request{})
	if err != nil {
		return verdict{}, err
	}
	defer all.close()
	var v verdict
	if op == "rename" {
		v = whyRename(all.facts, all.plan, c.Args().Get(1), c.Args().Get(2))
	} else {
		v, err = answer(all.pol, all.facts, all.plan, op, c.Args().Get(1))
	}
	v.plan = all.plan
	if err == nil && c.Bool("verify") {
		err = v.verify(all.facts, c.Args().Slice())
	}
	return v, err
}

type verdict struct {
	status       int
	reason, hint string
	tool         *toolask.Answer     // of the gate, for --json
	judged       *launcher.Judgement // of the plan, for --json
	plan         *launcher.Plan
	verified     string // with --verify: what the kernel said, or why it was not asked
}

// judge adds what the plan's judge says, where it says the same.
func (v *verdict) judge(f *launcher.Facts, p *launcher.Plan, op launcher.Operation) {
	g := launcher.NewJudge(p, f).Judge(op)
	if (g.Verdict == launcher.Refused) == (v.status == whyDenied) {
		v.judged = &g
	}
}

func answer(pol *policy.Policy, f *launcher.Facts, p *launcher.Plan, op, target string) (verdict, error) {
	switch op {
	case "read", "write", "exec", "create", "remove":
		return whyPath(f, p, op, target)
	case "connect", "bind":
		v, err := whyPort(p, op, target)
		if port, perr := policy.ParsePort(target); perr == nil && err == nil {
			kind := launcher.OpConnect
			if op == "bind" {
				kind = launcher.OpBind
			}
			v.judge(f, p, launcher.Operation{Op: kind, Port: port})
		}
		return v, err
	case "unix":
		v, err := whyUnix(p, target)
		if abs, aerr := filepath.Abs(target); aerr == nil && err == nil {
			v.judge(f, p, launcher.Operation{Op: launcher.OpUnix, Path: resolvedSocket(abs)})
		}
		return v, err
	case "env":
		ok, reason := launcher.ExplainEnv(pol, f, target)
		return verdict{status: denyUnless(ok), reason: reason}, nil
	case "syscall":
		return whySyscall(f, p, target)
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

// whySyscall answers for a system call by its name, and for socket(2) with a family too, as an
// explained run names it: socket(AF_UNIX).
func whySyscall(f *launcher.Facts, p *launcher.Plan, name string) (verdict, error) {
	g := launcher.NewJudge(p, f).Judge(launcher.Operation{Op: launcher.OpSyscall, Call: name})
	out := verdict{reason: g.Reason, judged: &g}
	switch g.Verdict {
	case launcher.Allowed:
		return out, nil
	case launcher.Refused:
		out.status, out.hint = whyDenied, remedyHint(&g.Remedy)
		return out, nil
	case launcher.Undecided:
	}
	filter, err := p.FilterProgram()
	if err != nil {
		return verdict{}, err
	}
	v, err := seccomp.Explain(filter, name)
	if errors.Is(err, fs.ErrNotExist) {
		return verdict{}, refuse("unknown system call "+quote(name),
			"the kernel's own names are known, such as openat or io_uring_setup, and socket with a family, such as 'socket(AF_UNIX)'")
	}
	if err != nil {
		return verdict{}, err
	}
	out.status = whyUnknown
	switch {
	case v.Depends() && name == "socket":
		out.hint = "ask with a family: brainbox why syscall 'socket(AF_INET, SOCK_DGRAM)'"
	case !v.Depends() && v.Actions[0] == seccomp.Notify:
		out.hint = "the supervisor makes the call, to listed sockets and ports: brainbox why unix PATH, why connect PORT"
	}
	return out, nil
}
