package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"brainbox/internal/needs"
	"brainbox/internal/setuid/installed"
)

// The users of the vectors are those of the installation.
var _ [0]struct{} = [hostUID - installed.Host + agentUID - installed.Agent + thirdUID - installed.Third]struct{}{}

func install(t *testing.T) *installed.Installation {
	t.Helper()
	return installed.New(t, "brainbox/cmd/brainbox-kill", installed.Policy)
}

// statusLines reads from outside who a process is.
func statusLines(t *testing.T, v victim) string {
	t.Helper()
	return statusOf("/proc/"+v.pgid()+"/status", "Uid:", "Gid:", "Groups:")
}

// TestSetuidRefuses is the refused side of contract brainkit §1.6 with real users.
func TestSetuidRefuses(t *testing.T) {
	in := install(t)
	mine := newVictim(t, hostUID, 0)
	gone := newVictim(t, agentUID, 0)
	if err := gone.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	gone.endedBy(t)
	v := newVictim(t, agentUID, 0)
	all := in.Copy("everybody") // mode 4755: what the mode keeps out is refused by the code as well
	in.Do(func() error { return os.Chmod(all, 0o755|os.ModeSetuid) })
	ofHost := in.Copy("of-brain") // root:brain, as the record had it
	in.Do(func() error { return os.Chown(ofHost, 0, hostUID) })
	in.Do(func() error { return os.Chmod(ofHost, 0o750|os.ModeSetuid) })
	call := func(uid uint32, groups []uint32, argv ...string) installed.Call {
		return installed.Call{UID: uid, Groups: groups, Argv: argv}
	}
	callers := []uint32{installed.Callers}
	for _, tt := range []struct {
		name string
		call installed.Call
		want string
	}{
		{"bk/P3", call(hostUID, callers, in.Bin, v.pgid(), "HUP"), "signal"},
		{"bk/P4", call(hostUID, callers, in.Bin, "-1", "KILL"), "decimal"},
		{"bk/P5 bk/H2", call(hostUID, callers, in.Bin, "4294967297", "KILL"), "pid_max"},
		{"bk/P6 bk/H3", call(hostUID, callers, in.Bin, "+"+v.pgid(), "KILL"), "decimal"},
		{"bk/P7", call(hostUID, callers, in.Bin, v.pgid(), "KILL", "KILL"), "exactly two"},
		{"bk/P8 bk/H1 agent", call(agentUID, nil, all, v.pgid(), "KILL"), "uid 10002 is not among the callers"},
		{"bk/P8 bk/H4 agent in the group of the host", call(agentUID, []uint32{hostUID}, ofHost, v.pgid(), "KILL"), "uid 10002 is not"},
		{"bk/P9 third user", call(thirdUID, nil, all, v.pgid(), "KILL"), "uid 10003 is not among the callers"},
		{"bk/P10 group of the host", call(hostUID, callers, in.Bin, mine.pgid(), "KILL"), "kill: operation not permitted"},
		{"bk/P11 empty group", call(hostUID, callers, in.Bin, gone.pgid(), "KILL"), "kill: no such process"},
	} {
		in.Refused(tt.name, tt.call, tt.want)
	}
	// bk/P9, bk/H4: with a group of its own the mode alone keeps the agent and others out.
	for _, c := range []installed.Call{
		call(thirdUID, nil, in.Bin, v.pgid(), "KILL"), call(agentUID, []uint32{hostUID}, in.Bin, v.pgid(), "KILL"),
	} {
		if status, _, errs := in.Run(c); status != -2 {
			t.Errorf("uid %d executes a file with mode 4750: status %d, %q", c.UID, status, errs)
		}
	}
	for name, policy := range map[string]string{
		"no identity": version1, "no callers": sandboxTable + "identity = { user = \"agent\" }\n",
		"the agent as a caller": sandboxTable + "identity = { user = \"agent\" }\ncallers = [\"brain\", 10002]\n",
		"root":                  sandboxTable + "identity = { user = 0, group = 5 }\ncallers = [\"brain\"]\n",
		"group root":            sandboxTable + "identity = { user = \"agent\", group = 0 }\ncallers = [\"brain\"]\n",
		"a user of a directory": sandboxTable + "identity = { user = \"ldap\" }\ncallers = [\"brain\"]\n",
	} {
		in.Policy(policy)
		in.Refused(name, call(hostUID, callers, in.Bin, v.pgid(), "KILL"), "")
	}
	in.Policy(sandboxTable + "identity = { user = \"ldap\" }\ncallers = [\"brain\"]\n")
	in.Refused("the hint", call(hostUID, callers, in.Bin, v.pgid(), "KILL"), "use the numeric id")
	in.Do(func() error { return os.Chmod("/etc/brainbox/exec.toml", 0o600) })
	in.Refused("a policy that the caller cannot read", call(hostUID, callers, in.Bin, v.pgid(), "KILL"), "root sees why")
	if !v.alive(t) || !mine.alive(t) {
		t.Error("a victim is dead")
	}
}

