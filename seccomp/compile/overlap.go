package compile

import (
	"math"

	"brainbox/seccomp"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// unambiguous returns the rules that differ from the default action, once no two
// rules of a call can match together and disagree. libseccomp passes over a
// narrow rule behind a wide one without a word, and has no rules for the default
// action at all.
func unambiguous(all []rule, fallback seccomp.Action) ([]rule, error) {
	byCall := map[uint32][]rule{}
	var kept []rule
	for _, r := range all {
		for _, other := range byCall[r.nr] {
			if other.action != r.action && !disjoint(other.conds, r.conds) {
				return nil, refuse(r.field, "%q: %v may match where %s says %v; the order of rules means nothing",
					r.name, r.action, other.field, other.action)
			}
		}
		byCall[r.nr] = append(byCall[r.nr], r)
		if r.action != fallback {
			kept = append(kept, r)
		}
	}
	return kept, nil
}

// disjoint reports whether no arguments meet both lists of conditions. It may
// miss that; it never says so wrongly.
func disjoint(a, b []specs.LinuxSeccompArg) bool {
	for _, c := range a {
		for _, d := range b {
			if c.Index == d.Index && (exclude(c, d) || exclude(d, c)) {
				return true
			}
		}
	}
	return false
}

// exclude reports whether c can not hold together with d, looked at from c.
func exclude(c, d specs.LinuxSeccompArg) bool {
	if c.Op == specs.OpEqualTo {
		return !holds(d, c.Value)
	}
	if c.Op == specs.OpMaskedEqual && d.Op == specs.OpMaskedEqual {
		return (c.ValueTwo^d.ValueTwo)&c.Value&d.Value != 0
	}
	clo, chi, cok := between(c)
	dlo, dhi, dok := between(d)
	return cok && dok && (chi < dlo || dhi < clo)
}

// holds reports whether an argument with this value meets c.
func holds(c specs.LinuxSeccompArg, v uint64) bool {
	switch c.Op {
	case specs.OpMaskedEqual:
		return v&c.Value == c.ValueTwo
	case specs.OpNotEqual:
		return v != c.Value
	default:
		lo, hi, ok := between(c)
		return ok && lo <= v && v <= hi
	}
}

// between returns the values that meet an order comparison; ok is false for
// other operators and for a comparison that nothing meets.
func between(c specs.LinuxSeccompArg) (lo, hi uint64, ok bool) {
	switch c.Op {
	case specs.OpEqualTo:
		return c.Value, c.Value, true
	case specs.OpLessThan:
		return 0, c.Value - 1, c.Value > 0
	case specs.OpLessEqual:
		return 0, c.Value, true
	case specs.OpGreaterEqual:
		return c.Value, math.MaxUint64, true
	case specs.OpGreaterThan:
		return c.Value + 1, math.MaxUint64, c.Value < math.MaxUint64
	default:
		return 0, 0, false
	}
}

// Disjoint reports whether no arguments meet both lists of conditions. It may miss that;
// it never says so wrongly.
func Disjoint(a, b []specs.LinuxSeccompArg) bool { return disjoint(a, b) }
