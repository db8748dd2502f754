package rule

import (
	"path"
	"strings"

	"brainbox/gate/action"
	"brainbox/gate/shell"
)

// bash judges the text of a command.
func (e *evaluation) bash() {
	env := shell.Env{Dir: e.q.Dir}
	if len(e.set.homes) > 0 {
		env.Home = e.set.homes[0]
	}
	cmd := shell.Read(e.q.Value, env)
	e.spans()
	for i := range cmd.Units {
		e.unit(&cmd.Units[i])
	}
	for i := range cmd.Paths {
		e.word(&cmd.Paths[i])
	}
	for _, t := range e.q.Targets {
		e.target(t, false)
	}
	if len(e.out) == 0 {
		e.empty()
	}
}

// unit judges one command under its readings: with leading assignments, without
// them, without quotes; and under the name of the program without its folder,
// with links followed too, where only stricter rules count.
func (e *evaluation) unit(u *shell.Unit) {
	var sub subject
	holes := strings.Contains(u.Form, hole)
	sub.addName(u.Form, holes)
	sub.addName(u.Text, false)
	sub.addName(u.Source, false)
	if u.Base != "" {
		g := group{form: holes, only: true}
		g.add(u.Base)
		if name := e.program(u.Path); name != "" {
			_, args, _ := strings.Cut(u.Base, " ")
			g.add(strings.TrimSuffix(name+" "+args, " "))
		}
		sub.add(g)
	}
	h := e.set.judge(Bash, &sub, e.views, true)
	if u.DenyOnly && (h.act != action.Deny || u.Floor == shell.None && (h.entry == nil || h.entry.p.Universal())) {
		return
	}
	a := e.add(Tool, Bash, u.Text, &sub, h)
	if a != nil && u.Floor != shell.None {
		a.Floor = u.Floor
	}
}

// program is the name of the program that a path leads to.
func (e *evaluation) program(name string) string {
	if e.q.Resolver == nil || name == "" || !path.IsAbs(name) && e.q.Dir == "" {
		return ""
	}
	if !path.IsAbs(name) {
		name = e.q.Dir + "/" + name
	}
	real, _, err := e.q.Resolver.Resolve(name)
	if err != nil {
		return ""
	}
	return path.Base(real)
}

// spans looks in the whole text for rules that deny or ask about more than one
// command.
func (e *evaluation) spans() {
	l := e.set.surfaces[Bash]
	if l == nil || len(e.q.Value) > shell.MaxText {
		return
	}
	for _, n := range l.spans {
		r := &l.entries[n]
		if e.views.member[r.scope] == 0 || !r.span.Match(e.q.Value) {
			continue
		}
		sub := single(e.q.Value)
		e.add(Tool, Bash, e.q.Value, &sub, hit{act: r.rule.Action, entry: r})
	}
}
