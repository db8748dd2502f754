package profile

import (
	"math"
	"math/bits"

	"brainbox/seccomp"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// The errors the profile answers with (asm-generic/errno.h): the same numbers
// on every architecture it is made for.
const (
	eperm        = 1
	enosys       = 38
	eopnotsupp   = 95
	eafnosupport = 97
)

// ruler writes the rules of one group.
type ruler func(calls []string, o seccomp.Options) []specs.LinuxSyscall

// verdict is an action with its errno; 0 allows.
type verdict uint

const (
	allow  verdict = 0
	notify verdict = 1 << 16 // no errno: another process answers
)

func errno(e uint) *uint { return &e }

// rule returns one rule.
func rule(calls []string, v verdict, conds ...specs.LinuxSeccompArg) specs.LinuxSyscall {
	r := specs.LinuxSyscall{Names: calls, Action: specs.ActAllow, Args: conds}
	switch v {
	case allow:
	case notify:
		r.Action = specs.ActNotify
	default:
		r.Action, r.ErrnoRet = specs.ActErrno, errno(uint(v))
	}
	return r
}

// always gives one answer whatever the options.
func always(v verdict) ruler {
	return func(calls []string, _ seccomp.Options) []specs.LinuxSyscall {
		return []specs.LinuxSyscall{rule(calls, v)}
	}
}

// unless gives the answer v, but allows when open says so.
func unless(open func(seccomp.Options) bool, v verdict) ruler {
	return func(calls []string, o seccomp.Options) []specs.LinuxSyscall {
		if open(o) {
			return []specs.LinuxSyscall{rule(calls, allow)}
		}
		return []specs.LinuxSyscall{rule(calls, v)}
	}
}

// masked is the condition that arg & mask == value. The high half of the
// register is never looked at: the kernel drops it from an int, and a filter
// that compares it is passed by setting a bit there (CVE-2019-10063).
func masked(arg uint, mask, value uint32) specs.LinuxSeccompArg {
	return specs.LinuxSeccompArg{
		Index: arg, Value: uint64(mask), ValueTwo: uint64(value), Op: specs.OpMaskedEqual,
	}
}

// whole is the condition that an int argument is value.
func whole(arg uint, value uint32) specs.LinuxSeccompArg {
	return masked(arg, math.MaxUint32, value)
}

// bitRules allows the calls when none of the bits is set in arg and gives v when
// one is. A comparison can not ask for "any of", so each bit has its rule.
func bitRules(calls []string, arg uint, mask uint32, v verdict) []specs.LinuxSyscall {
	rules := []specs.LinuxSyscall{rule(calls, allow, masked(arg, mask, 0))}
	for _, bit := range eachBit(mask) {
		rules = append(rules, rule(calls, v, masked(arg, bit, bit)))
	}
	return rules
}

func eachBit(mask uint32) []uint32 {
	var all []uint32
	for mask != 0 {
		bit := uint32(1) << bits.TrailingZeros32(mask)
		all = append(all, bit)
		mask &^= bit
	}
	return all
}

// valueRules gives in for the listed values of arg & mask and out for all
// others. libseccomp can not combine two comparisons of one argument, so the
// others are cut into blocks that one masked comparison each describes, as a
// range of addresses is cut into prefixes. The conditions before are added to
// every rule.
func valueRules(calls []string, arg uint, mask uint32, values []uint32, in, out verdict,
	before ...specs.LinuxSeccompArg,
) []specs.LinuxSyscall {
	var rules []specs.LinuxSyscall
	add := func(v verdict, cond specs.LinuxSeccompArg) {
		rules = append(rules, rule(calls, v, append(before[:len(before):len(before)], cond)...))
	}
	for _, value := range values {
		add(in, masked(arg, mask, value))
	}
	for _, b := range others(mask, values) {
		add(out, masked(arg, b.mask, b.value))
	}
	return rules
}

// block is a set of values: those whose masked bits are value.
type block struct{ mask, value uint32 }

// others returns blocks that hold every value of mask but the listed ones.
func others(mask uint32, values []uint32) []block {
	var out []block
	var split func(b block)
	split = func(b block) {
		inside := false
		for _, v := range values {
			inside = inside || v&b.mask == b.value
		}
		switch {
		case !inside && b.mask != 0:
			out = append(out, b)
		case b.mask != mask:
			bit := uint32(1) << (31 - bits.LeadingZeros32(mask&^b.mask))
			split(block{b.mask | bit, b.value})
			split(block{b.mask | bit, b.value | bit})
		}
	}
	split(block{})
	return out
}
