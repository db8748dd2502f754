package tree

import (
	"math/rand/v2"
	"slices"

	"brainbox/seccomp"
)

// Inputs calls try with inputs that between them reach every rule of p, for
// comparing programs: all numbers to 600, x32 numbers, other architectures, and
// for calls whose arguments count every value that a rule names, its neighbours,
// 0 and -1, with and without high bits. Of the combinations of those values at
// most limit are tried for each call, always the same ones.
func Inputs(p Policy, limit int, try func(seccomp.Data)) {
	for nr := range uint32(601) {
		arguments(p.Calls[nr], limit, func(args [6]uint64) {
			try(seccomp.Data{Nr: nr, Arch: p.Arch, Args: args})
		})
		try(seccomp.Data{Nr: nr | x32First, Arch: p.Arch})
		try(seccomp.Data{Nr: nr, Arch: 0x40000003}) // i386
		try(seccomp.Data{Nr: nr, Arch: 0x40000028}) // arm
	}
	for _, nr := range []uint32{1000, 1 << 16, x32First - 1, x32First, 0x7fffffff, 1 << 31, x32Last, x32Last + 1} {
		for _, arch := range []uint32{0, p.Arch, p.Arch ^ 1, p.Arch ^ 1<<31, 1<<32 - 1} {
			try(seccomp.Data{Nr: nr, Arch: arch})
		}
	}
}

// arguments tries every combination if they are not more than limit. Else it
// tries each value once with 0 elsewhere and each rule once, and draws limit
// more: arguments that meet a rule, most of them with one replaced.
func arguments(rules []Rule, limit int, try func([6]uint64)) {
	values := interesting(rules)
	total := 1
	for i := range values {
		total = min(total*len(values[i]), limit+1)
	}
	if total <= limit {
		product(values, try)
		return
	}
	for i := range values {
		for _, v := range values[i] {
			var args [6]uint64
			args[i] = v
			try(args)
		}
	}
	r := rand.New(rand.NewPCG(3, 4)) // a fixed seed: a failure must come again
	for _, rule := range rules {
		try(rule.meet(r))
	}
	if len(rules) == 0 {
		return
	}
	for range limit {
		args := rules[r.IntN(len(rules))].meet(r)
		if i := r.IntN(8); i < len(args) {
			args[i] = values[i][r.IntN(len(values[i]))]
		}
		try(args)
	}
}

// meet returns arguments that meet the rule, with random bits where it does not
// look.
func (r Rule) meet(random *rand.Rand) [6]uint64 {
	var args [6]uint64
	for i := range args {
		args[i] = random.Uint64() >> random.IntN(64)
	}
	for _, c := range r.Conds {
		args[c.Arg] = args[c.Arg]&^uint64(c.Mask) | uint64(c.Value)
	}
	return args
}

func interesting(rules []Rule) [6][]uint64 {
	var values [6][]uint64
	for i := range values {
		values[i] = []uint64{0, 1<<64 - 1}
	}
	for _, r := range rules {
		for _, c := range r.Conds {
			for _, v := range [...]uint32{c.Value, c.Value - 1, c.Value + 1, c.Value | ^c.Mask, c.Mask} {
				values[c.Arg] = append(values[c.Arg], uint64(v), uint64(v)|1<<32, uint64(v)|1<<63)
			}
		}
	}
	for i := range values {
		slices.Sort(values[i])
		values[i] = slices.Compact(values[i])
	}
	return values
}

func product(values [6][]uint64, try func([6]uint64)) {
	var args [6]uint64
	var set func(i int)
	set = func(i int) {
		if i == len(args) {
			try(args)
			return
		}
		for _, v := range values[i] {
			args[i] = v
			set(i + 1)
		}
	}
	set(0)
}
