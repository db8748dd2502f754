package launcher_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"brainbox/landlock"
	"brainbox/launcher"
	"brainbox/policy"
)

// updateFeatures is the flag -update, which the package's other tests may have defined.
var updateFeatures = func() flag.Value {
	if f := flag.Lookup("update"); f != nil {
		return f.Value
	}
	flag.Bool("update", false, "rewrite the golden files")
	return flag.Lookup("update").Value
}()

const (
	featuresPage  = "../docs/kernel-features.md"
	featuresBegin = "<!-- begin: written by go test ./launcher -run TestKernelFeatures -update -->\n"
	featuresEnd   = "<!-- end -->\n"
)

// place is a system as its documents describe it. Only abi and err decide anything.
type place struct {
	name, linux, namespaces string
	abi                     int
	err                     error
	facts                   string // where they are from
}

func blocked(reason landlock.Reason, errno unix.Errno) error {
	return &landlock.NotAvailableError{Reason: reason, Err: os.NewSyscallError("landlock_create_ruleset", errno)}
}

// documents are where the facts are from that nobody has recorded.
const documents = "documents"

// places lists the systems of the page that are known by their documents, and the reference
// machine, oldest kernel first.
func places() []place {
	return []place{
		{"RHEL 9, before 9.6", "5.14", "yes", 0, blocked(landlock.NotBuilt, unix.ENOSYS), documents},
		{"WSL2, kernel 6.6", "6.6", "yes", 3, nil, documents},
		{"Ubuntu 24.04", "6.8", "no: AppArmor, unless a profile permits them", 4, nil, documents},
		{"RHEL 9.6", "5.14, with Landlock of 6.10", "yes", 5, nil, documents},
		{"RHEL 10", "6.12", "yes", 6, nil, documents},
		{"Debian 13", "6.12", "yes", 6, nil, documents},
		{"Fedora 43", "6.17", "yes", 7, nil, documents},
		{"WSL2, kernel 6.18", "6.18", "yes", 7, nil, documents},
		{"**reference machine**", "6.18", "yes", 7, nil, "measured"},
		{"default docker on it", "6.18", "no: docker's filter", 7, nil, "measured"},
		{"a container whose filter refuses Landlock", "6.18", "no: its filter", 0, blocked(landlock.Blocked, unix.EPERM), documents},
		{"any, started with lsm= without landlock", "6.18", "yes", 0, blocked(landlock.Disabled, unix.EOPNOTSUPP), documents},
		{"Linux 7.1", "7.1", "yes", 9, nil, documents},
	}
}

// decide plans a run of the default policy with more flags on a system.
func decide(t *testing.T, abi int, missing error, flags ...[2]string) *launcher.Plan {
	t.Helper()
	layer := policy.NewFlagLayer()
	for _, f := range flags {
		if err := layer.Set(f[0], f[0], f[1]); err != nil {
			t.Fatal(err)
		}
	}
	layers, err := policy.Layers("", nil, layer)
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.Resolve(policy.Input{Vars: policy.Vars{Home: "/home/u", Pwd: "/home/u/co", Cwd: "/home/u/co", TmpDir: "/tmp"}}, layers...)
	if err != nil {
		t.Fatal(err)
	}
	f := &launcher.Facts{
		Place:    &launcher.Place{UID: 1000, EUID: 1000, GID: 1000, User: "u", Home: "/home/u", Cwd: "/home/u/co", TmpBase: "/tmp"},
		Landlock: landlock.Support{ABI: abi, Errata: 7}, LandlockErr: missing, RunDir: "/tmp/brainbox-1000/run",
		Cgroup: launcher.CgroupFact{Reason: "not delegated"}, Home: launcher.HomeFact{Kind: "run"},
		Cwd: launcher.PathFact{Target: "/home/u/co", Dir: true},
	}
	for _, g := range p.Grants {
		f.Wants = append(f.Wants, launcher.Want{Grant: g})
		f.Paths = append(f.Paths, launcher.PathFact{Target: g.Abs, Dir: true})
	}
	if p.Sandbox.Isolation.V == "namespaces" {
		f.Inside = &launcher.InsideFact{}
	}
	return launcher.NewPlan(p, f)
}

// verdict says what a run becomes: "starts", or the clause that refuses.
func verdict(p *launcher.Plan) string {
	if p.Refusal == nil {
		return "starts"
	}
	return "refused: " + firstWord(p.Refusal.Clause, p.Refusal.Message)
}

