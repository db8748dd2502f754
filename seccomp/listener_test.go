package seccomp

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// Another listener is refused by whatever way the call comes, and nothing else is changed.
func TestSoleListener(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for goarch, entries := range map[string][]Data{
		"amd64": {{Arch: auditAMD64, Nr: 317}, {Arch: auditAMD64, Nr: 317 | x32Bit}, {Arch: auditI386, Nr: 354}},
		"arm64": {{Arch: auditARM64, Nr: 277}, {Arch: auditARM, Nr: 383}},
	} {
		def := defaultOf(t, goarch, Options{UnixBroker: true})
		for name, p := range map[string]Program{"nothing": {ret}, "default": def, "untouched registers": {{Code: opRetA}}} {
			changed, err := soleListener(p, goarch)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range entries {
				for _, flags := range []uint64{8, 8 | 1<<5, 8 | 1 | 1<<4, 1<<32 | 8, 0xffffffff} {
					d.Args = [6]uint64{1, flags, 4096}
					if got := changed.Eval(d); got != Errno(ebusy) {
						t.Errorf("%s, %s, %+v: %v", goarch, name, d, got)
					}
				}
				for _, flags := range []uint64{0, 1, 1 << 4, 7, 8 << 32} { // positive control
					d.Args = [6]uint64{1, flags, 4096}
					if want, got := p.Eval(d), changed.Eval(d); got != want {
						t.Errorf("%s, %s, %+v: %v, want %v", goarch, name, d, got, want)
					}
				}
			}
			for nr := range uint32(600) {
				for _, arch := range []uint32{auditAMD64, auditARM64, auditI386, auditARM} {
					d := Data{Nr: nr, Arch: arch, IP: r.Uint64()}
					if slices.ContainsFunc(entries, func(e Data) bool { return e.Nr == nr && e.Arch == arch }) {
						continue
					}
					for i := range d.Args {
						d.Args[i] = r.Uint64() | 8
					}
					if want, got := p.Eval(d), changed.Eval(d); got != want {
						t.Fatalf("%s, %s, %+v: %v, want %v", goarch, name, d, got, want)
					}
				}
			}
		}
	}
}

// The calls that the kernel need not run p for stay in its table, but for seccomp(2).
func TestSoleListenerKeepsTheAllowBitmap(t *testing.T) {
	for _, goarch := range arches {
		p := defaultOf(t, goarch, Options{})
		changed, err := soleListener(p, goarch)
		if err != nil {
			t.Fatal(err)
		}
		kept := 0
		for nr := range uint32(600) {
			d := Data{Nr: nr, Arch: auditOf(t, goarch)}
			if !inBitmap(p, d) {
				continue
			}
			if want, _ := Number(goarch, "seccomp"); inBitmap(changed, d) != (nr != want) {
				t.Errorf("%s %s: in the table: %v", goarch, Name(goarch, nr), nr == want)
			}
			kept++
		}
		if kept < 100 {
			t.Errorf("%s: only %d calls are in the table: the test sees nothing", goarch, kept)
		}
	}
}

func TestSoleListenerRefuses(t *testing.T) {
	long := append(slices.Repeat(Program{{Code: opLdAbs}}, MaxInsns-1), ret)
	for name, p := range map[string]Program{"too long": long, "nothing": nil, "invalid": {{Code: opLdAbs}}} {
		if _, err := SoleListener(p); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := SoleListener(long[100:]); err != nil { // positive control
		t.Error(err)
	}
}
