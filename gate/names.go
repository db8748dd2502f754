package gate

import (
	"strings"

	"brainbox/gate/action"
	"brainbox/gate/rule"
	"brainbox/gate/shell"
	"brainbox/gate/show"
)

// doubts are the names for which no rule that allows may answer.
func doubts(c *Call) []rule.Answer {
	var out []rule.Answer
	add := func(name string) {
		if plain(name) {
			return
		}
		if n := show.Name(name); len(n.Warnings) > 0 {
			out = append(out, rule.Answer{Surface: doubtful, Value: name, Action: action.Ask, Origin: rule.OriginBuiltin, Reason: strings.Join(n.Warnings, "; ")})
		}
	}
	add(c.Tool)
	for _, h := range c.Hosts {
		add(h)
	}
	if c.Surface == rule.Bash && !plain(c.Value) {
		for _, p := range programs(c) {
			add(p)
		}
	}
	return out
}

// plain reports whether no part of a text can be a name that is doubted.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x7f || s[i] < ' ' && s[i] != '\n' && s[i] != '\t' {
			return false
		}
	}
	return !strings.Contains(s, "xn--")
}

// programs are the names of what a command runs, each once.
func programs(c *Call) []string {
	var out []string
	for _, u := range shell.Read(c.Value, shell.Env{Dir: c.Cwd}).Units {
		name, _, _ := strings.Cut(strings.TrimSpace(u.Form), " ")
		if name != "" && !contains(out, name) && len(out) < 64 {
			out = append(out, name)
		}
	}
	return out
}
