package audit

import "fmt"

// mostMissing is how many missing numbers are remembered, to tell a line that stands
// elsewhere from one that nobody knows.
const mostMissing = 4096

const noLine = "this is no line of an audit file"

// judge says what is wrong with a line that does not follow, and goes on behind it.
func (v *verifier) judge(l line) {
	if !l.valid {
		v.bad = append(v.bad, l)
		if len(v.bad) > mostProblems {
			v.settleBad(Changed, noLine)
		}
		return
	}
	follows := l.seq == v.next && l.prev == v.last
	switch n := uint64(len(v.bad)); {
	case n > 0 && follows:
		v.settleBad(Inserted, noLine+", and the next one continues the one before")
	case n > 0 && l.seq == v.next+n:
		v.settleBad(Changed, noLine)
		v.accept(l)
		return
	case n > 0:
		v.settleBad(Changed, noLine)
	}
	switch {
	case l.seq == v.next:
		if l.prev != v.last && l.prev != v.other {
			v.notContinued(&l)
		}
		v.accept(l)
	case l.seq > v.next:
		v.problem(Removed, &l, fmt.Sprintf("numbers %d to %d are missing before it", v.next, l.seq-1))
		v.miss(l.seq)
		v.accept(l)
	case v.missing[l.seq]:
		delete(v.missing, l.seq)
		v.problem(Reordered, &l, fmt.Sprintf("number %d stands behind number %d", l.seq, v.next-1))
		v.seen(&l)
	default:
		v.problem(Inserted, &l, fmt.Sprintf("number %d was there already", l.seq))
		if l.seq == v.next-1 {
			v.other = l.hash
		}
		v.seen(&l)
	}
}

// seen notes a line that is no part of the chain: the head may be one.
func (v *verifier) seen(l *line) {
	if l.hash == v.head {
		v.headSeen = true
	}
}

// notContinued says that a line and the one before do not fit: which of both was changed
// nobody can tell, but that the hash in this one is one that was kept.
func (v *verifier) notContinued(l *line) {
	p := v.previous
	switch {
	case p == nil && l.seq == 1:
		v.problem(Changed, l, "the first line continues another one")
	case p == nil:
		v.problem(Changed, l, "it does not continue the one before")
	default:
		v.problem(Changed, p, fmt.Sprintf("line %d continues another text than this one", l.line))
	}
}

func (v *verifier) miss(to uint64) {
	if v.missing == nil {
		v.missing = map[uint64]bool{}
	}
	for n := v.next; n < to && len(v.missing) < mostMissing; n++ {
		v.missing[n] = true
	}
}

func (v *verifier) settleBad(f Fault, text string) {
	for i := range v.bad {
		v.problem(f, &v.bad[i], text)
	}
	v.bad = nil
}

func (v *verifier) problem(f Fault, l *line, text string) {
	if len(v.rep.Problems) >= mostProblems {
		v.rep.More = true
		return
	}
	v.rep.Problems = append(v.rep.Problems, Problem{Fault: f, Line: l.line, Offset: l.offset, Text: text})
}

// end judges what is left when the file has ended.
func (v *verifier) end() {
	// Half a line at the end: a writer died, and nobody has written since.
	if n := len(v.held); n > 0 && !v.held[n-1].whole {
		half := v.held[n-1]
		v.held = v.held[:n-1]
		v.flush()
		v.settleBad(Changed, noLine)
		v.problem(Cut, &half, fmt.Sprintf("the last line ends after %d bytes, without a line feed", half.size))
	}
	v.flush()
	v.settleBad(Changed, noLine)
	if !v.headSeen && !v.rep.More {
		v.problem(Cut, &line{line: v.rep.Lines}, "the line with the hash "+v.head.String()+" is not in the file: lines are missing at its end, or it was made anew")
	}
	v.rep.Head = v.last
	if v.next > 0 {
		v.rep.Seq = v.next - 1
	}
}
