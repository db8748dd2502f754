package tree

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"

	"brainbox/seccomp"
)

const amd64 = 0xc000003e

// randomPolicy returns a policy whose rules do not contradict each other: those
// that do are left out.
func randomPolicy(r *rand.Rand, calls int) Policy {
	p := Policy{
		Arch: amd64, X32: r.IntN(2) == 0, Default: seccomp.Errno(38), Calls: map[uint32][]Rule{},
	}
	for range calls {
		nr := r.Uint32N(500)
		for range 1 + r.IntN(6) {
			rule := randomRule(r)
			p.Calls[nr] = append(p.Calls[nr], rule)
			if p.Check() != nil {
				p.Calls[nr] = p.Calls[nr][:len(p.Calls[nr])-1]
			}
		}
	}
	return p
}

func randomRule(r *rand.Rand) Rule {
	actions := []seccomp.Action{seccomp.Allow, seccomp.Errno(1), seccomp.Errno(95), seccomp.KillProcess}
	rule := Rule{Action: actions[r.IntN(len(actions))]}
	for range r.IntN(4) {
		masks := []uint32{1<<32 - 1, 0xf, 0xfffffff0, 0x800, 0x400, 0xc00, 1 << r.IntN(32), r.Uint32() | 1, 0xf000}
		mask := masks[r.IntN(len(masks))]
		value := []uint32{0, mask, r.Uint32N(8) & mask, r.Uint32() & mask}[r.IntN(4)]
		rule.Conds = append(rule.Conds, Cond{Arg: r.IntN(6), Mask: mask, Value: value})
	}
	return rule
}

func compare(t *testing.T, p Policy) seccomp.Program {
	t.Helper()
	program, err := Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	Inputs(p, 200, func(d seccomp.Data) {
		if got, want := program.Eval(d), p.Decide(d); got != want {
			t.Fatalf("Eval(%+v) = %v, want %v for %v\n%s", d, got, want, p.Calls[d.Nr], program)
		}
	})
	return program
}

func TestCompileRandomPolicies(t *testing.T) {
	longest := 0
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		longest = max(longest, len(compare(t, randomPolicy(r, 1+r.IntN(120)))))
	}
	if longest < 800 {
		t.Errorf("the longest program has %d instructions: no jump had to be cut", longest)
	}
}

func FuzzCompile(f *testing.F) {
	f.Add(uint64(1), uint8(3))
	f.Add(uint64(2), uint8(90))
	f.Fuzz(func(t *testing.T, seed uint64, calls uint8) {
		p := randomPolicy(rand.New(rand.NewPCG(seed, 2)), int(calls%100))
		program, err := Compile(p)
		if err != nil {
			t.Skip(err) // longer than the kernel takes
		}
		Inputs(p, 20, func(d seccomp.Data) {
			if got, want := program.Eval(d), p.Decide(d); got != want {
				t.Fatalf("Eval(%+v) = %v, want %v for %v\n%s", d, got, want, p.Calls[d.Nr], program)
			}
		})
	})
}

func TestCompileRefusesWhatIsTooLong(t *testing.T) {
	p := Policy{Arch: amd64, Default: seccomp.Errno(38), Calls: map[uint32][]Rule{}}
	for v := range uint32(4000) {
		p.Calls[0] = append(p.Calls[0], Rule{seccomp.Allow, []Cond{{Arg: 0, Mask: 1<<32 - 1, Value: 3 * v}}})
	}
	if _, err := Compile(p); !errors.Is(err, seccomp.ErrInvalid) {
		t.Errorf("Compile = %v, want ErrInvalid", err)
	}
}

// TestArgumentsAreJudgedByTheirOwnCall is the fault of another library: after a
// condition failed, its accumulator still held the argument, and socket(AF_INET)
// was judged as open, whose number is the same.
func TestArgumentsAreJudgedByTheirOwnCall(t *testing.T) {
	p := compare(t, Policy{Arch: amd64, X32: true, Default: seccomp.Errno(1), Calls: map[uint32][]Rule{
		41: {{seccomp.Allow, []Cond{{Arg: 0, Mask: 1<<32 - 1, Value: 1}}}},
		0:  {{Action: seccomp.Allow}}, 1: {{Action: seccomp.Allow}}, 2: {{Action: seccomp.Allow}},
	}})
	if got := p.Eval(seccomp.Data{Nr: 41, Arch: amd64, Args: [6]uint64{2}}); got != seccomp.Errno(1) {
		t.Errorf("socket(AF_INET) = %v, want errno EPERM", got)
	}
}

func TestHighHalvesAreIgnored(t *testing.T) {
	p := compare(t, Policy{Arch: amd64, Default: seccomp.Errno(38), Calls: map[uint32][]Rule{
		16: {
			{seccomp.Errno(1), []Cond{{Arg: 1, Mask: 1<<32 - 1, Value: 0x5412}}},
			{seccomp.Allow, []Cond{{Arg: 1, Mask: 1, Value: 1}}},
		},
	}})
	if got := p.Eval(seccomp.Data{Nr: 16, Arch: amd64, Args: [6]uint64{0, 0x5412 | 1<<32}}); got != seccomp.Errno(1) {
		t.Errorf("ioctl(TIOCSTI | 1<<32) = %v, want errno EPERM", got)
	}
}

