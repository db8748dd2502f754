// Package rule answers for a call what the operator's rules say about it.
//
//	own, err := rule.ParseJSON(text) // or rule.FromRaw of [[gate.rule]]
//	set, notices, err := rule.Compile(rule.Config{
//		Scopes: []rule.Scope{{Kind: rule.Global, Rules: own}},
//		Homes:  []string{"/home/u"}, Roots: []string{"/home/u/src"},
//	})
//	answers := set.Evaluate(rule.Query{Surface: "bash", Value: "git push", Dir: "/home/u/src"})
//	decision := rule.Fold(answers, rule.Inputs{})
//
// A rule is a surface, a pattern (package wild) and an action. Within one surface
// the last rule that matches wins; over surfaces, and over the parts of a call,
// the strictest answer does. What no rule of a surface matches is answered by the
// surface "*", and without one is asked about; path_read and path_write say
// nothing then.
//
// Scopes come later in the order built-in, global, project, agent, session. One
// that is not trusted can only tighten: the answer is the worse of the one without
// it and the one with it. One that could not be read turns every allow into ask.
//
// [Fold] is the order of contract bridge-and-gate, section D.5: what a rule
// denies is denied, whatever was approved; approvals of the session; floors;
// authorizers; a standing consent to whatever is asked; a question.
//
// # Limits
//
// The package makes no system call: what a path is in truth, a [Resolver] tells.
// A rule about a command judges one simple command (package gate/shell). Only a
// rule that denies or asks, and whose pattern holds a separator (; & | or a line
// end), is looked for in the whole text, anywhere in it. What a glob or a
// variable in a path stands for is not followed. Nothing here is a boundary:
// that is the sandbox.
package rule
