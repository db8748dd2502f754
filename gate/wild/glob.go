package wild

import (
	"strings"
	"unicode/utf8"
)

type kind uint8

const (
	kindLiteral kind = iota // the text itself
	kindPrefix              // text*
	kindSuffix              // *text
	kindAny                 // *
	kindGeneral
)

// glob is one reading of a pattern, cut at its stars.
type glob struct {
	kind  kind
	text  string // of the first three kinds; of kindGeneral what stands before the first star
	first run    // kindGeneral: anchored at the start
	inner []run  // kindGeneral: between two stars, in order
	last  run    // kindGeneral: anchored at the end
	star  bool   // kindGeneral: without a star, first is the whole pattern
	all   string // kindGeneral: the pattern, for may
}

// run is a part of a pattern without a star.
type run struct {
	text  string
	chars int // characters; counted only with quest
	quest bool
}

func newRun(s string) run {
	return run{text: s, quest: strings.IndexByte(s, '?') >= 0, chars: utf8.RuneCountInString(s)}
}

func parse(s string) glob {
	for strings.Contains(s, "**") {
		s = strings.ReplaceAll(s, "**", "*")
	}
	quest := strings.IndexByte(s, '?') >= 0
	switch n := strings.Count(s, "*"); {
	case s == "*":
		return glob{kind: kindAny, all: s}
	case n == 0 && !quest:
		return glob{text: s, all: s}
	case n == 1 && !quest && s[len(s)-1] == '*':
		return glob{kind: kindPrefix, text: s[:len(s)-1], all: s}
	case n == 1 && !quest && s[0] == '*':
		return glob{kind: kindSuffix, text: s[1:], all: s}
	}
	parts := strings.Split(s, "*")
	g := glob{kind: kindGeneral, first: newRun(parts[0]), all: s, star: len(parts) > 1}
	if g.star {
		g.last = newRun(parts[len(parts)-1])
		for _, p := range parts[1 : len(parts)-1] {
			g.inner = append(g.inner, newRun(p))
		}
	}
	return g
}

// match compares the whole text; with holes a question mark takes in no hole.
func (g *glob) match(s string, holes bool) bool {
	switch g.kind {
	case kindLiteral:
		return s == g.text
	case kindPrefix:
		return strings.HasPrefix(s, g.text)
	case kindSuffix:
		return strings.HasSuffix(s, g.text)
	case kindAny:
		return true
	case kindGeneral:
	}
	n, ok := g.first.at(s, holes)
	if !ok || !g.star {
		return ok && n == len(s)
	}
	s = s[n:]
	end, ok := g.last.atEnd(s, holes)
	if !ok {
		return false
	}
	s = s[:end]
	for i := range g.inner {
		n := g.inner[i].find(s, holes)
		if n < 0 {
			return false
		}
		s = s[n:]
	}
	return true
}

// at returns how many bytes at the start of s the run takes in.
func (r *run) at(s string, holes bool) (int, bool) {
	if !r.quest {
		return len(r.text), strings.HasPrefix(s, r.text)
	}
	n := 0
	for i := 0; i < len(r.text); i++ {
		switch {
		case n >= len(s):
			return 0, false
		case r.text[i] != '?':
			if s[n] != r.text[i] {
				return 0, false
			}
			n++
		case holes && s[n] == Hole:
			return 0, false
		default:
			_, w := utf8.DecodeRuneInString(s[n:])
			n += w
		}
	}
	return n, true
}

// atEnd returns where in s the run starts that reaches to the end of it.
func (r *run) atEnd(s string, holes bool) (int, bool) {
	if !r.quest {
		return len(s) - len(r.text), strings.HasSuffix(s, r.text)
	}
	at := len(s)
	for range r.chars {
		if at == 0 {
			return 0, false
		}
		_, w := utf8.DecodeLastRuneInString(s[:at])
		at -= w
	}
	n, ok := r.at(s[at:], holes)
	return at, ok && at+n == len(s)
}

// find returns where in s the first place ends that the run takes in, or -1.
func (r *run) find(s string, holes bool) int {
	if !r.quest {
		if at := strings.Index(s, r.text); at >= 0 {
			return at + len(r.text)
		}
		return -1
	}
	for at := 0; at < len(s); {
		if n, ok := r.at(s[at:], holes); ok {
			return at + n
		}
		_, w := utf8.DecodeRuneInString(s[at:])
		at += w
	}
	return -1
}
