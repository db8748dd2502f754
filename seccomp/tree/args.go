package tree

import (
	"math/bits"
	"slices"
)

// rules emits the code that judges the arguments of a call and returns its
// label.
func (c *compiler) rules(rules []Rule) label {
	if len(rules) == 0 {
		return c.ret(c.fallback)
	}
	for _, r := range rules {
		if len(r.Conds) == 0 {
			return c.ret(r.Action) // rules that match together agree
		}
	}
	k := key(rules)
	if l, ok := c.known[k]; ok {
		return l
	}
	arg := firstArg(rules)
	mask := unionMask(rules, arg)
	var l label
	if ordered(rules, arg, mask) {
		l = c.dispatch(rules, arg, mask)
	} else {
		l = c.test(gather(rules, arg), arg)
	}
	c.known[k] = l
	return l
}

func firstArg(rules []Rule) int {
	arg := 5
	for _, r := range rules {
		for _, cond := range r.Conds {
			arg = min(arg, cond.Arg)
		}
	}
	return arg
}

func unionMask(rules []Rule, arg int) uint32 {
	var mask uint32
	for _, r := range rules {
		for _, cond := range r.Conds {
			if cond.Arg == arg {
				mask |= cond.Mask
			}
		}
	}
	return mask
}

// load emits the load of an argument in front of to, which works on it.
func (c *compiler) load(arg int, mask uint32, to label) label {
	c.follow(to)
	if mask != 1<<32-1 {
		c.emit(andK, mask)
	}
	return c.emit(ldAbs, offArgs+8*uint32(arg)) // the low half of a little-endian word
}

// ordered reports whether each condition on arg is a range of the values that
// mask leaves: its own mask keeps the upper bits of mask and drops the lower.
func ordered(rules []Rule, arg int, mask uint32) bool {
	for _, r := range rules {
		for _, cond := range r.Conds {
			if cond.Arg != arg {
				continue
			}
			dropped := mask &^ cond.Mask
			if cond.some || dropped != 0 && bits.Len32(dropped) > bits.TrailingZeros32(cond.Mask) {
				return false
			}
		}
	}
	return true
}

// dispatch searches the value of arg among the ranges that the conditions cut
// out, and judges the other arguments in each.
func (c *compiler) dispatch(rules []Rule, arg int, mask uint32) label {
	starts := []uint32{0}
	for _, r := range rules {
		for _, cond := range r.Conds {
			if cond.Arg != arg {
				continue
			}
			starts = append(starts, cond.Value)
			// The next value that mask can leave; 0 behind the last one.
			last := cond.Value | mask&^cond.Mask
			starts = append(starts, ((last|^mask)+1)&mask)
		}
	}
	slices.Sort(starts)
	starts = slices.Compact(starts)
	spans := make([]span, len(starts))
	for i, start := range starts {
		spans[i] = span{start, c.rules(given(rules, arg, start))}
	}
	spans = merge(spans)
	if len(spans) == 1 {
		return spans[0].to
	}
	return c.load(arg, mask, c.search(spans))
}

// given returns the rules that are left when arg, masked, is value: a value at
// which a range of [compiler.dispatch] starts.
func given(rules []Rule, arg int, value uint32) []Rule {
	var left []Rule
next:
	for _, r := range rules {
		n := Rule{Action: r.Action}
		for _, cond := range r.Conds {
			switch {
			case cond.Arg != arg:
				n.Conds = append(n.Conds, cond)
			case !cond.holds(value):
				continue next
			}
		}
		left = append(left, n)
	}
	return left
}
