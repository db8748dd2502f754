package main

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"brainbox/launcher"
)

// runAction is `brainbox run`.
func runAction(status *int) cli.ActionFunc {
	return func(c *cli.Context) error {
		argv := c.Args().Slice()
		if len(argv) == 0 {
			return refuse("no command", "brainbox run [FLAGS] -- COMMAND [ARG]…")
		}
		if c.Bool("dry-run") && c.Bool("explain") {
			return refuse("--explain watches a program, and --dry-run starts none", "brainbox why says what one operation would get")
		}
		if c.Bool("dry-run") {
			return checkAction(status)(c)
		}
		lines, err := openStatus(c.String("status-fd"))
		if err != nil {
			return err
		}
		defer lines.close()
		code, err := run(c, argv, lines)
		if err != nil {
			lines.refused(err)
			return err
		}
		*status = code
		return nil
	}
}

// processors is how many the runtime had before oneProcessor; 0: it still has them.
var processors int

// oneProcessor has the runtime use one processor until the program runs. A start is one
// goroutine, and with more the runtime wakes threads to look for another to run: a tenth
// of a start.
func oneProcessor() { processors = runtime.GOMAXPROCS(1) }

// allProcessors gives them back: what relays output and passes signals on must not wait for
// one that is in a system call.
func allProcessors() {
	if processors > 0 {
		runtime.GOMAXPROCS(processors)
		processors = 0
	}
}

// lastWords is how long after a signal a run whose program has ended may still clear up and say
// so: the network's host and the reader of the status lines may be slow.
const lastWords = 15 * time.Second

func run(c *cli.Context, argv []string, lines *statusLines) (int, error) {
	all, err := plan(c, launcher.Request{Command: argv, Untried: true})
	if err != nil {
		return 0, err
	}
	defer all.close()
	pol, facts, plan := all.pol, all.facts, all.plan
	told := newExplained(c)
	defer told.close()
	opt := launcher.Options{Sanitize: c.Bool("sanitize"), Linger: lastWords, Started: func(p *launcher.Plan, pid int) {
		allProcessors()
		told.started(pid)
		lines.started(p, pid)
		all.network.begin()
		tell(c, p) // not before: the last steps of a start can still refuse
	}}
	all.network.listen(lines)
	told.options(&opt)
	if opt.Hold, err = all.bridge.holder(); err != nil {
		return 0, err
	}
	if opt.Pass, err = passed(c.StringSlice("pass-fd")); err != nil {
		return 0, err
	}
	if plan.Refusal != nil && facts.Untried {
		facts.Try(pol) // what is refused here may be another thing
		plan = launcher.NewPlan(pol, facts)
	}
	for _, p := range opt.Pass {
		plan.DeclarePassed(facts, p.From)
	}
	if plan.Refusal != nil {
		return 0, plan.Refusal
	}
	res, err := plan.Run(facts, opt)
	if err != nil {
		return 0, err
	}
	told.tell(c, res, lines, all.network)
	lines.exited(res)
	for _, s := range res.Survivors {
		_, _ = fmt.Fprintf(c.App.ErrWriter, "brainbox: process %d of user %d could not be ended\n", s.PID, s.UID)
	}
	if res.OOM {
		printf(c.App.ErrWriter, "brainbox: out of memory: %s\n", outOfMemory(res))
	}
	if n := res.Broker.Unreadable; n > 0 && !c.Bool("quiet") {
		printf(c.App.ErrWriter, "brainbox: %d connects were refused: brainbox may not read the programs that made them\n", n)
	}
	if !c.Bool("quiet") {
		all.network.tell()
	}
	hintExplain(c, res)
	tellAfter(c.App.ErrWriter, res.After)
	return res.Status, nil
}

// outOfMemory tells a SIGKILL for want of memory from any other, and whose memory it was.
func outOfMemory(r *launcher.Result) string {
	if r.OOMByLimit {
		return "the run reached its limit of " + r.Plan.Cgroup["memory.max"] + " bytes (cgroup v2 memory.max), and the kernel ended it"
	}
	return "the kernel ended a process of the run, whose own limit was not reached: the machine's memory was, or that of a group above"
}

// tellAfter says what the run left behind that a host tool would run or trust, one line
// each. It is said with -q too: a file that was moved away is not where it was made.
func tellAfter(w io.Writer, a *launcher.Aftermath) {
	for i := range a.Protected {
		p := &a.Protected[i]
		switch {
		case p.Err != nil:
			printf(w, "brainbox: the run created %s, and it could not be moved away: %s\n", quote(p.Path), oneLine(p.Err.Error()))
		case p.Moved == "":
			printf(w, "brainbox: the run created %s, which is kept\n", quote(p.Path))
		default:
			printf(w, "brainbox: the run created %s, which is now %s\n", quote(p.Path), quote(p.Moved))
		}
	}
	for _, path := range a.Repositories {
		printf(w, "brainbox: the run created the repository %s; look at its hooks and config before you use git there\n", quote(path))
	}
	for _, key := range a.Config {
		printf(w, "brainbox: the run changed what git would run: %s\n", oneLine(key))
	}
	for _, path := range a.Replaced {
		printf(w, "brainbox: %s was replaced or removed outside of the run, which ended its protection: the program may have changed it since\n", quote(path))
	}
	for _, dir := range a.Unread {
		printf(w, "brainbox: what the run left in %s could not be looked at\n", quote(dir))
	}
}

// tell prints, on a terminal or with -v, what stays open, in one line.
func tell(c *cli.Context, p *launcher.Plan) {
	if c.Bool("quiet") {
		return
	}
	w := c.App.ErrWriter
	if hint := secretHint(c); hint != "" {
		_, _ = fmt.Fprintln(w, "brainbox: hint:", oneLine(hint))
	}
	for _, line := range partialScans(p) {
		printf(w, "brainbox: %s\n", oneLine(line))
	}
	if !c.Bool("verbose") && !isTerminal(2) {
		return
	}
	for _, n := range p.Notes {
		_, _ = fmt.Fprintln(w, "brainbox:", oneLine(n))
	}
	if line := fallback(p); line != "" {
		printf(w, "brainbox: %s\n", oneLine(line))
	}
	if open := openClauses(p); len(open) > 0 {
		_, _ = fmt.Fprintf(w, "brainbox: isolation %s, open: %s (brainbox check says why)\n", p.Isolation, strings.Join(open, ", "))
	}
}

// partialScans says where the look at the names of a tree ended. It is said without a
// terminal too: the program of an earlier run may have made the tree too large.
func partialScans(p *launcher.Plan) []string {
	var lines []string
	for _, cl := range p.Clauses {
		for _, e := range cl.Entries {
			if e.Value == "scan" && e.State == launcher.StateOpen {
				lines = append(lines, cl.Name+": "+e.Path+": "+e.Note)
			}
		}
	}
	return lines
}

// openClauses lists the clauses that nothing holds.
func openClauses(p *launcher.Plan) []string {
	var open []string
	for _, cl := range p.Clauses {
		if cl.State == launcher.StateOpen {
			open = append(open, cl.Name)
		}
	}
	return open
}

func isTerminal(fd int) bool {
	_, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	return err == nil
}

// printf writes and forgets the error: there is nowhere left to report it.
func printf(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }
