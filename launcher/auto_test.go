package launcher

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
	"brainbox/internal/spawn"
)

// The isolation of a plan follows from the policy and the facts alone, whoever tried.
func TestAutoIsWhatTheFactsSay(t *testing.T) {
	no, broken := &Attempt{Step: spawn.StepNamespaces, Errno: unix.EPERM}, &Attempt{Step: spawn.StepRoot, Errno: unix.EPERM}
	w := world{host: host{abi: 7, uid: 1000, command: []string{"true"}}, tree: append(debian(), "/home/u/co/.git/hooks/", "/home/u/co/x")}
	auto, insisted, landlock := "", "[sandbox]\nisolation = \"namespaces\"\n", "[sandbox]\nisolation = \"landlock\"\n"
	deny := "[filesystem]\ndeny = [\"./x\"]\n"
	for _, c := range []struct {
		name, policy string
		refused      *Attempt
		isolation    string
		asked        string
		fallback     *Attempt
		refusal      string // a part of its message
	}{
		{"auto", auto, nil, "namespaces", "auto", nil, ""},
		{"auto, refused", auto, no, "landlock", "auto", no, ""},
		{"auto, broken", auto, broken, "namespaces", "auto", broken, "start in namespaces: root: EPERM"},
		{"namespaces", insisted, nil, "namespaces", "namespaces", nil, ""},
		{"namespaces, refused", insisted, no, "namespaces", "namespaces", no, "is not offered here (namespaces: EPERM)"},
		{"landlock", landlock, nil, "landlock", "landlock", nil, ""},
		{"landlock, refused", landlock, no, "landlock", "landlock", nil, ""},
		{"deny", deny, nil, "namespaces", "auto", nil, ""},
		{"deny, refused", deny, no, "landlock", "auto", no, `deny: "./x"`},
	} {
		p := resolve(t, "extends = [\"default\"]\n"+c.policy)
		f := w.facts(p)
		f.Refused = c.refused
		before := *f
		plan := NewPlan(p, f)
		got := ""
		if plan.Refusal != nil {
			got = plan.Refusal.Message
		}
		if plan.Isolation != c.isolation || plan.Asked != c.asked || !cmp.Equal(plan.Fallback, c.fallback) ||
			!strings.Contains(got, c.refusal) || (c.refusal == "") != (got == "") {
			t.Errorf("%s: isolation %s, asked %s, fallback %v, refusal %q", c.name, plan.Isolation, plan.Asked, plan.Fallback, got)
		}
		if len(plan.Mounts) > 0 != (c.isolation == "namespaces") {
			t.Errorf("%s: %d mounts", c.name, len(plan.Mounts))
		}
		if f.Refused != before.Refused || f.Untried != before.Untried || show(NewPlan(p, f)) != show(plan) {
			t.Errorf("%s: planning changes the facts", c.name)
		}
	}
}

// noUserns makes clone(2) with CLONE_NEWUSER fail on this thread, and in what it starts.
func noUserns(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	op := func(code uint16, k uint32, jt, jf uint8) unix.SockFilter {
		return unix.SockFilter{Code: code, K: k, Jt: jt, Jf: jf}
	}
	p := []unix.SockFilter{
		op(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, 0, 0, 0),
		op(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, unix.SYS_CLONE, 0, 2),
		op(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, 16, 0, 0),
		op(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, unix.CLONE_NEWUSER, 1, 0),
		op(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ALLOW, 0, 0),
		op(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM), 0, 0),
	}
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	_, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	if e != 0 {
		t.Fatal(e)
	}
}

// One look, one start: what the trial says before, the start itself says too, and both
// come to the same plan.
func TestStartsFallBackAsTrialsDo(t *testing.T) {
	needs.Userns(t)
	dir, err := hostDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, shape := range []string{"run", "host"} {
		for _, refused := range []bool{false, true} {
			name := shape + map[bool]string{true: "/refused", false: "/offered"}[refused]
			t.Run(name, func(t *testing.T) {
				if !needs.InChild(t, hostVariable+"="+dir) {
					return
				}
				var h *Host
				if shape == "host" {
					h = newHost(t)
				}
				if refused {
					noUserns(t)
				}
				for _, untried := range []bool{false, true} {
					autoRun(t, h, refused, untried)
				}
			})
		}
	}
}

func autoRun(t *testing.T, h *Host, refused, untried bool) {
	t.Helper()
	w := resolved(t.TempDir())
	f, p := planAsked(t, "auto", w, "echo $$ >pid; exit 5", untried)
	want := "namespaces"
	if refused {
		want = "landlock"
	}
	if !untried && (p.Isolation != want || (p.Fallback != nil) != refused) || untried && p.Isolation != "namespaces" {
		t.Errorf("untried %v: plan for %s, fallback %v", untried, p.Isolation, p.Fallback)
	}
	f2, tried := planAsked(t, "auto", w, "echo $$ >pid; exit 5", false)
	res, err := startAnd(h, p, f)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case res.Status != 5 || res.Plan.Isolation != want || (res.Plan.Fallback != nil) != refused:
		t.Errorf("untried %v: status %d, isolation %s, fallback %v", untried, res.Status, res.Plan.Isolation, res.Plan.Fallback)
	case refused && (res.Plan.Fallback.Errno != unix.EPERM || res.Plan.Fallback.Layer != seccompLayer):
		t.Errorf("the attempt: %+v", res.Plan.Fallback)
	}
	own := strings.NewReplacer(f.RunDir, "RUN", f2.RunDir, "RUN") // each look names a folder of its own
	if diff := cmp.Diff(own.Replace(show(tried)), own.Replace(show(res.Plan))); diff != "" {
		t.Errorf("the plan of a trial and that of a start (-trial +start):\n%s", diff)
	}
	if pid, err := os.ReadFile(w + "/pid"); err != nil || (string(pid) == "2\n") != !refused {
		t.Errorf("untried %v: the program was process %q, %v", untried, pid, err)
	}
	if left, err := os.ReadDir(f.RunDir); err == nil {
		t.Errorf("left: %v", left)
	}
}

func startAnd(h *Host, p *Plan, f *Facts) (*Result, error) {
	if h == nil {
		return p.Run(f, Options{Stdio: [3]int{0, 2, 2}})
	}
	s, err := h.Start(p, f, Options{Stdio: [3]int{0, 2, 2}})
	if err != nil {
		return nil, err
	}
	return s.Wait()
}

// A plan that was shown is carried out or refused, never replaced.
func TestTriedPlansAreNotReplaced(t *testing.T) {
	needs.Userns(t)
	if !needs.InChild(t) {
		return
	}
	f, p := planAsked(t, "auto", resolved(t.TempDir()), "exit 0", false)
	noUserns(t)
	res, err := p.Run(f, Options{Stdio: [3]int{0, 2, 2}})
	if res != nil || err == nil || !strings.Contains(err.Error(), "not offered here (namespaces: EPERM") {
		t.Errorf("%+v, %v", res, err)
	}
	f.Untried = true // positive control
	if res, err := p.Run(f, Options{Stdio: [3]int{0, 2, 2}}); err != nil || res.Plan.Isolation != "landlock" {
		t.Errorf("%+v, %v", res, err)
	}
}
