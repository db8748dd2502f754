package seccomp

import (
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// designed is what an observed filter is to answer where p answers act.
func designed(goarch string, d Data, act Action, m Mark) Action {
	arch, _ := AuditArch(goarch)
	if d.Arch != arch || m != 0 && d.Args[5] == uint64(m) {
		return act
	}
	e, refused := act.Errno()
	if act&actionMask != Allow && !refused {
		return act
	}
	name := Name(goarch, d.Nr)
	switch {
	case refused && e == 0:
	case slices.Contains(observed, name) && (act&actionMask == Allow || refused && e != enosys):
		return Notify
	case slices.Contains(explained, name) && refused:
		return Notify
	}
	return act
}

const testMark Mark = 0x1122334455667788

// inputs are kinds of arguments of a call, marked ones among them.
func inputs(p Program, nr, arch uint32, r *rand.Rand) []Data {
	var list []Data
	words, values := p.classes(nr, arch)
	add := func(d Data) {
		list = append(list, d)
		for _, sixth := range []uint64{uint64(testMark), uint64(testMark) + 1, uint64(testMark) + 1<<32, 0} {
			d.Args[5] = sixth
			list = append(list, d)
		}
	}
	add(Data{Nr: nr, Arch: arch})
	for i, off := range words {
		for _, v := range values[i] {
			d := Data{Nr: nr, Arch: arch}
			d.setWord(off, v)
			add(d)
		}
	}
	for range 8 {
		d := Data{Nr: nr, Arch: arch, IP: r.Uint64()}
		for i := range d.Args {
			d.Args[i] = r.Uint64() >> r.IntN(64)
		}
		for i, off := range words {
			d.setWord(off, values[i][r.IntN(len(values[i]))])
		}
		add(d)
	}
	return list
}

// TestObserveChangesOnlyWhatIsDesigned runs every number with every kind of argument.
func TestObserveChangesOnlyWhatIsDesigned(t *testing.T) {
	for _, goarch := range arches {
		programs := map[string]Program{"nothing": nil, "computed": {{Code: opLdAbs, K: 24}, {Code: opRetA}}, "untouched registers": {{Code: opRetA}}}
		for _, o := range []Options{{}, {KeepsRoot: true}, {UnixBroker: true}, {Network: NetHost, Debug: true, Namespaces: true}, {Network: NetPorts, UnixSockets: true}} {
			programs[strings.ReplaceAll(strings.Trim(cmp.Diff(Options{}, o), " \n"), "\n", " ")] = defaultOf(t, goarch, o)
		}
		for name, p := range programs {
			for _, m := range []Mark{testMark, 0} {
				t.Run(goarch, func(t *testing.T) { testObserve(t, goarch, name, p, m) })
			}
		}
	}
}

func testObserve(t *testing.T, goarch, name string, p Program, m Mark) {
	r := rand.New(rand.NewPCG(3, 4))
	native, foreign := entries[goarch][0], auditAMD64^auditARM64^entries[goarch][0]
	changed, err := observe(p, goarch, m)
	if err != nil {
		t.Fatal(err)
	}
	if p == nil {
		p = Program{ret}
	}
	asked := map[Action]int{}
	for nr := range uint32(600) {
		list := inputs(p, nr, native, r)
		for _, d := range list[:2] { // another architecture, x32, both
			list = append(list, Data{Nr: nr, Arch: foreign, Args: d.Args}, Data{Nr: nr, Arch: entries[goarch][1], Args: d.Args},
				Data{Nr: nr | x32Bit, Arch: native, Args: d.Args}, Data{Nr: nr | x32Bit, Arch: foreign, Args: d.Args})
		}
		for _, d := range list {
			act := p.Eval(d)
			want, got := designed(goarch, d, act, m), changed.Eval(d)
			if got != want {
				t.Fatalf("%s, mark %x, %+v: %v, want %v; the program's filter says %v", name, m, d, got, want, act)
			}
			if got != act {
				asked[act]++
			}
		}
	}
	if name == "nothing" && asked[Allow] == 0 || len(p) > 10 && (asked[Allow] == 0 || asked[Errno(1)] == 0) {
		t.Errorf("%s: notified %v; want both allowed and refused calls", name, asked) // positive control
	}
}

func FuzzObserve(f *testing.F) {
	f.Add(Program{{Code: opLdAbs, K: 16}, {Code: opSt, K: 1}, {Code: opLdxMem, K: 1}, {Code: opTxa}, {Code: opRetA}}.Bytes(), uint64(1))
	p, err := Default(Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(p.Bytes(), uint64(2))
	f.Fuzz(func(t *testing.T, b []byte, seed uint64) {
		p, err := Decode(b)
		if err != nil {
			return
		}
		changed, err := observe(p, "amd64", testMark)
		if err != nil {
			if len(p)*3+200 < MaxInsns/3 {
				t.Fatal(err)
			}
			return
		}
		r := rand.New(rand.NewPCG(seed, seed))
		for range 64 {
			d := randomData(r)
			if r.IntN(2) == 0 {
				for i := range d.Args {
					d.Args[i] = uint64(Allow) + uint64(r.IntN(2))
				}
				d.Args[r.IntN(6)] = uint64(Errno([]uint16{0, 1, enosys}[r.IntN(3)]))
			}
			act := p.Eval(d)
			if want, got := designed("amd64", d, act, testMark), changed.Eval(d); got != want {
				t.Fatalf("%+v: %v, want %v, the program's filter says %v\n%s\n%s", d, got, want, act, p, changed)
			}
		}
	})
}

// A call that the kernel need not run p for needs no observed filter either.
func TestObserveKeepsTheAllowBitmap(t *testing.T) {
	for _, goarch := range arches {
		p := defaultOf(t, goarch, Options{})
		changed, err := observe(p, goarch, testMark)
		if err != nil {
			t.Fatal(err)
		}
		kept := 0
		for nr := range uint32(600) {
			d, name := Data{Nr: nr, Arch: auditOf(t, goarch)}, Name(goarch, nr)
			if !inBitmap(p, d) {
				continue
			}
			if slices.Contains(observed, name) {
				if inBitmap(changed, d) {
					t.Errorf("%s: %s is in the bitmap, and would never be notified", goarch, name)
				}
				continue
			}
			kept++
			if !inBitmap(changed, d) {
				t.Errorf("%s: %s has left the bitmap", goarch, name)
			}
		}
		if kept < 100 {
			t.Errorf("%s: only %d calls are in the bitmap: the test sees nothing", goarch, kept)
		}
	}
}

func TestObserveRefuses(t *testing.T) {
	long := slices.Repeat(Program{{Code: opLdAbs}}, 1400)
	for name, p := range map[string]Program{
		"three times too long": append(long, ret),
		"invalid":              {{Code: opLdAbs}},
	} {
		if _, err := Observe(p, 0); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Observe(append(long[:1200], ret), 0); err != nil { // positive control
		t.Error(err)
	}
}

func TestObservedAndExplained(t *testing.T) {
	for _, goarch := range arches {
		for _, list := range [][]string{observed, explained} {
			here := existing(list, goarch)
			if goarch == "amd64" && len(here) != len(list) {
				t.Errorf("%d of %d names are calls of amd64", len(here), len(list))
			}
			if goarch == "arm64" && (len(here) == 0 || slices.Contains(here, "open")) {
				t.Errorf("arm64: %v; want some, and no open", here)
			}
		}
		var names []string
		names = append(append(names, observed...), explained...)
		slices.Sort(names)
		if n := len(slices.Compact(slices.Clone(names))); n != len(names) {
			t.Error("a name is there twice")
		}
	}
}

func TestObservedFilterIsGolden(t *testing.T) {
	for _, goarch := range arches {
		arch, err := AuditArch(goarch)
		if err != nil {
			t.Fatal(err)
		}
		p := Program{
			{Code: opLdAbs, K: offArch},
			{Code: opJeq, K: arch, Jt: 1},
			{Code: opRetK, K: uint32(KillProcess)},
			{Code: opLdAbs, K: offNr},
			{Code: opJeq, K: 41, Jf: 1},
			{Code: opRetK, K: uint32(Errno(1))},
			ret,
		}
		got, err := observe(p, goarch, testMark)
		if err != nil {
			t.Fatal(err)
		}
		file := "testdata/observed-" + goarch + ".txt"
		if *update {
			if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

// inBitmap follows seccomp_is_const_allow of kernel/seccomp.c (Linux 5.11): what it cannot
// follow is not in the bitmap.
func inBitmap(p Program, d Data) bool {
	var a uint32
	for pc := 0; pc < len(p); pc++ {
		in := p[pc]
		switch {
		case in.Code == opLdAbs && in.K < 8:
			a = d.word(in.K)
		case in.Code == opRetK:
			return Action(in.K) == Allow
		case in.Code == opJa:
			pc += int(in.K)
		case in.Code&classMask == classJmp && in.Code&srcX == 0:
			pc += in.skip(a, in.K)
		case in.Code == opAndK:
			a &= in.K
		default:
			return false
		}
	}
	return false
}
