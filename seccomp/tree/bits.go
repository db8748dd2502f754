package tree

import "math/bits"

// gather joins rules that differ only in the one bit of arg that each asks for
// into one that asks for any of the bits: one jset instead of many.
func gather(rules []Rule, arg int) []Rule {
	var out []Rule
	at := map[string]int{} // the joined rule in out, by what its rules share
	for _, r := range rules {
		bit, rest, ok := oneBit(r, arg)
		if !ok {
			out = append(out, r)
			continue
		}
		k := rest.String()
		if i, seen := at[k]; seen {
			last := &out[i].Conds[len(out[i].Conds)-1]
			last.Mask |= bit
			last.Value, last.some = 0, true
			continue
		}
		at[k] = len(out)
		rest.Conds = append(rest.Conds, Cond{Arg: arg, Mask: bit, Value: 0, some: true})
		out = append(out, rest)
	}
	return out
}

// oneBit splits a rule with exactly one condition on arg, that one bit is set,
// into the bit and the rest.
func oneBit(r Rule, arg int) (bit uint32, rest Rule, ok bool) {
	rest.Action = r.Action
	for _, cond := range r.Conds {
		if cond.Arg != arg {
			rest.Conds = append(rest.Conds, cond)
			continue
		}
		single := bits.OnesCount32(cond.Mask) == 1 && (cond.some || cond.Value == cond.Mask)
		if !single || ok {
			return 0, Rule{}, false
		}
		bit, ok = cond.Mask, true
	}
	return bit, rest, ok
}

// test emits one comparison of arg and what follows from either outcome.
func (c *compiler) test(rules []Rule, arg int) label {
	var cond Cond
	for _, r := range rules {
		for _, has := range r.Conds {
			if has.Arg == arg {
				cond = has
			}
		}
	}
	holds := c.rules(assume(rules, cond))
	fails := c.rules(assumeNot(rules, cond))
	switch {
	case cond.some:
		return c.load(arg, 1<<32-1, c.branch(jset, cond.Mask, holds, fails))
	case cond.Value == 0:
		return c.load(arg, 1<<32-1, c.branch(jset, cond.Mask, fails, holds))
	}
	return c.load(arg, cond.Mask, c.branch(jeq, cond.Value, holds, fails))
}

// fate is what is known of a condition once another one is.
type fate int

const (
	unknown fate = iota
	certain
	impossible
)

// assume returns the rules that are left when known holds.
func assume(rules []Rule, known Cond) []Rule {
	return reduce(rules, func(c Cond) fate {
		if c.Arg != known.Arg {
			return unknown
		}
		if known.some {
			return afterSome(c, known.Mask)
		}
		return afterEqual(c, known)
	})
}

// assumeNot returns the rules that are left when known does not hold.
func assumeNot(rules []Rule, known Cond) []Rule {
	switch {
	case known.some: // none of the bits is set
		known.some = false
		return assume(rules, known)
	case known.Value == 0:
		known.some = true
		return assume(rules, known)
	}
	return reduce(rules, func(c Cond) fate {
		if c.Arg == known.Arg && !c.some && c.Mask&known.Mask == known.Mask && c.Value&known.Mask == known.Value {
			return impossible
		}
		return unknown
	})
}

// afterSome judges c when at least one bit of mask is set.
func afterSome(c Cond, mask uint32) fate {
	switch {
	case c.some && mask&^c.Mask == 0:
		return certain
	case !c.some && mask&^c.Mask == 0 && c.Value&mask == 0:
		return impossible
	}
	return unknown
}

// afterEqual judges c when known, a comparison, holds.
func afterEqual(c, known Cond) fate {
	inside := c.Mask&^known.Mask == 0
	switch {
	case c.some && known.Value&c.Mask != 0:
		return certain
	case c.some && inside:
		return impossible
	case c.some:
		return unknown
	case (c.Value^known.Value)&c.Mask&known.Mask != 0:
		return impossible
	case inside:
		return certain
	}
	return unknown
}

// reduce drops impossible rules and certain conditions.
func reduce(rules []Rule, judge func(Cond) fate) []Rule {
	var left []Rule
next:
	for _, r := range rules {
		n := Rule{Action: r.Action}
		for _, cond := range r.Conds {
			switch judge(cond) {
			case impossible:
				continue next
			case unknown:
				n.Conds = append(n.Conds, cond)
			case certain:
			}
		}
		left = append(left, n)
	}
	return left
}
