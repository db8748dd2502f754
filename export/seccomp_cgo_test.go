//go:build cgo

package export

import (
	"encoding/json"
	"runtime"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"

	"brainbox/launcher"
	"brainbox/seccomp"
	"brainbox/seccomp/compile"
	"brainbox/seccomp/tree"
)

// variants are the options one by one, and all networks for root and for others; all 256 are
// compared in package compile.
func variants() []seccomp.Options {
	list := []seccomp.Options{
		{Network: seccomp.NetPorts, Listen: true}, {UnixSockets: true}, {UnixBroker: true}, {Debug: true},
	}
	for n := seccomp.NetNone; n <= seccomp.NetHost; n++ {
		list = append(list, seccomp.Options{Network: n, KeepsRoot: true, Namespaces: true}, seccomp.Options{Network: n})
	}
	return list
}

// TestSeccompDecidesAsThePlan reads what is printed for docker as a runtime does, compiles it
// with the library that runtimes use, and compares its verdicts with the plan's own program.
func TestSeccompDecidesAsThePlan(t *testing.T) {
	seen := map[string]bool{}
	for _, o := range variants() {
		plan := &launcher.Plan{Seccomp: o}
		profile, gaps, err := Seccomp(Input{Plan: plan})
		if err != nil {
			t.Fatal(err)
		}
		if (len(gaps) == 1) != o.UnixBroker {
			t.Fatalf("%+v: gaps %v", o, gaps)
		}
		text, err := json.Marshal(profile)
		if err != nil {
			t.Fatal(err)
		}
		if seen[string(text)] {
			continue
		}
		seen[string(text)] = true
		read := &specs.LinuxSeccomp{}
		if err := json.Unmarshal(text, read); err != nil {
			t.Fatal(err)
		}
		theirs, err := compile.Compile(read)
		if err != nil || len(theirs.Dropped) > 0 {
			t.Fatalf("%+v: %v, dropped %q", o, err, theirs.Dropped)
		}
		plan.Seccomp.UnixBroker = false // the gap
		ours, err := plan.FilterProgram()
		if err != nil {
			t.Fatal(err)
		}
		read.Architectures = nil // which is the native one
		rules, err := tree.Resolve(read, runtime.GOARCH)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		tree.Inputs(rules, 20, func(d seccomp.Data) {
			n++
			if got, want := theirs.Program.Eval(d), ours.Eval(d); got != want {
				t.Fatalf("%+v: the profile says %v for %+v, the plan %v", o, got, d, want)
			}
		})
		if n < 3000 {
			t.Fatalf("only %d inputs", n)
		}
	}
	if len(seen) < 10 {
		t.Errorf("only %d different profiles", len(seen))
	}
}
