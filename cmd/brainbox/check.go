package main

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"brainbox/internal/strictjson"
	"brainbox/launcher"
)

// checkAction is `brainbox check`: the plan, whether or not run would start.
func checkAction(status *int) cli.ActionFunc {
	return func(c *cli.Context) error {
		var facts *launcher.Facts
		var p *launcher.Plan
		var err error
		if c.Bool("exec") {
			facts, p, err = launcher.ExecPlan(os.Environ(), c.Args().Slice())
		} else {
			var all *planned
			if all, err = plan(c, launcher.Request{Command: c.Args().Slice()}); err == nil {
				facts, p = all.facts, all.plan
				defer all.bridge.close()
			}
		}
		if err != nil {
			return asRefused(err)
		}
		defer facts.Close()
		if c.Bool("tree") {
			launcher.WalkGrants(p, facts)
		}
		if c.Bool("json") {
			v := p.JSON()
			printf(c.App.Writer, "%s", strictjson.AppendLine(nil, &v))
		} else {
			printPlan(c, p)
		}
		if p.Refusal != nil {
			*status = launcher.StatusRefused
		}
		return nil
	}
}

// asRefused gives an error of the wrapper's, whose status is 126, the one of check.
func asRefused(err error) error {
	var r *launcher.Refusal
	if !errors.As(err, &r) {
		return err
	}
	again := *r
	again.Status = launcher.StatusRefused
	return &again
}

// printPlan shows a plan to a person: one line a clause, one a noteworthy entry.
func printPlan(c *cli.Context, p *launcher.Plan) {
	w := c.App.Writer
	start := "would start"
	if p.Refusal != nil {
		start = "would be refused"
	}
	printf(w, "isolation %s: %s\n", p.Isolation, start)
	if line := fallback(p); line != "" {
		printf(w, "asked     %s: %s\n", p.Asked, oneLine(line))
	}
	if len(p.Command) > 0 {
		printf(w, "command   %s (%s)\n", quote(p.Command[0]), oneLine(p.File))
	}
	printf(w, "directory %s\n", quote(p.Cwd))
	for _, n := range p.Notes {
		printf(w, "note      %s\n", oneLine(n))
	}
	for i := range p.Clauses {
		cl := &p.Clauses[i]
		if cl.State == launcher.StateUnused && len(cl.Entries) == 0 {
			continue
		}
		about := cl.Mechanism
		if cl.State == launcher.StateOpen || cl.State == launcher.StateRefused {
			about = cl.Requirement
			if cl.Degraded {
				about += " (accepted by allow-degraded)"
			}
		}
		printf(w, "%-14s %-9s %s\n", cl.Name, cl.State, oneLine(about))
		for rest := cl.Entries; len(rest) > 0; {
			n := alike(rest)
			if n > 3 {
				printAlike(c, p, rest[:n])
			} else {
				n = 1
				printEntry(c, p, &rest[0])
			}
			rest = rest[n:]
		}
	}
	printf(w, "environment    %s\n", strings.Join(p.EnvNames(), " "))
	if r := p.Refusal; r != nil {
		printf(w, "refused: %s\n", oneLine(r.Message))
		if r.Hint != "" {
			printf(w, "hint: %s\n", oneLine(r.Hint))
		}
	}
}

// fallback says which attempt at namespaces came to nothing, and what would help; "" if
// there was none.
func fallback(p *launcher.Plan) string {
	a := p.Fallback
	if a == nil {
		return ""
	}
	line := "namespaces are not offered here (" + a.String()
	if a.Layer != "" {
		line += ", by " + a.Layer
	}
	line += ")"
	if a.Route != "" {
		line += "; " + a.Route
	}
	return line
}

// alike counts the entries at the head of a list that differ in nothing but their value.
func alike(list []launcher.Entry) int {
	same := func(a, b *launcher.Entry) bool {
		return a.State == b.State && a.Right == b.Right && a.Source == b.Source && a.Note == b.Note &&
			(b.Target == "" || b.Target == b.Path)
	}
	n := 0
	for n < len(list) && same(&list[0], &list[n]) && same(&list[n], &list[n]) {
		n++
	}
	return n
}

// printAlike shows such entries together.
func printAlike(c *cli.Context, p *launcher.Plan, list []launcher.Entry) {
	head := &list[0]
	line := "  " + head.State.String() + " " + head.Right
	for _, e := range list {
		line += " " + quote(e.Value)
	}
	line += "  (" + sourceName(p, head.Source) + ")"
	if head.Note != "" {
		line += ": " + head.Note
	}
	printf(c.App.Writer, "%s\n", oneLine(line))
}

func printEntry(c *cli.Context, p *launcher.Plan, e *launcher.Entry) {
	line := "  " + e.State.String() + " "
	if e.Right != "" {
		line += e.Right + " "
	}
	line += quote(e.Value)
	if e.Target != "" && e.Target != e.Value {
		line += " = " + quote(e.Target)
	}
	if from := sourceName(p, e.Source); from != "" {
		line += "  (" + from + ")"
	}
	if e.Note != "" {
		line += ": " + e.Note
	}
	printf(c.App.Writer, "%s\n", oneLine(line))
}

// sourceName says where an entry came from.
func sourceName(p *launcher.Plan, i int) string {
	if i < 0 || i >= len(p.Sources) {
		return "always"
	}
	s := p.Sources[i]
	switch {
	case s.Line > 0:
		return s.Name + ":" + strconv.Itoa(s.Line)
	case s.Name == "":
		return s.Kind.String()
	}
	return s.Kind.String() + " " + s.Name
}
