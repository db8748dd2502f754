//go:build cgo

package compile

import (
	"encoding/json"
	"os"
	"runtime"
	"slices"
	"testing"

	"brainbox/seccomp"
	"brainbox/seccomp/profile"
	"brainbox/seccomp/tree"

	libseccomp "github.com/seccomp/libseccomp-golang"
)

// firstShared is the first number that every architecture gives to the same call (Linux 5.1).
const firstShared = 424

// TestLibseccompDecidesAsTheSearchTreeOfTheOther is the comparison of the native filters for
// the other architecture. For a foreign one the library takes native numbers and translates
// them by name: a call that it does not know has no rule there, and its verdict is the
// default. Such calls must be the newest, and those alone are left out.
func TestLibseccompDecidesAsTheSearchTreeOfTheOther(t *testing.T) {
	other, token := "arm64", libseccomp.ArchARM64
	if runtime.GOARCH == "arm64" {
		other, token = "amd64", libseccomp.ArchAMD64
	}
	blob, err := os.ReadFile("../default-" + other + ".bpf")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, o := range foreignOptions() {
		oci, err := profile.For(other, o)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(oci)
		if err != nil {
			t.Fatal(err)
		}
		if seen[string(text)] {
			continue
		}
		seen[string(text)] = true
		planned, err := plan(logged(oci), other, resolves)
		if err != nil {
			t.Fatal(err)
		}
		p, unknown := foreign(t, planned, token)
		policy, err := tree.Resolve(oci, other)
		if err != nil {
			t.Fatal(err)
		}
		own, err := seccomp.Link(string(blob), o)
		if err != nil {
			t.Fatal(err)
		}
		n := compareVerdicts(t, policy, own, p, unknown)
		if n < 3000 || len(unknown) > 30 {
			t.Fatalf("%+v: only %d inputs, or too many calls left out: %v", o, n, unknown)
		}
	}
	if len(seen) < 16 {
		t.Errorf("only %d different profiles", len(seen))
	}
}

// foreignOptions are those between which every rule of the profile takes each of its forms.
func foreignOptions() []seccomp.Options {
	all := []seccomp.Options{{KeepsRoot: true}, {Debug: true}}
	for _, n := range []seccomp.Network{seccomp.NetNone, seccomp.NetPorts, seccomp.NetPortsDNS, seccomp.NetHost} {
		all = append(all, seccomp.Options{Network: n}, seccomp.Options{Network: n, Listen: true},
			seccomp.Options{Network: n, UnixSockets: true}, seccomp.Options{Network: n, Namespaces: true},
			seccomp.Options{Network: n, UnixBroker: true})
	}
	return all
}

// foreign compiles a plan for another architecture, and names the calls that the library
// does not know.
func foreign(t *testing.T, p planned, token libseccomp.ScmpArch) (seccomp.Program, []uint32) {
	t.Helper()
	filter, err := libseccomp.NewFilter(native(p.fallback))
	if err != nil {
		t.Fatal(err)
	}
	defer filter.Release()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(filter.SetBadArchAction(libseccomp.ActKillProcess))
	must(filter.AddArch(token))
	must(filter.RemoveArch(libseccomp.ArchNative))
	must(filter.SetOptimize(optimizeTree))
	var unknown []uint32
	for _, r := range p.rules {
		call, err := libseccomp.GetSyscallFromName(r.name)
		if err != nil {
			if r.nr < firstShared {
				t.Fatalf("the library does not know %s: %v", r.name, err)
			}
			unknown = append(unknown, r.nr)
			continue
		}
		conds := make([]libseccomp.ScmpCondition, len(r.conds))
		for i, c := range r.conds {
			conds[i], err = libseccomp.MakeCondition(c.Index, operator(c.Op), c.Value, c.ValueTwo)
			must(err)
		}
		must(filter.AddRuleConditionalExact(call, native(r.action), conds))
	}
	raw, err := exportBPF(filter)
	must(err)
	program, err := seccomp.Decode(raw)
	must(err)
	return program, unknown
}

// compareVerdicts runs the checked-in program and the library's over the inputs of the policy.
func compareVerdicts(t *testing.T, policy tree.Policy, own, library seccomp.Program, unknown []uint32) (n int) {
	t.Helper()
	tree.Inputs(policy, 60, func(d seccomp.Data) {
		if d.Arch == policy.Arch && slices.Contains(unknown, d.Nr) {
			return
		}
		n++
		want := library.Eval(d)
		if want == seccomp.Log {
			want = seccomp.Notify
		}
		if got := own.Eval(d); got != want {
			t.Fatalf("the tree says %v for %+v, libseccomp %s says %v", got, d, Version(), want)
		}
	})
	return n
}