// TestSetuidPendingSignals: a program that leaves its user no room for a further signal with
// data (getrlimit(2), RLIMIT_SIGPENDING) is ended all the same, by the host and by root.
func TestSetuidPendingSignals(t *testing.T) {
	in := install(t)
	needs.Program(t, "/usr/bin/python3")
	const room = "import resource\nresource.setrlimit(resource.RLIMIT_SIGPENDING,(100,100))\n"
	const fill = `import os,signal,ctypes
signal.pthread_sigmask(signal.SIG_BLOCK,[40])
n=0
while ctypes.CDLL(None).sigqueue(os.getpid(),40,None)==0: n+=1
print("full",flush=True)
signal.pause()`
	const becomes = "import os,sys\nos.execv(sys.argv[1],sys.argv[1:])"
	for name, c := range map[string]installed.Call{
		"the host": installed.HostCall("/usr/bin/python3", "-c", room+becomes, in.Bin), "root": {Argv: []string{"/usr/bin/python3", "-c", room + becomes, in.Plain}},
	} {
		cmd := exec.CommandContext(t.Context(), "/usr/bin/python3", "-c", room+fill)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: &syscall.Credential{Uid: agentUID, Gid: agentUID}}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		v := victim{cmd}
		if lines := bufio.NewScanner(out); !lines.Scan() || lines.Text() != "full" {
			t.Fatalf("%q", lines.Text())
		}
		c.Argv = append(c.Argv, v.pgid(), "KILL")
		if status, text, errs := in.Run(c); status != 0 || text+errs != "" {
			t.Errorf("%s: status %d, %q, %q; want a silent 0", name, status, text, errs)
			_ = cmd.Process.Kill()
		}
		if got := v.endedBy(t); got != syscall.SIGKILL {
			t.Errorf("%s: ended by %v", name, got)
		}
	}
}

// TestSetuidSignals: the host has no right to the agent's processes, the helper that he
// executes has (bk/P1, bk/P2, R1).
func TestSetuidSignals(t *testing.T) {
	in := install(t)
	for name, sig := range map[string]syscall.Signal{"TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL, "INT": syscall.SIGINT} {
		v, other := newVictim(t, agentUID, 0), newVictim(t, hostUID, 0)
		if got := statusLines(t, v); !strings.HasPrefix(got, "10002 10002 10002 10002, 10002 10002 10002 10002") {
			t.Fatalf("the victim is %s", got)
		}
		// Positive control: the host himself gets EPERM.
		status, _, errs := in.Run(installed.HostCall("/bin/sh", "-c", "kill -"+name+" -"+v.pgid()))
		if status == 0 || !strings.Contains(errs, "not permitted") || !v.alive(t) {
			t.Fatalf("%s by the host: status %d, %q; want EPERM", name, status, errs)
		}
		status, out, errs := in.Run(installed.HostCall(in.Bin, v.pgid(), name))
		if status != 0 || out+errs != "" {
			t.Fatalf("bk/P1 %s: status %d, %q, want a silent 0", name, status, errs)
		}
		if got := v.endedBy(t); got != sig {
			t.Errorf("%s: ended by %v", name, got)
		}
		if !other.alive(t) {
			t.Error("a process of the host is dead")
		}
	}
	// bk/H6 is open: another turn's group of the same agent is as easily hit, and no other is.
	turn := newVictim(t, agentUID, 0)
	if status, _, errs := in.Run(installed.HostCall(in.Bin, turn.pgid(), "TERM")); status != 0 || turn.endedBy(t) != syscall.SIGTERM {
		t.Errorf("bk/H6: status %d, %q", status, errs)
	}
	in.Policy(sandboxTable + "identity = { user = 10002, group = 10002 }\ncallers = [10001]\n") // by number
	v := newVictim(t, agentUID, 0)
	if status, _, errs := in.Run(installed.HostCall(in.Bin, v.pgid(), "KILL")); status != 0 {
		t.Errorf("by number: status %d, %q", status, errs)
	}
}

// TestSetuidSenderIsTheAgent: bk/P12 by what the receiver sees. Its siginfo has the real user
// id of the sender (sigaction(2)).
func TestSetuidSenderIsTheAgent(t *testing.T) {
	in := install(t)
	needs.Program(t, "python3")
	cmd := exec.CommandContext(t.Context(), "/usr/bin/python3", "-c", `import signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
print("ready", flush=True)
print(signal.sigwaitinfo([signal.SIGTERM]).si_uid, flush=True)`)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: &syscall.Credential{Uid: agentUID, Gid: agentUID}}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "ready" {
		t.Fatalf("%q", lines.Text())
	}
	if status, _, errs := in.Run(installed.HostCall(in.Bin, fmt.Sprint(cmd.Process.Pid), "TERM")); status != 0 {
		t.Fatalf("status %d, %q", status, errs)
	}
	if lines.Scan(); lines.Text() != fmt.Sprint(agentUID) {
		t.Errorf("the sender is %q, want %d", lines.Text(), agentUID)
	}
}

