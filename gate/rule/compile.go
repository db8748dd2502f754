package rule

import (
	"fmt"
	"slices"
	"strings"

	"brainbox/gate/action"
	"brainbox/gate/wild"
)

const maxScopes = 14

// Set is compiled rules. It does not change and may be shared.
type Set struct {
	scopes   []Scope // without their rules
	surfaces map[string]*list
	tools    []string
	roots    []string
	homes    []string
	clamped  string // why every allow is an ask; empty if it is not
}

// entry is one compiled rule.
type entry struct {
	rule  *Rule
	p     *wild.Pattern
	span  *wild.Pattern // for a whole text of commands; nil where that is not looked at
	scope uint8
}

// list is the rules of one surface in their order.
type list struct {
	entries []entry
	index   [256][]candidate // by the first byte of a text: what may match it, in order
	other   []candidate      // the same for every other text
	spans   []int32          // entries with a span
}

// candidate is what has to be known of an entry to pass it by: most are.
type candidate struct {
	need  uint64 // see wild.Pattern.Need
	at    int32
	scope uint8
}

// Compile makes a set. A scope that could not be read is a notice, and clamps;
// if it is built-in or global, or a rule is wrong in one, that is the error. A
// wrong rule in another scope is as if the scope could not be read.
func Compile(c Config) (*Set, []Notice, error) {
	if len(c.Scopes) > maxScopes {
		return nil, nil, flaw("", "%d scopes, at most %d", len(c.Scopes), maxScopes)
	}
	s := &Set{
		surfaces: map[string]*list{}, tools: slices.Clone(c.Tools),
		roots: slices.Clone(c.Roots), homes: slices.Clone(c.Homes),
	}
	sorted := slices.Clone(c.Scopes)
	slices.SortStableFunc(sorted, func(a, b Scope) int { return int(a.Kind) - int(b.Kind) })
	var notices []Notice
	for i, scope := range sorted {
		own, more, err := s.scope(i, &scope)
		if scope.Err != nil {
			err = scope.Err
		}
		if err != nil && scope.Kind <= Global {
			return nil, nil, err
		}
		if err != nil {
			why := fmt.Sprintf("the rules of %s cannot be read, so what is allowed is asked about: %v", scope.title(), err)
			notices = append(notices, Notice{Scope: scope.title(), Text: why})
			s.clamped = why
			own = nil
		}
		notices = append(notices, more...)
		for _, o := range own {
			l := s.surfaces[o.surface]
			if l == nil {
				l = &list{}
				s.surfaces[o.surface] = l
			}
			l.entries = append(l.entries, o.entry)
		}
		scope.Rules = nil
		s.scopes = append(s.scopes, scope)
	}
	for _, l := range s.surfaces {
		l.sort()
	}
	return s, notices, nil
}

func (sc *Scope) title() string {
	if sc.Name != "" {
		return sc.Name
	}
	return "scope " + string(sc.Kind.origin())
}

// placed is an entry and the surface it belongs to.
type placed struct {
	surface string
	entry   entry
}

// scope compiles the rules of one scope: sugar before what is spelled out.
func (s *Set) scope(number int, sc *Scope) ([]placed, []Notice, error) {
	var sugared, plain []placed
	var notices []Notice
	for i := range sc.Rules {
		r := &sc.Rules[i]
		known, wrong := checkSurface(r.Surface, s.tools)
		if wrong != "" {
			return nil, nil, flaw(r.Where, "surface %q: %s", r.Surface, wrong)
		}
		p, err := wild.Compile(r.Pattern, wild.Options{Homes: s.homes})
		if err != nil {
			return nil, nil, &Error{Where: r.Where, Text: fmt.Sprintf("pattern of surface %q", r.Surface), Err: err}
		}
		if r.Action > action.Allow {
			return nil, nil, flaw(r.Where, "no action")
		}
		if !known {
			notices = append(notices, Notice{sc.title(), r.Where, fmt.Sprintf("surface %q is no declared tool here", r.Surface)})
		}
		e := entry{rule: r, p: p, scope: uint8(number)} //nolint:gosec // at most maxScopes
		surfaces, sugar := spread(r.Surface)
		if r.Surface == Bash && strings.ContainsAny(r.Pattern, ";&|\n") {
			if r.Action == action.Allow {
				notices = append(notices, Notice{sc.title(), r.Where, fmt.Sprintf("%q allows nothing: a rule judges one command at a time", r.Pattern)})
			} else if e.span, err = wild.Compile("*"+strings.Trim(r.Pattern, "*")+"*", wild.Options{}); err != nil {
				return nil, nil, &Error{Where: r.Where, Text: "pattern", Err: err}
			}
		}
		for _, name := range surfaces {
			if sugar {
				sugared = append(sugared, placed{name, e})
			} else {
				plain = append(plain, placed{name, e})
			}
		}
	}
	return append(sugared, plain...), notices, nil
}

// sort makes the index of a list that is complete.
func (l *list) sort() {
	var first [256]bool
	for i := range l.entries {
		for _, b := range l.entries[i].p.First() {
			first[b] = true
		}
	}
	for i := range l.entries {
		e, n := &l.entries[i], int32(i) //nolint:gosec // rules are counted in thousands
		if e.span != nil {
			l.spans = append(l.spans, n)
		}
		starts, c := e.p.First(), candidate{e.p.Need(), n, e.scope}
		if starts == nil {
			l.other = append(l.other, c)
		}
		for b := range 256 {
			if first[b] && (starts == nil || slices.Contains(starts, byte(b))) { //nolint:gosec // below 256
				l.index[b] = append(l.index[b], c)
			}
		}
	}
	for b := range 256 {
		if !first[b] {
			l.index[b] = l.other
		}
	}
}

// candidates are the entries that may match a text, in order.
func (l *list) candidates(text string) []candidate {
	if text == "" {
		return l.other
	}
	return l.index[text[0]]
}
