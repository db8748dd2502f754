package main

import (
	"fmt"
	"io"
	"strings"

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

func run(c *cli.Context, argv []string, lines *statusLines) (int, error) {
	_, facts, plan, err := plan(c, argv)
	if err != nil {
		return 0, err
	}
	defer facts.Close()
	opt := launcher.Options{Sanitize: c.Bool("sanitize"), Started: func(pid int) {
		lines.started(plan, pid)
		tell(c, plan) // not before: the last steps of a start can still refuse
	}}
	if opt.Pass, err = passed(c.StringSlice("pass-fd")); err != nil {
		return 0, err
	}
	if plan.Refusal != nil {
		return 0, plan.Refusal
	}
	res, err := plan.Run(facts, opt)
	if err != nil {
		return 0, err
	}
	lines.exited(res)
	for _, s := range res.Survivors {
		_, _ = fmt.Fprintf(c.App.ErrWriter, "brainbox: process %d of user %d could not be ended\n", s.PID, s.UID)
	}
	tellAfter(c.App.ErrWriter, res.After)
	return res.Status, nil
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
