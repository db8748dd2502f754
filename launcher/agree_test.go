package launcher

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"brainbox/internal/needs"
	"brainbox/policy"
)

var (
	agreeSeed  = flag.Uint64("agree.seed", 1, "the seed of TestThePlanAndTheKernelAgree; 0: another one each time")
	agreeTimes = flag.Int("agree.policies", 110, "how many policies it tries in each isolation")
)

// agreeOps is how many operations are tried under one policy, in one start.
const agreeOps = 12

// agreement tries operations under one policy.
type agreement struct {
	w      small
	place  *Place
	tally  map[string]int
	caught map[string]int // how often each faulty judge was found out
}

func newAgreement(t testing.TB, base string) *agreement {
	t.Helper()
	home := base + "/home"
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	w := small{root: base + "/w"}
	w.build(t)
	return &agreement{w: w, tally: map[string]int{}, caught: map[string]int{}, place: &Place{
		UID: os.Getuid(), EUID: os.Geteuid(), GID: os.Getgid(), User: "u", Home: home, Cwd: w.root, TmpBase: base,
		xdg: [5]string{home + "/.config", "", "", home + "/.local/state"}, environ: []string{"PATH=/usr/bin:/bin"},
	}}
}

// outsideTmp is a folder of the test that isolation namespaces has nothing of its own around.
func outsideTmp(t testing.TB) string {
	t.Helper()
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"/var/tmp", cwd} {
		if base, err := os.MkdirTemp(dir, "brainbox-test-"); err == nil { //nolint:usetesting // not below /tmp
			t.Cleanup(func() { _ = os.RemoveAll(base) })
			return resolved(base)
		}
	}
	t.Fatal("neither /var/tmp nor the package's folder can be written")
	return ""
}

// plan is nil for a policy that cannot be held, of which there are many.
func (a *agreement) plan(t testing.TB, p agreePolicy) (*Plan, *Facts) {
	t.Helper()
	file, err := policy.Parse(policy.KindFile, a.place.Home+"/policy.toml", []byte(p.text()))
	if err != nil {
		t.Fatalf("%v\n%s", err, p.text())
	}
	layers, err := policy.Layers("minimal", file, policy.NewFlagLayer())
	if err != nil {
		t.Fatal(err)
	}
	pol, err := policy.Resolve(policy.Input{Vars: a.place.Vars()}, layers...)
	if err != nil {
		return nil, nil
	}
	f, err := Observe(pol, a.place, Request{Untried: true})
	if err != nil {
		t.Fatal(err)
	}
	plan := NewPlan(pol, f)
	if plan.Refusal != nil {
		f.Close()
		return nil, nil
	}
	return plan, f
}

// try gives the operations of which plan and kernel say something different; ok is false for
// a policy that cannot be held.
func (a *agreement) try(t testing.TB, p agreePolicy, cases []agreeCase) (bad []disagreement, ok bool) {
	t.Helper()
	a.w.lay(t, cases)
	defer a.w.clear(cases)
	ops, wild := make([]Operation, len(cases)), false
	for i := range cases {
		cases[i].look(t)
		ops[i], wild = cases[i].op, wild || cases[i].wild()
	}
	free := a.free(t, ops)
	if wild {
		a.w.build(t)
	}
	a.w.lay(t, cases)
	for i, again := range a.free(t, onlyOpen(ops)) { // what is there now may be another file
		if again.Ino != 0 {
			free[i] = again
		}
	}
	plan, f := a.plan(t, p)
	if plan == nil {
		return nil, false
	}
	defer f.Close()
	judge := NewJudge(plan, f)
	said := make([]Judgement, len(ops))
	for i := range ops {
		said[i] = judge.Judge(ops[i])
	}
	held, err := plan.TryOut(f, ops)
	if err != nil {
		t.Fatalf("%v\n%s", err, p.text())
	}
	if wild {
		a.w.build(t)
	}
	for i := range ops {
		v := a.compare(plan, &ops[i], said[i], free[i], held[i])
		if v.Agreement == Disagrees {
			bad = append(bad, disagreement{cases[i], v, said[i]})
		}
	}
	return bad, true
}