func TestCheckRefuses(t *testing.T) {
	whole := func(arg int, v uint32) []Cond { return []Cond{{Arg: arg, Mask: 1<<32 - 1, Value: v}} }
	for name, rules := range map[string][]Rule{
		"argument 6":              {{seccomp.Allow, whole(6, 1)}},
		"argument -1":             {{seccomp.Allow, whole(-1, 1)}},
		"no mask":                 {{seccomp.Allow, []Cond{{}}}},
		"a value behind its mask": {{seccomp.Allow, []Cond{{Mask: 1, Value: 2}}}},
		"two actions always":      {{Action: seccomp.Allow}, {Action: seccomp.Errno(1)}},
		"a rule inside another":   {{Action: seccomp.Allow}, {seccomp.Errno(1), whole(0, 1)}},
		"different arguments":     {{seccomp.Allow, whole(1, 1)}, {seccomp.Errno(1), whole(0, 1)}},
	} {
		p := Policy{Arch: amd64, Calls: map[uint32][]Rule{7: rules}}
		if _, err := Compile(p); err == nil {
			t.Errorf("Compile took %s", name)
		}
	}
	p := Policy{Arch: amd64, Calls: map[uint32][]Rule{7: {{seccomp.Allow, whole(0, 2)}, {seccomp.Errno(1), whole(0, 1)}}}}
	if err := p.Check(); err != nil {
		t.Errorf("Check refuses rules that never meet: %v", err)
	}
}

func TestResolveRefuses(t *testing.T) {
	one := uint(1)
	rule := func(c specs.LinuxSyscall) *specs.LinuxSeccomp {
		return &specs.LinuxSeccomp{
			DefaultAction: specs.ActErrno, DefaultErrnoRet: &one, Syscalls: []specs.LinuxSyscall{c},
		}
	}
	arg := func(a specs.LinuxSeccompArg) *specs.LinuxSeccomp {
		return rule(specs.LinuxSyscall{
			Names: []string{"read"}, Action: specs.ActAllow, Args: []specs.LinuxSeccompArg{a},
		})
	}
	for name, p := range map[string]*specs.LinuxSeccomp{
		"default allow":      {DefaultAction: specs.ActAllow},
		"no errno":           {DefaultAction: specs.ActErrno},
		"an architecture":    {DefaultAction: specs.ActKillProcess, Architectures: []specs.Arch{specs.ArchX86}},
		"a flag":             {DefaultAction: specs.ActKillProcess, Flags: []specs.LinuxSeccompFlag{"X"}},
		"an unknown name":    rule(specs.LinuxSyscall{Names: []string{"reed"}, Action: specs.ActAllow}),
		"another action":     rule(specs.LinuxSyscall{Names: []string{"read"}, Action: specs.ActTrap}),
		"an errno for allow": rule(specs.LinuxSyscall{Names: []string{"read"}, Action: specs.ActAllow, ErrnoRet: &one}),
		"another operator":   arg(specs.LinuxSeccompArg{Op: specs.OpEqualTo}),
		"a 64-bit mask":      arg(specs.LinuxSeccompArg{Op: specs.OpMaskedEqual, Value: 1 << 32}),
		"a 64-bit value":     arg(specs.LinuxSeccompArg{Op: specs.OpMaskedEqual, Value: 1, ValueTwo: 1 << 32}),
		"argument 6":         arg(specs.LinuxSeccompArg{Op: specs.OpMaskedEqual, Index: 6, Value: 1}),
	} {
		if _, err := Resolve(p, "amd64"); err == nil {
			t.Errorf("Resolve took %s", name)
		}
	}
	good := rule(specs.LinuxSyscall{Names: []string{"read"}, Action: specs.ActAllow})
	if _, err := Resolve(good, "riscv64"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Resolve for riscv64 = %v, want ErrUnsupported", err)
	}
	if p, err := Resolve(good, "arm64"); err != nil || len(p.Calls[63]) != 1 {
		t.Errorf("Resolve for arm64 = %+v, %v, want a rule for 63", p, err)
	}
}

func TestPackRefuses(t *testing.T) {
	all := make([]Policy, len(seccomp.AllOptions()))
	for i := range all {
		all[i] = Policy{Arch: amd64, Default: seccomp.Errno(38)}
	}
	if _, err := Pack(all); err != nil {
		t.Fatal(err)
	}
	if _, err := Pack(all[1:]); !errors.Is(err, errPack) {
		t.Errorf("Pack of one too few = %v", err)
	}
	all[5].Default = seccomp.Allow
	if _, err := Pack(all); !errors.Is(err, errPack) {
		t.Errorf("Pack of different defaults = %v", err)
	}
}
