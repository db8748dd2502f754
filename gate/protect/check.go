package protect

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"brainbox/dirchain"
)

// Access is what a call does with a target. The zero value is the one that is judged.
type Access uint8

const (
	// Write makes, changes, moves or removes it.
	Write Access = iota
	// Read only reads it.
	Read
)

// Declared is one target that a tool says it has: the argument that holds its path.
type Declared struct {
	Arg    string
	Access Access
	Base   string // what the tool resolves a relative path in; empty: the working directory
}

// Aim is one target of one call.
type Aim struct {
	Path      string // exactly the text that the tool will use
	Access    Access
	Base      string
	Canonical bool // see [Where]
}

// Aims reads the targets of a call from its arguments. An argument that is missing or no
// text is no target: the tool's own check refuses it.
func Aims(tool []Declared, arg func(name string) (string, bool)) []Aim {
	var aims []Aim
	for _, d := range tool {
		if text, ok := arg(d.Arg); ok {
			aims = append(aims, Aim{Path: text, Access: d.Access, Base: d.Base})
		}
	}
	return aims
}

// Call is what is judged. That it is judged follows from its targets alone; there is no
// list of tools.
type Call struct {
	Aims []Aim
	Cwd  string // at this moment; empty: not known
}

// ErrField is a path that no file can have (U+0000); the code is field_invalid.
var ErrField = errors.New("protect: field_invalid: U+0000 in a path")

// Judgment is the verdict about a call with all of its targets. Close it when the call is
// done, or not done.
type Judgment struct {
	Verdict         // the worst, the first of equals
	Worst   int     // its index
	Each    []Aimed // those that were judged, in their order; none when Unresolvable
}

// Aimed is one target and its verdict.
type Aimed struct {
	Aim
	Verdict Verdict
}

// Close lets go of all places.
func (g Judgment) Close() {
	for _, a := range g.Each {
		a.Verdict.Close()
	}
}

// covered are the targets that are judged.
func (c Call) covered() ([]Aimed, error) {
	var all []Aimed
	for _, a := range c.Aims {
		if a.Access == Read || a.Path == "" {
			continue
		}
		if strings.IndexByte(a.Path, 0) >= 0 {
			return nil, ErrField
		}
		all = append(all, Aimed{Aim: a})
	}
	return all, nil
}

func (c Call) where(a Aim) Where { return Where{c.Cwd, a.Base, a.Canonical} }

// Check judges a call. It is not the judge's (mine is false) when it declares no target
// that is written; that costs no wait and no look. What is not judged in time, or when the
// task has ended, is Unresolvable, and so is a call with more than [MostAims] targets that
// are written, or with so many directories above them that they cannot be held together: no
// call may take the descriptors of all others. A look at the file system that never returns
// keeps its goroutine, of which there are 64 at most; what it would have held is closed
// when it does.
func (j *Judge) Check(ctx context.Context, c Call) (g Judgment, mine bool, err error) {
	each, err := c.covered()
	if err != nil || len(each) == 0 {
		return Judgment{}, err != nil, err
	}
	if j == nil || j.x == nil {
		return Judgment{Verdict: Verdict{Cause: "there is no judge"}}, true, nil
	}
	if len(each) > MostAims {
		return Judgment{Verdict: tooMany}, true, nil
	}
	g = Judgment{Each: each}
	looks, ways := false, 0
	for i := range each {
		v, done := j.bySpelling(each[i].Path, c.where(each[i].Aim))
		each[i].Verdict, looks = v, looks || !done
		if v.Outcome == Hit && j.o.Env != nil { // whoever asks about it has to hold it (Hold)
			ways += strings.Count(j.absolute(each[i].Path, c.where(each[i].Aim)), "/") + 1
		}
	}
	if ways > mostHeld {
		return Judgment{Verdict: tooMany}, true, nil
	}
	if looks {
		g = j.await(ctx, c, each)
	} else if ctx.Err() != nil {
		g = Judgment{Verdict: ended(ctx)}
	}
	g.settle()
	g.tell(j.o.OnAbsent)
	return g, true, nil
}

// settle finds the worst.
func (g *Judgment) settle() {
	for i, a := range g.Each {
		if i == 0 || a.Verdict.worse(g.Verdict) {
			g.Verdict, g.Worst = a.Verdict, i
		}
	}
}

// tell reports the first absence. Places are let go when the caller's function panics.
func (g *Judgment) tell(told func(Absence)) {
	if told == nil {
		return
	}
	for _, a := range g.Each {
		if a.Verdict.Absent != nil {
			done := false
			defer func() {
				if !done {
					g.Close()
				}
			}()
			told(*a.Verdict.Absent)
			done = true
			return
		}
	}
}

// MostAims is how many targets of one call are judged.
const MostAims = 256

// mostHeld is how many descriptors one judgment holds, as one batch of dirchain does.
const mostHeld = dirchain.MaxBatchParts

var tooMany = Verdict{Outcome: Unresolvable, Cause: "it has too many targets to hold them all"}

// await looks at the file system, for so long and no longer.
func (j *Judge) await(ctx context.Context, c Call, each []Aimed) Judgment {
	return bounded(ctx, j.looks, j.o.Wait, func(ctx context.Context) Judgment {
		g := Judgment{Each: append([]Aimed(nil), each...)} // the caller's may be read meanwhile
		held := 0
		for i := range g.Each {
			if a := &g.Each[i]; a.Verdict.Outcome == Clear {
				a.Verdict = j.byPlace(ctx, a.Path, c.where(a.Aim))
				held += a.Verdict.Held.descriptors()
			}
			if held > mostHeld {
				g.Close()
				return Judgment{Verdict: tooMany}
			}
		}
		return g
	}, func(ctx context.Context) Judgment { return Judgment{Verdict: ended(ctx)} })
}

// ended is the verdict of a judgment that did not happen.
func ended(ctx context.Context) Verdict {
	return Verdict{Outcome: Unresolvable, Cause: cause(ctx)}
}

func cause(ctx context.Context) string {
	if errors.Is(context.Cause(ctx), errWait) {
		return errWait.Error()
	}
	return "the task ended first"
}

var errWait = errors.New("the file system did not answer in time")

// Hold resolves and holds a path without judging it: for the place of a hit by spelling,
// which an approval is bound to and the effect needs. With entry the last name is not
// followed. It waits no longer than Check.
func (j *Judge) Hold(ctx context.Context, unsafePath string, w Where, entry bool) (*Held, error) {
	switch {
	case j == nil || j.x == nil || j.o.Env == nil:
		return nil, errors.New("protect: there is no environment to hold a place in")
	case strings.IndexByte(unsafePath, 0) >= 0:
		return nil, ErrField
	}
	h := bounded(ctx, j.looks, j.o.Wait, func(ctx context.Context) holding {
		place, err := j.resolve(ctx, j.absolute(unsafePath, w), entry || w.Canonical)
		if err == nil && place.Held == nil {
			err = errors.New("nothing can be written there")
		}
		return holding{place.Held, err}
	}, func(ctx context.Context) holding { return holding{nil, errors.New(cause(ctx))} })
	if h.err != nil {
		return nil, fmt.Errorf("protect: %w", h.err)
	}
	return h.held, nil
}

// holding is the answer of Hold on its way.
type holding struct {
	held *Held
	err  error
}

// Close lets go.
func (h holding) Close() { h.held.Close() }
