package tree

import (
	"fmt"
	"maps"
	"slices"

	"brainbox/seccomp"
)

// Compile returns the program for p. It is valid in the sense of
// [seccomp.Program.Validate], and for every input it gives what [Policy.Decide]
// says.
func Compile(p Policy) (seccomp.Program, error) {
	if err := p.Check(); err != nil {
		return nil, fmt.Errorf("tree: %w", err)
	}
	c := newCompiler(p.Default)
	leaf := func(nr uint32) label { return c.rules(p.Calls[nr]) }
	program := c.numbers(p, slices.Sorted(maps.Keys(p.Calls)), leaf)
	if err := program.Validate(); err != nil {
		return nil, fmt.Errorf("tree: %w", err)
	}
	return program, nil
}

// compiler emits each different list of rules once.
type compiler struct {
	assembler
	fallback seccomp.Action
	known    map[string]label
}

func newCompiler(fallback seccomp.Action) *compiler {
	return &compiler{fallback: fallback, known: map[string]label{}}
}

// ret returns the label of an instruction that returns act.
func (c *compiler) ret(act seccomp.Action) label {
	k := "return " + act.String()
	l, ok := c.known[k]
	if !ok {
		l = c.emit(retK, uint32(act))
		c.known[k] = l
	}
	return l
}

// numbers emits the checks of architecture and number in front of the leaves of
// the given numbers, which are sorted, and returns the whole program.
func (c *compiler) numbers(p Policy, nrs []uint32, leaf func(nr uint32) label) seccomp.Program {
	kill := c.ret(seccomp.KillProcess)
	other := c.ret(p.Default)
	spans := []span{{0, other}}
	next := uint32(0)
	for _, nr := range nrs {
		if nr != next {
			spans = append(spans, span{next, other})
		}
		spans = append(spans, span{nr, leaf(nr)})
		next = nr + 1
	}
	spans = append(spans, span{next, other})
	if p.X32 {
		spans = append(spans, span{x32First, kill}, span{x32Last + 1, other})
	}
	c.follow(c.search(merge(spans)))
	c.emit(ldAbs, offNr)
	// A step may stand between the check and the load, so the load is a target.
	c.branch(jeq, p.Arch, label(len(c.rev)), kill)
	c.emit(ldAbs, offArch)
	return c.program()
}

// span is a range of values from its start to the start of the next one.
type span struct {
	start uint32
	to    label
}

// merge joins neighbours that lead to the same place. Of spans with the same
// start the last one counts.
func merge(spans []span) []span {
	var out []span
	for _, s := range spans {
		if n := len(out); n > 0 && out[n-1].start == s.start {
			out = out[:n-1]
		}
		if n := len(out); n > 0 && out[n-1].to == s.to {
			continue
		}
		out = append(out, s)
	}
	return out
}

// search emits a balanced tree that leads a value in the accumulator to its
// span; the first span starts at 0.
func (c *compiler) search(spans []span) label {
	if len(spans) == 1 {
		return spans[0].to
	}
	if len(spans) == 3 && spans[0].to == spans[2].to && spans[1].start+1 == spans[2].start {
		return c.branch(jeq, spans[1].start, spans[1].to, spans[0].to)
	}
	mid := len(spans) / 2
	high := c.search(spans[mid:])
	low := c.search(spans[:mid])
	return c.branch(jge, spans[mid].start, high, low)
}
