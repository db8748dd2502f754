package seccomp

import "slices"

// interval is the values from lo to hi, both included.
type interval struct{ lo, hi uint32 }

var anything = interval{0, 1<<32 - 1}

func only(v uint32) interval { return interval{v, v} }

func (i interval) constant() bool { return i.lo == i.hi }

func (i interval) hull(j interval) interval { return interval{min(i.lo, j.lo), max(i.hi, j.hi)} }

// noWord says that the accumulator holds no word of struct seccomp_data.
const noWord = 1<<32 - 1

// knowledge is what is known at one instruction, over all paths that lead there.
// The index register and the scratch words may hold anything.
type knowledge struct {
	reached  bool
	nr, arch interval
	a        interval // the accumulator
	word     uint32   // offset of the word that it was loaded from, or noWord
	exact    bool     // it is that word, and not computed from it
}

func (k knowledge) join(other knowledge) knowledge {
	if !k.reached {
		return other
	}
	k.nr, k.arch, k.a = k.nr.hull(other.nr), k.arch.hull(other.arch), k.a.hull(other.a)
	if k.word != other.word {
		k.word = noWord
	}
	k.exact = k.exact && other.exact && k.word != noWord
	return k
}

// reach returns the actions that a valid p may return for some arguments when
// number and architecture lie in the intervals. It follows all paths at once and
// knows values as intervals only, so it may name an action that never happens;
// it never leaves one out. visit, which may be nil, sees each reachable
// instruction and what is known in front of it.
func (p Program) reach(nr, arch interval, visit func(in Insn, k knowledge)) []Action {
	at := make([]knowledge, len(p))
	at[0] = knowledge{reached: true, nr: nr, arch: arch, word: noWord}
	var actions []Action
	for pc, in := range p {
		k := at[pc]
		if !k.reached {
			continue
		}
		if visit != nil {
			visit(in, k)
		}
		// A valid program ends in a return, so pc+1 and all targets exist.
		switch {
		case in.Code == opRetK:
			actions = append(actions, Action(in.K))
		case in.Code == opRetA:
			actions = append(actions, k.returns()...)
		case in.Code == opJa:
			to := pc + 1 + int(in.K)
			at[to] = at[to].join(k)
		case in.Code&classMask == classJmp:
			for _, taken := range [...]bool{true, false} {
				if next, ok := k.branch(in, taken); ok {
					to := pc + 1 + int(in.Jf)
					if taken {
						to = pc + 1 + int(in.Jt)
					}
					at[to] = at[to].join(next)
				}
			}
		default:
			if in.Code&(classMask|srcX|opMask) == classAlu|srcX|aluDiv {
				actions = append(actions, KillThread) // X may be zero
			}
			at[pc+1] = at[pc+1].join(k.step(in))
		}
	}
	slices.Sort(actions)
	return slices.Compact(actions)
}

// returns is what a return of the accumulator may give.
func (k knowledge) returns() []Action {
	if k.a.constant() {
		return []Action{Action(k.a.lo)}
	}
	return []Action{KillProcess, KillThread, Trap, Errno(0), Notify, Trace, Log, Allow}
}

// step returns what is known behind an instruction that does not jump.
func (k knowledge) step(in Insn) knowledge {
	switch in.Code {
	case opLdAbs:
		k.a, k.word, k.exact = anything, in.K, true
		switch in.K {
		case offNr:
			k.a = k.nr
		case offArch:
			k.a = k.arch
		}
	case opLdImm:
		k.a, k.word, k.exact = only(in.K), noWord, false
	case classAlu | aluAnd:
		if k.a.constant() {
			k.a = only(k.a.lo & in.K)
		} else {
			k.a = interval{0, min(k.a.hi, in.K)}
		}
		k.exact = false
	case opLdxImm, opLdxLen, opLdxMem, opSt, opStx, opTax:
		// The accumulator stays as it is.
	default:
		k.a, k.word, k.exact = anything, noWord, false
	}
	return k
}

// branch returns what is known where a conditional jump leads when it is taken
// or not; ok is false if it never goes that way.
func (k knowledge) branch(in Insn, taken bool) (next knowledge, ok bool) {
	if in.Code&srcX != 0 {
		return k, true
	}
	a, ok := narrow(k.a, in, taken)
	if !ok {
		return k, false
	}
	k.a = a
	if k.exact && k.word == offNr {
		k.nr = a
	}
	if k.exact && k.word == offArch {
		k.arch = a
	}
	return k, true
}

// narrow returns the part of a for which a comparison with K comes out as taken
// says; ok is false if it is empty.
func narrow(a interval, in Insn, taken bool) (part interval, ok bool) {
	v := in.K
	switch in.Code & opMask {
	case jmpEq:
		return narrowEqual(a, v, taken)
	case jmpGt:
		if v == 1<<32-1 {
			return a, !taken
		}
		return narrowFrom(a, v+1, taken)
	case jmpGe:
		return narrowFrom(a, v, taken)
	}
	if a.constant() {
		return a, (a.lo&v != 0) == taken
	}
	return a, !taken || v != 0
}

func narrowEqual(a interval, v uint32, taken bool) (interval, bool) {
	inside := a.lo <= v && v <= a.hi
	switch {
	case taken:
		return only(v), inside
	case a == only(v):
		return a, false
	case a.lo == v:
		a.lo++
	case a.hi == v:
		a.hi--
	}
	return a, true
}

// narrowFrom keeps the values from v on, or those below it.
func narrowFrom(a interval, v uint32, taken bool) (interval, bool) {
	if taken {
		a.lo = max(a.lo, v)
	} else {
		if v == 0 {
			return a, false
		}
		a.hi = min(a.hi, v-1)
	}
	return a, a.lo <= a.hi
}
