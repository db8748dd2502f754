package confirm

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
)

// Pattern is one compiled pattern.
type Pattern struct {
	source, effect string
	re             *regexp.Regexp
	need           string // in plainCase; see need
}

// Source is the expression as it was configured.
func (p Pattern) Source() string { return p.source }

// Effect completes "I want to …", or is empty.
func (p Pattern) Effect() string { return p.effect }

// Match reports whether the pattern is found anywhere in the command, in time linear in
// its length. A Pattern that Compile did not make matches everything.
func (p Pattern) Match(command string) bool { return p.re == nil || p.re.MatchString(command) }

// match is Match, given the command in plainCase too.
func (p Pattern) match(command, plain string) bool {
	return strings.Contains(plain, p.need) && p.Match(command)
}

// Patterns is a compiled configuration. The zero value is the table of this package.
type Patterns struct {
	set  bool
	list []Pattern
}

// all is every pattern in order.
func (p Patterns) all() []Pattern {
	if !p.set {
		return table()
	}
	return p.list
}

// Len is how many patterns there are.
func (p Patterns) Len() int { return len(p.all()) }

// First is the first pattern in order that matches.
func (p Patterns) First(command string) (Pattern, bool) {
	plain := plainCase(command)
	for _, q := range p.all() {
		if q.match(command, plain) {
			return q, true
		}
	}
	return Pattern{}, false
}

// Matching is every pattern that matches, in order.
func (p Patterns) Matching(command string) []Pattern {
	var found []Pattern
	plain := plainCase(command)
	for _, q := range p.all() {
		if q.match(command, plain) {
			found = append(found, q)
		}
	}
	return found
}

// Compile compiles what the configuration selects. Entries that are not valid are left
// out, and report, unless nil, is told each once; a list that is not empty and has no
// valid entry is an *[Error], for falling back to the table would hide it. report is
// called after everything is compiled, so that what it does, a panic included, changes
// nothing here.
func Compile(c Config, report func(Issue)) (Patterns, error) {
	if c.None && len(c.Confirm) > 0 {
		return Patterns{}, errors.New("confirm: none at all, and patterns as well")
	}
	var k compiler
	k.re2 = c.RE2
	switch {
	case len(c.Confirm) > 0:
		k.add(c.Confirm, false)
	case !c.None:
		k.list = append(k.list, table()...)
	}
	k.add(c.More, true)
	if report != nil {
		for _, i := range k.issues {
			report(i)
		}
	}
	if k.failed != nil {
		return Patterns{}, k.failed
	}
	return Patterns{set: true, list: k.list}, nil
}

type compiler struct {
	re2    bool
	list   []Pattern
	issues []Issue
	failed error
}

// add compiles one list.
func (k *compiler) add(sources []Source, more bool) {
	before, from := len(k.list), len(k.issues)
	for i, s := range sources {
		issue := Issue{Index: i, More: more, Source: s.Pattern, Reason: s.Invalid}
		if issue.Reason == "" {
			var re *regexp.Regexp
			if re, issue.Reason = expression(s.Pattern, k.re2); re != nil {
				k.list = append(k.list, Pattern{s.Pattern, effect(s.Effect), re, need(s.Pattern)})
				issue.Kept, issue.Reason = true, vacuous(re)
			}
		}
		if issue.Reason != "" {
			k.issues = append(k.issues, issue)
		}
	}
	if len(sources) > 0 && len(k.list) == before && k.failed == nil {
		k.failed = &Error{k.issues[from:]}
	}
}

// effect keeps the phrase as it is, unless it is blank.
func effect(s string) string {
	if strings.TrimSpace(s) == "" {
		return ""
	}
	return s
}

// vacuous warns of a pattern that asks every time.
func vacuous(re *regexp.Regexp) string {
	if re.MatchString("") {
		return "it matches every command, or nearly"
	}
	return ""
}

// expression compiles one source, or says why not.
func expression(source string, re2 bool) (*regexp.Regexp, string) {
	if !re2 {
		if why := differs(source); why != "" {
			return nil, why
		}
	}
	// The flag goes in front: a group around the source would make an unbalanced
	// parenthesis in it valid.
	re, err := regexp.Compile("(?i)" + source)
	if err == nil {
		return re, ""
	}
	var bad *syntax.Error
	if !errors.As(err, &bad) {
		return nil, err.Error()
	}
	reason := bad.Code.String()
	if bad.Expr != source && len(bad.Expr) <= 64 {
		reason += " " + strings.TrimPrefix(bad.Expr, "(?i)")
	}
	return nil, reason + hint(source, bad)
}

// table is the table of this package, compiled once.
var table = sync.OnceValue(func() []Pattern {
	k := compiler{re2: true}
	k.add(Defaults(), false)
	if len(k.issues) > 0 {
		panic("confirm: internal error: " + k.issues[0].String())
	}
	return k.list
})
