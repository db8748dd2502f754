package seccomp

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/net/bpf"
)

// The machine has no negation.
func negates(p Program) bool {
	return slices.ContainsFunc(p, func(in Insn) bool { return in.Code == opNeg })
}

// vmEval runs p in the machine of golang.org/x/net/bpf. That one loads
// big-endian words, so each word of struct seccomp_data is laid out that way;
// the low word of an argument stays in front.
func vmEval(t testing.TB, p Program, d Data) (act Action, ok bool) {
	t.Helper()
	raw := make([]bpf.RawInstruction, len(p))
	for i, in := range p {
		raw[i] = bpf.RawInstruction{Op: in.Code, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	insns, all := bpf.Disassemble(raw)
	if !all || negates(p) {
		return 0, false
	}
	vm, err := bpf.NewVM(insns)
	if err != nil {
		return 0, false
	}
	in := make([]byte, dataSize)
	for off := uint32(0); off < dataSize; off += 4 {
		binary.BigEndian.PutUint32(in[off:], d.word(off))
	}
	out, err := vm.Run(in)
	if err != nil {
		t.Fatal(err)
	}
	return Action(out), true
}

func randomData(r *rand.Rand) Data {
	d := Data{Nr: r.Uint32N(500), Arch: auditAMD64, IP: r.Uint64()}
	if r.IntN(8) == 0 {
		d.Nr, d.Arch = r.Uint32(), r.Uint32()
	}
	for i := range d.Args {
		d.Args[i] = r.Uint64() >> r.IntN(64)
	}
	return d
}

func TestDefaultsRunAlikeInAnotherMachine(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, o := range AllOptions() {
		p, err := Default(o)
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			d := randomData(r)
			want, ok := vmEval(t, p, d)
			if got := p.Eval(d); !ok || got != want {
				t.Fatalf("%+v: Eval(%+v) = %v, the other machine says %v (%v)", o, d, got, want, ok)
			}
		}
	}
}

// shiftsByX excludes the one operation in which the machines differ: a shift by
// X of 32 or more, which the kernel takes modulo 32.
func shiftsByX(p Program) bool {
	return slices.ContainsFunc(p, func(in Insn) bool {
		return in.Code == classAlu|srcX|aluLsh || in.Code == classAlu|srcX|aluRsh
	})
}

func FuzzEval(f *testing.F) {
	for _, o := range []Options{{}, {Network: NetPortsDNS, Debug: true}} {
		p, err := Default(o)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(p.Bytes(), uint64(7))
	}
	mixed := Program{
		{Code: opLdAbs, K: 16},
		{Code: opSt, K: 1},
		{Code: opLdxMem, K: 1},
		{Code: classAlu | aluDiv | srcX},
		{Code: classAlu | aluXor, K: 5},
		{Code: opTax},
		{Code: opTxa},
		{Code: opRetA},
	}
	f.Add(mixed.Bytes(), uint64(9))
	f.Fuzz(func(t *testing.T, b []byte, seed uint64) {
		p, err := Decode(b)
		if err != nil || shiftsByX(p) {
			return
		}
		r := rand.New(rand.NewPCG(seed, seed))
		for range 8 {
			d := randomData(r)
			got := p.Eval(d)
			if want, ok := vmEval(t, p, d); ok && got != want {
				t.Fatalf("Eval(%+v) = %v, the other machine says %v\n%s", d, got, want, p)
			}
			reached := p.reach(only(d.Nr), only(d.Arch), nil)
			named := slices.Contains(reached, got) || len(reached) > 7 // any value of the accumulator
			if !named {
				t.Fatalf("Eval(%+v) = %v, which reach does not name: %v\n%s", d, got, reached, p)
			}
		}
	})
}

func TestEvalDividesByZero(t *testing.T) {
	p := Program{{Code: opLdxImm}, {Code: classAlu | aluDiv | srcX}, ret}
	if got := p.Eval(Data{}); got != KillThread {
		t.Errorf("Eval = %v, want %v", got, KillThread)
	}
}

func TestEvalNegatesAndShiftsAsTheKernel(t *testing.T) {
	p := Program{{Code: opLdImm, K: 1}, {Code: opNeg}, {Code: opRetA}}
	if got := p.Eval(Data{}); got != 1<<32-1 {
		t.Errorf("-1 = %#x", uint32(got))
	}
	p = Program{{Code: opLdImm, K: 1}, {Code: opLdxImm, K: 33}, {Code: classAlu | aluLsh | srcX}, {Code: opRetA}}
	if got := p.Eval(Data{}); got != 2 {
		t.Errorf("1 << 33 = %d, want 2: the kernel takes the low five bits", got)
	}
}

func TestEvalReadsTheLowWordFirst(t *testing.T) {
	p := Program{{Code: opLdAbs, K: 24}, {Code: opRetA}}
	if got := p.Eval(Data{Args: [6]uint64{0, 0x1111111122222222}}); got != 0x22222222 {
		t.Errorf("the word at 24 = %#x, want the low half of argument 1", uint32(got))
	}
	p[0].K = 28
	if got := p.Eval(Data{Args: [6]uint64{0, 0x1111111122222222}}); got != 0x11111111 {
		t.Errorf("the word at 28 = %#x, want the high half of argument 1", uint32(got))
	}
}

func BenchmarkEval(b *testing.B) {
	p, err := Default(Options{})
	if err != nil {
		b.Fatal(err)
	}
	d := Data{Nr: 41, Arch: auditAMD64, Args: [6]uint64{2, 1, 0}}
	for b.Loop() {
		p.Eval(d)
	}
}

func BenchmarkDefault(b *testing.B) {
	for b.Loop() {
		if _, err := Default(Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
