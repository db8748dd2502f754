package profile

import (
	"os"
	"testing"

	"brainbox/seccomp"
	"brainbox/seccomp/tree"
)

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
			tree.Inputs(all[i], 400, func(d seccomp.Data) {
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