// TestSetuidHostileStarts: the caller's surroundings do not matter.
func TestSetuidHostileStarts(t *testing.T) {
	in := install(t)
	needs.Program(t, "python3")
	run := func(prepare, argv string, env ...string) (int, string, victim) {
		t.Helper()
		v := newVictim(t, agentUID, 0)
		c := installed.HostCall("/usr/bin/env", "python3", "-c",
			`import os,sys,resource,signal,ctypes
bin,pgid=[a.encode() for a in sys.argv[1:]]
`+prepare+`
argv=`+argv+`
env=[k+b"="+v for k,v in os.environb.items()]
block=lambda l: (ctypes.c_char_p*(len(l)+1))(*l)
ctypes.CDLL(None).execve(bin,block(argv),block(env))`, in.Bin, v.pgid())
		c.Env = append(c.Env, env...)
		status, out, errs := in.Run(c)
		return status, out + errs, v
	}
	const usual = `[b"k",pgid,b"KILL"]`
	for name, prepare := range map[string]string{
		"no descriptors": "for n in range(3): os.close(n)",
		"no file size":   "resource.setrlimit(resource.RLIMIT_FSIZE,(0,0))",
		"umask":          "os.umask(0o777)",
		"blocked":        "signal.pthread_sigmask(signal.SIG_BLOCK,range(1,65))",
		"an alarm":       "signal.setitimer(signal.ITIMER_REAL,100)",
		"no folder":      "os.mkdir('/run/work/gone'); os.chdir('/run/work/gone'); os.rmdir('/run/work/gone')",
	} {
		if strings.Contains(prepare, "/run/work") {
			in.Do(func() error { return os.Chmod("/run/work", 0o777) })
		}
		if status, text, v := run(prepare, usual); status != 0 {
			t.Errorf("%s: status %d, %q", name, status, text)
		} else if got := v.endedBy(t); got != syscall.SIGKILL {
			t.Errorf("%s: ended by %v", name, got)
		}
	}
	hostileLimits(t, in, func(prepare string) (int, string, victim) { t.Helper(); return run(prepare, usual) })
	for _, argv := range []string{`[]`, `[b""]`, `[b"k"]`, `[b"k",b""]`, `[b"k"]+[b"x"]*9000`} {
		if status, text, v := run("", argv); status != 126 || !v.alive(t) || strings.Count(text, "\n") != 1 {
			t.Errorf("%s: status %d, %q, want 126 and one line", argv, status, text)
		}
	}
	// The runtime reads the variables of the first start, and of no second one.
	status, text, v := run("", usual, "GODEBUG=inittrace=1", "GOGC=1", "GOMEMLIMIT=1", "GOTRACEBACK=crash")
	if status != 0 || strings.Count(text, "init runtime @") != 1 || strings.Contains(text, "init os @") {
		t.Errorf("GODEBUG: status %d, %q; want the trace of a start that ends before package os", status, text)
	}
	v.endedBy(t)
	if status, text, v := run("import ctypes; ctypes.CDLL(None).prctl(38,1,0,0,0)", usual); status != 126 ||
		!strings.Contains(text, "gave no privilege") || !v.alive(t) {
		t.Errorf("no_new_privs: status %d, %q; want 126 that says so", status, text)
	}
}

// hostileLimits: where root can raise limits, those of the caller keep no signal from being
// sent. Without CAP_SYS_RESOURCE, as in many containers, too small ones are a refusal.
func hostileLimits(t *testing.T, in *installed.Installation, run func(prepare string) (int, string, victim)) {
	t.Helper()
	raises := in.RaisesLimits()
	t.Logf("root can raise limits: %v", raises)
	for _, limit := range []string{
		"RLIMIT_NOFILE,(0,0)", "RLIMIT_NOFILE,(3,3)", "RLIMIT_NOFILE,(8,8)", "RLIMIT_NOFILE,(0,400)", "RLIMIT_FSIZE,(0,0)",
		"RLIMIT_NPROC,(0,0)", "RLIMIT_NPROC,(1,1)", "RLIMIT_SIGPENDING,(0,0)", "RLIMIT_SIGPENDING,(0,99)",
		"RLIMIT_STACK,(262144,262144)", "RLIMIT_AS,(2<<30,2<<30)", "RLIMIT_DATA,(512<<20,512<<20)", "RLIMIT_CORE,(0,0)",
	} {
		// Python has no name for one of them.
		status, text, v := run("resource.setrlimit(" + strings.Replace("resource."+limit, "resource.RLIMIT_SIGPENDING", "11", 1) + ")")
		t.Logf("%s: status %d, %q", limit, status, text)
		switch {
		case status == 0:
			if got := v.endedBy(t); got != syscall.SIGKILL || text != "" {
				t.Errorf("%s: ended by %v, %q", limit, got, text)
			}
		case raises || status != 126 || strings.Count(text, "\n") != 1 || !v.alive(t):
			t.Errorf("%s: status %d, %q; root can raise limits: %v", limit, status, text, raises)
		}
	}
}
