package profile

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"brainbox/seccomp"
	"brainbox/seccomp/tree"
)

// cases calls try with inputs that between them reach every rule of p: all
// numbers to 600, x32 numbers, other architectures, and for calls whose
// arguments count every value that a rule names, its neighbours, 0 and -1, with
// and without high bits.
func cases(p tree.Policy, try func(seccomp.Data)) {
	for nr := range uint32(601) {
		arguments(p.Calls[nr], func(args [6]uint64) {
			try(seccomp.Data{Nr: nr, Arch: p.Arch, Args: args})
		})
		try(seccomp.Data{Nr: nr | 0x40000000, Arch: p.Arch})
		try(seccomp.Data{Nr: nr, Arch: 0x40000003}) // i386
		try(seccomp.Data{Nr: nr, Arch: 0x40000028}) // arm
	}
	for _, nr := range []uint32{1000, 1 << 16, 0x3fffffff, 0x40000000, 0x7fffffff, 1 << 31, 1<<32 - 2, 1<<32 - 1} {
		for _, arch := range []uint32{0, p.Arch, p.Arch ^ 1, p.Arch ^ 1<<31, 1<<32 - 1} {
			try(seccomp.Data{Nr: nr, Arch: arch})
		}
	}
}

// maxCombinations is how many combinations of arguments are tried one by one;
// of more, that many are drawn.
const maxCombinations = 400

func arguments(rules []tree.Rule, try func([6]uint64)) {
	values := [6][]uint64{}
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
	total := 1
	for i := range values {
		slices.Sort(values[i])
		values[i] = slices.Compact(values[i])
		total = min(total*len(values[i]), maxCombinations+1)
	}
	if total <= maxCombinations {
		product(values, try)
		return
	}
	r := rand.New(rand.NewPCG(3, 4))
	for i := range values { // each value at least once, and once with 0 elsewhere
		for _, v := range values[i] {
			var args [6]uint64
			args[i] = v
			try(args)
		}
	}
	for range maxCombinations {
		var args [6]uint64
		for i := range args {
			args[i] = values[i][r.IntN(len(values[i]))]
		}
		try(args)
	}
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

// linked returns the checked-in program of o.
func linked(t testing.TB, goarch string, o seccomp.Options) seccomp.Program {
	t.Helper()
	blob, err := os.ReadFile("../default-" + goarch + ".bpf")
	if err != nil {
		t.Fatal(err)
	}
	p, err := seccomp.Link(string(blob), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Validate(); err != nil {
		t.Fatalf("%+v: %v", o, err)
	}
	return p
}

func TestCheckedInProgramsDecideAsTheProfile(t *testing.T) {
	for _, goarch := range arches {
		all := policies(t, goarch)
		for i, o := range seccomp.AllOptions() {
			p := linked(t, goarch, o)
			n := 0
			cases(all[i], func(d seccomp.Data) {
				n++
				if got, want := p.Eval(d), all[i].Decide(d); got != want {
					t.Fatalf("%s %+v: Eval(%+v) = %v, the profile says %v", goarch, o, d, got, want)
				}
			})
			if n < 3000 {
				t.Fatalf("only %d cases", n)
			}
		}
	}
}
