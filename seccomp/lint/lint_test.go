//go:build cgo

package lint

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"brainbox/seccomp"
	"brainbox/seccomp/compile"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// env is what brainbox-seccomp gives Lint.
func env(t testing.TB) Env {
	t.Helper()
	base, err := seccomp.Default(seccomp.Options{Network: seccomp.NetHost, Listen: true, UnixSockets: true})
	if err != nil {
		t.Fatal(err)
	}
	return Env{
		Arch: runtime.GOARCH, Default: base, Runtime: compile.Runtime, Known: compile.Resolves,
		Compile: func(p *specs.LinuxSeccomp) (seccomp.Program, error) {
			r, err := compile.Compile(p)
			return r.Program, err
		},
	}
}

// quiet is a profile of which nothing is said: an allow list with what a program needs.
const quiet = `{"names":["execve","rt_sigprocmask","write","exit_group","read","rseq","openat","statx","close"],"action":"SCMP_ACT_ALLOW"}`

// allowing is the quiet profile and more rules.
func allowing(rules ...string) string {
	return top(`"defaultAction":"SCMP_ACT_ERRNO","defaultErrnoRet":38`, append([]string{quiet}, rules...)...)
}

func top(fields string, rules ...string) string {
	return `{` + fields + `,"syscalls":[` + strings.Join(rules, ",") + `]}`
}

func allow(name string, args ...string) string { return rule("SCMP_ACT_ALLOW", name, args...) }

// deny gives EPERM, and names it.
func deny(name string, args ...string) string {
	return strings.TrimSuffix(rule("SCMP_ACT_ERRNO", name, args...), "}") + `,"errnoRet":1}`
}

// missing answers ENOSYS.
func missing(name string) string {
	return strings.TrimSuffix(rule("SCMP_ACT_ERRNO", name), "}") + `,"errnoRet":38}`
}

func rule(action, name string, args ...string) string {
	return fmt.Sprintf(`{"names":[%q],"action":%q,"args":[%s]}`, name, action, strings.Join(args, ","))
}

func arg(index int, op string, value, two uint64) string {
	return fmt.Sprintf(`{"index":%d,"op":"SCMP_CMP_%s","value":%d,"valueTwo":%d}`, index, op, value, two)
}

// low compares the low half of an argument.
func low(index int, value uint64) string { return arg(index, "MASKED_EQ", 1<<32-1, value) }

// denyList is a profile that allows, with rules.
func denyList(rules ...string) string { return top(`"defaultAction":"SCMP_ACT_ALLOW"`, rules...) }

// find returns the findings of one rule.
func find(r Report, id string) (list []Finding) {
	for _, f := range r.Findings {
		if f.Rule == id {
			list = append(list, f)
		}
	}
	return list
}

func TestQuietProfileIsQuiet(t *testing.T) {
	r := Lint([]byte(allowing()), env(t))
	if len(r.Findings) != 0 || r.Judged != "brainbox" || r.Form != "oci" || len(r.Wider) != 0 || len(r.Narrower) < 100 {
		t.Errorf("Lint = %+v, want nothing but what is narrower", r)
	}
}

func TestRules(t *testing.T) {
	e := env(t)
	tested := map[string]bool{}
	for _, c := range cases() {
		tested[c.rule] = true
		t.Run(c.rule, func(t *testing.T) {
			if c.native != "" && c.native != runtime.GOARCH {
				t.Skip("of another architecture") // gating: an architecture, not a machine
			}
			got := find(Lint([]byte(c.fault), e), c.rule)
			if len(got) == 0 {
				t.Fatalf("not found in %.300s but %+v", c.fault, Lint([]byte(c.fault), e).Findings)
			}
			severity := ruleOf(c.rule).Severity
			if c.severity != nil {
				severity = *c.severity
			}
			f := got[0]
			if f.Severity != severity || f.Place != c.place || f.Message == "" || f.Why == "" || f.Hint == "" {
				t.Errorf("found %+v, want severity %v at %q", f, severity, c.place)
			}
			if c.says != "" && !strings.Contains(f.Message, c.says) {
				t.Errorf("message %q, want %q in it", f.Message, c.says)
			}
			if got := find(Lint([]byte(c.sound), e), c.rule); len(got) != 0 {
				t.Errorf("found in the sound one too: %+v", got)
			}
		})
	}
	for _, r := range Rules() {
		if !tested[r.ID] {
			t.Errorf("rule %s has no test", r.ID)
		}
		if r.What == "" || r.Remedy == "" {
			t.Errorf("rule %s says nothing", r.ID)
		}
	}
	if len(tested) != len(Rules()) {
		t.Errorf("%d rules are tested, %d exist", len(tested), len(Rules()))
	}
}

// TestFindingsAreBounded has a profile that would otherwise say more than anybody reads.
func TestFindingsAreBounded(t *testing.T) {
	var names []string
	for i := range 5000 {
		names = append(names, fmt.Sprintf(`"nocall%d"`, i))
	}
	r := Lint([]byte(allowing(`{"names":[`+strings.Join(names, ",")+`],"action":"SCMP_ACT_ALLOW"}`)), env(t))
	got := find(r, "name-unknown")
	if len(got) != maxAlike+1 || got[maxAlike].Message != "4900 more of these" {
		t.Errorf("%d findings, the last %+v", len(got), got[len(got)-1])
	}
}

func TestDifference(t *testing.T) {
	r := Lint([]byte(allowing(allow("ptrace"), allow("ioctl"))), env(t))
	if len(r.Wider) != 2 || r.Wider[0].Call != "ioctl" || !r.Wider[0].Some || r.Wider[0].Example == "" || r.Wider[1] != (Change{Call: "ptrace"}) {
		t.Errorf("wider = %+v, want some of ioctl and all of ptrace", r.Wider)
	}
	has := func(list []Change, call string) bool {
		for _, c := range list {
			if c.Call == call {
				return true
			}
		}
		return false
	}
	if !has(r.Narrower, "mmap") || has(r.Narrower, "read") || has(r.Narrower, "ioctl") {
		t.Errorf("narrower = %+v", r.Narrower)
	}
	r = Lint([]byte(denyList(deny("ptrace"))), env(t))
	if !has(r.Wider, unlisted) || has(r.Wider, "ptrace") || len(r.Narrower) != 0 {
		t.Errorf("a deny list: wider %+v, narrower %+v", r.Wider, r.Narrower)
	}
	// The default filter is as wide as itself.
	e := env(t)
	e.Compile = func(*specs.LinuxSeccomp) (seccomp.Program, error) { return e.Default, nil }
	if r := Lint([]byte(allowing()), e); len(r.Wider)+len(r.Narrower)+len(r.Partial) != 0 {
		t.Errorf("against itself: %+v %+v %v", r.Wider, r.Narrower, r.Partial)
	}
}

func TestLintWithoutAProgram(t *testing.T) {
	r := Lint([]byte(top(`"defaultAction":"NOPE"`, allow("clone3"))), env(t))
	if r.Judged != "" || !r.Failed() || len(find(r, "clone3")) != 0 {
		t.Errorf("Lint = %+v, want the unknown action and no judgement of calls", r)
	}
	if r := Lint([]byte(allowing(rule("SCMP_ACT_NOTIFY", "clone3"))), env(t)); r.Judged != "runtime" || len(find(r, "clone3")) != 1 {
		t.Errorf("Lint = %+v, want clone3 judged as a runtime would load it", r)
	}
}