func firstWord(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}

// accepted adds the refusing clause to the accepted ones until the run starts, and says
// which they are; "never" if accepting a clause does not help.
func accepted(t *testing.T, at place, flags ...[2]string) string {
	t.Helper()
	var names []string
	for {
		p := decide(t, at.abi, at.err, flags...)
		if p.Refusal == nil {
			return firstWord(strings.Join(names, ", "), "–")
		}
		if p.Refusal.Clause == "" || slices.Contains(names, p.Refusal.Clause) {
			return "never"
		}
		names = append(names, p.Refusal.Clause)
		flags = append(flags, [2]string{"sandbox.degraded", p.Refusal.Clause})
	}
}

// features writes the tables of the page.
func features(t *testing.T) string {
	t.Helper()
	ports := tcpPorts()
	all := places()
	for _, r := range readRecords(t) {
		all = append(all, r.place(t))
	}
	slices.SortStableFunc(all, func(a, b place) int { return slices.Compare(version(a.linux), version(b.linux)) })
	var b strings.Builder
	b.WriteString("| system | Linux | facts | Landlock ABI | user namespaces | `landlock`, default policy | `landlock`, `--net ports` " +
		"| default policy starts with `--allow-degraded` | `namespaces` |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, at := range all {
		abi := "none"
		if at.abi > 0 {
			abi = fmt.Sprint(at.abi)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", at.name, at.linux, at.facts, abi, at.namespaces,
			verdict(decide(t, at.abi, at.err)), verdict(decide(t, at.abi, at.err, ports...)), accepted(t, at), at.inside(t))
	}
	b.WriteString("\n| ABI | Linux | files | network none | network ports | unix | ipc |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, v := range landlock.Versions() {
		base, tcp := decide(t, v.ABI, nil), decide(t, v.ABI, nil, ports...)
		fmt.Fprintf(&b, "| %d | %s | %s | %s | %s | %s | %s |\n", v.ABI, v.Linux,
			clause(base, "files"), clause(base, "network"), clause(tcp, "network"), clause(base, "unix"), clause(base, "ipc"))
	}
	return b.String()
}

// tcpPorts opens one port.
func tcpPorts() [][2]string {
	return [][2]string{{"network.mode", "ports"}, {"network.connect_tcp", "443"}}
}

// inside says what a run in isolation namespaces becomes.
func (p place) inside(t *testing.T) string {
	t.Helper()
	v := verdict(decide(t, p.abi, p.err, [2]string{"sandbox.isolation", "namespaces"}))
	if v == "starts" && strings.HasPrefix(p.namespaces, "no") {
		return "refused: not offered"
	}
	return v
}

// clause shows one clause of a plan: its state, and what holds it or is missing.
func clause(p *launcher.Plan, name string) string {
	for i := range p.Clauses {
		c := &p.Clauses[i]
		if c.Name != name {
			continue
		}
		if c.State == launcher.StateEnforced {
			return c.Mechanism
		}
		return c.State.String() + ": needs " + c.Requirement
	}
	return "no clause"
}

// TestKernelFeatures holds docs/kernel-features.md to what NewPlan decides.
func TestKernelFeatures(t *testing.T) {
	page, err := os.ReadFile(featuresPage)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(page), featuresBegin)
	old, tail, closed := strings.Cut(rest, featuresEnd)
	if !ok || !closed {
		t.Fatalf("%s has no generated part", featuresPage)
	}
	got := features(t)
	if updateFeatures.String() == "true" {
		if err := os.WriteFile(featuresPage, []byte(head+featuresBegin+got+featuresEnd+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(old, got); diff != "" {
		t.Errorf("the page and the plans differ (-page +plans), -update writes it:\n%s", diff)
	}
}

// TestReferenceMachine asserts what the page says of the machine it was measured on,
// where the test runs on such a one.
func TestReferenceMachine(t *testing.T) {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		t.Fatal(err)
	}
	release := unix.ByteSliceToString(name.Release[:])
	support, err := landlock.Probe()
	for _, at := range places() {
		if at.err != nil || !strings.HasPrefix(at.name, "**") || !strings.HasPrefix(release, at.linux+".") {
			continue
		}
		if err != nil || support.ABI != at.abi {
			t.Errorf("Probe() = %+v, %v on Linux %s; the page says ABI %d", support, err, release, at.abi)
		}
		return
	}
	t.Logf("Linux %s is not the reference machine's", release)
}