// free is what the kernel says without confinement.
func (a *agreement) free(t testing.TB, ops []Operation) []Tried {
	t.Helper()
	list, err := (&Plan{Umask: 0o022}).TryFree(ops)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// compare is what Verify does with the answers, and counts.
func (a *agreement) compare(p *Plan, op *Operation, j Judgement, free, held Tried) Verification {
	if passesFree(op, free) != "" {
		a.tally["moot"]++
		return Verification{}
	}
	v := p.compare(op, j, free, held)
	if j.Verdict == Undecided || p.unknowable(op) != "" {
		v.Agreement = Unverified
	}
	for name, bend := range faultyJudges() {
		bent := bend(p, op, j)
		if bent != j && v.Agreement == Agrees && p.compare(op, bent, free, held).Agreement == Disagrees {
			a.caught[name]++
		}
	}
	a.tally[v.Agreement.String()]++
	a.tally[fmt.Sprintf("%d %s", op.Op, [...]string{"undecided", "allowed", "refused"}[j.Verdict])]++
	return v
}

// shrink leaves out lines of the policy as long as plan and kernel disagree about one
// operation.
func (a *agreement) shrink(t testing.TB, p agreePolicy, d disagreement) (agreePolicy, disagreement) {
	t.Helper()
	for again := true; again; {
		again = false
		for i := 1; i < len(p); i++ { // the first says which isolation
			less := slices.Delete(slices.Clone(p), i, i+1)
			if bad, ok := a.try(t, less, []agreeCase{d.c}); ok && len(bad) == 1 {
				p, d, again = less, bad[0], true
				break
			}
		}
	}
	return p, d
}

// TestThePlanAndTheKernelAgree asks plan and kernel about random operations under random
// policies, in both isolations. -agree.seed repeats what a failure shows.
func TestThePlanAndTheKernelAgree(t *testing.T) {
	needs.LandlockABI(t, 3)
	needs.Seccomp(t)
	seed := *agreeSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	for n, isolation := range []string{"landlock", "namespaces"} {
		t.Run(isolation, func(t *testing.T) {
			if isolation == "namespaces" {
				needs.Userns(t)
			}
			t.Logf("-agree.seed=%d", seed)
			r := rand.New(rand.NewPCG(seed, uint64(n)))
			a := newAgreement(t, outsideTmp(t))
			asked := a.run(t, r, isolation)
			t.Logf("%d operations: %v", asked, a.tally)
			if agreed := a.tally["agrees"]; agreed < asked/3 {
				t.Errorf("only %d of %d operations were compared: %v", agreed, asked, a.tally)
			}
			t.Logf("faulty judges were found out: %v", a.caught)
			for name := range faultyJudges() {
				if *agreeTimes >= 100 && a.caught[name] == 0 && (name != insideOnly || isolation == "namespaces") && (name != forgetsExecute || asksExecute()) {
					t.Errorf("a judge that %s would not be noticed", name)
				}
			}
		})
	}
}

// run tries the policies, and gives the number of operations.
func (a *agreement) run(t *testing.T, r *rand.Rand, isolation string) (asked int) {
	t.Helper()
	kinds := map[string]bool{}
	for done := 0; done < *agreeTimes; {
		p, hot := randomPolicy(r, a.w, isolation)
		cases := randomCases(r, hot, agreeOps)
		bad, ok := a.try(t, p, cases)
		if !ok {
			a.tally["no plan"]++
			continue
		}
		done++
		asked += len(cases)
		for _, d := range bad {
			kind := fmt.Sprintf("%d %s", d.c.op.Op, strings.ReplaceAll(d.v.Reason, filepath.Base(d.c.op.Path), ""))
			if kinds[kind] {
				continue // one of a kind is enough
			}
			kinds[kind] = true
			p, d := a.shrink(t, p, d)
			t.Errorf("%s", d.show(p))
		}
	}
	return asked
}
