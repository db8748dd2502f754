package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"brainbox/internal/needs"
	"brainbox/internal/setuid/installed"
)

// hostile is a start that Python, as the caller, prepares.
const hostile = `import os,sys,resource as r,signal,ctypes
bin,mode=sys.argv[1].encode(),sys.argv[2]
libc=ctypes.CDLL(None)
argv=[bin,b"/bin/sleep",b"300"]
env=[b"PATH=/usr/bin:/bin"]
%s
if mode=="control": argv=argv[1:]; bin=argv[0]
block=lambda l: (ctypes.c_char_p*(len(l)+1))(*l)
libc.execve(bin,block(argv),block(env))
os._exit(99)`

// outcome is what became of a start.
type outcome struct {
	ran    bool // the program runs, or did
	status int  // of a start that ended
	signal string
	errs   string
	limits map[string][2]uint64
}

// start makes one hostile start and looks at the program from outside; then it ends it.
func start(t *testing.T, in *installed.Installation, name, prepare, mode string) outcome {
	t.Helper()
	return startProgram(t, in, name, prepare, mode, "/bin/sleep")
}

// startProgram is start for another program, which prepare names.
func startProgram(t *testing.T, in *installed.Installation, name, prepare, mode, program string) outcome {
	t.Helper()
	needs.Program(t, "/usr/bin/python3")
	c := installed.HostCall("/usr/bin/python3", "-c", fmt.Sprintf(hostile, prepare), in.Bin, mode)
	var out, errs bytes.Buffer
	cmd, err := in.Start(c, &out, &errs)
	if err != nil {
		t.Fatal(err)
	}
	var o outcome
	if o.ran = became(t, in, cmd, program); o.ran {
		o.limits = limitsOf(t, cmd)
		if mode == "" {
			checkStatus(t, name, cmd)
			checkDescriptors(t, name, cmd)
		}
		_ = cmd.Process.Kill()
	}
	_ = cmd.Wait() // the state says it
	state, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok {
		t.Fatal("no status")
	}
	o.status, o.errs = state.ExitStatus(), errs.String()
	if state.Signaled() {
		o.signal = cmd.ProcessState.String()
	}
	if out.Len() > 0 && !o.ran {
		t.Errorf("%s: output %q of a start that was refused", name, out.String())
	}
	return o
}

// checkDescriptors: three, and none that the caller did not give but the null device. The
// program's own loader has one for a moment: what is inherited stays.
func checkDescriptors(t *testing.T, name string, cmd *exec.Cmd) {
	t.Helper()
	what := ""
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if what = strangeDescriptor(t, cmd); what == "" {
			return
		}
	}
	t.Errorf("%s: %s", name, what)
}

func strangeDescriptor(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	list, err := os.ReadDir(proc(cmd, "fd"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		to, err := os.Readlink(proc(cmd, "fd/"+e.Name()))
		if err != nil || len(e.Name()) > 1 || e.Name() > "2" || to != "/dev/null" && !strings.HasPrefix(to, "pipe:") {
			return fmt.Sprintf("descriptor %s is %s (%v)", e.Name(), to, err)
		}
	}
	return ""
}

func limitsOf(t *testing.T, cmd *exec.Cmd) map[string][2]uint64 {
	t.Helper()
	text, err := os.ReadFile(proc(cmd, "limits"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][2]uint64{}
	for _, line := range strings.Split(string(text), "\n")[1:] {
		if len(line) < 60 {
			continue
		}
		f := strings.Fields(line[26:])
		var v [2]uint64
		for i := range v {
			if n, err := strconv.ParseUint(f[i], 10, 64); err == nil {
				v[i] = n
			} else {
				v[i] = ^uint64(0)
			}
		}
		all[strings.TrimSpace(line[:26])] = v
	}
	return all
}

// TestSetuidHostileStarts: a start that cannot be made is refused, or the runtime ends before
// anything was done; what is started is exactly what the policy says, with no limit above the
// caller's. Limits that are too small for the program itself are TestSetuidGivesLimitsBack's.
func TestSetuidHostileStarts(t *testing.T) {
	in := install(t)
	needs.Program(t, "/usr/bin/python3")
	in.Do(func() error { // folders of the caller's
		return errors.Join(os.Mkdir("/run/own", 0o700), os.Chown("/run/own", installed.Host, installed.Host),
			os.Chmod("/run/work", 0o777))
	})
	const must, may = true, false // run
	for name, tt := range map[string]struct {
		prepare string
		run     bool
	}{
		"usual":               {"", must},
		"FSIZE 0":             {"r.setrlimit(r.RLIMIT_FSIZE,(0,0))", must},
		"CORE unlimited":      {"r.setrlimit(r.RLIMIT_CORE,(r.getrlimit(r.RLIMIT_CORE)[1],)*2)", must},
		"MEMLOCK 0":           {"r.setrlimit(r.RLIMIT_MEMLOCK,(0,0))", must},
		"CPU 1":               {"r.setrlimit(r.RLIMIT_CPU,(1,1))", may},
		"STACK unlimited":     {"r.setrlimit(r.RLIMIT_STACK,(r.getrlimit(r.RLIMIT_STACK)[1],)*2)", must},
		"ignored signals":     {"[signal.signal(s,signal.SIG_IGN) for s in set(range(1,65))-{9,19,32,33}]", must},
		"blocked signals":     {"signal.pthread_sigmask(signal.SIG_BLOCK,range(1,65))", must},
		"pending signals":     {"signal.pthread_sigmask(signal.SIG_BLOCK,range(1,65)); [os.kill(os.getpid(),s) for s in (1,17,23,33,34)]", may},
		"timers":              {"signal.setitimer(signal.ITIMER_REAL,3600,.001); signal.setitimer(signal.ITIMER_PROF,3600,.001)", must},
		"timers that are due": {"signal.setitimer(signal.ITIMER_REAL,.001,.001); signal.setitimer(signal.ITIMER_PROF,.001,.001)", may},
		"umask 0":             {"os.umask(0)", must},
		"umask 0777":          {"os.umask(0o777)", must},
		"a deleted folder":    {"os.mkdir('/run/work/gone'); os.chdir('/run/work/gone'); os.rmdir('/run/work/gone')", may},
		"the caller's folder": {"os.chdir('/run/own')", may},
		"a folder outside":    {"os.chdir('/proc/self')", may},
		"no arguments":        {"argv=[]; env=[b'GODEBUG=x=1']", may},
		"an empty argument":   {"argv=[bin,b'']", may},
		"many arguments":      {"argv+=[b'1']*20000", must},
		"huge strings":        {"env+=[b'V%d='%i+b'x'*100000 for i in range(15)]", must},
		"as huge as can be":   {"env+=[b'GO%d='%i+b'x'*131000 for i in range(15)]", may},
		"a string too long":   {"env+=[b'GO='+b'x'*(131072-4)]", may},
		"many Go variables":   {"env+=[b'GODEBUG=a%d=1'%i for i in range(5000)]", must},
		"Go variables":        {"env+=[b'GOMEMLIMIT=1',b'GOGC=0',b'GODEBUG=clobberfree=1,invalidptr=1',b'GOTRACEBACK=crash',b'GOMAXPROCS=1000']", must},
		"nonsense":            {"env=[b'',b'=',b'GO',b'-',b'PATH',b'PATH=',b'PATH=/x']", must},
		"TMPDIR of another":   {"os.symlink('/root','/run/work/l'); env.append(b'TMPDIR=/run/work/l')", must},
		"no_new_privs":        {"libc.prctl(38,1,0,0,0)", may},
		"undumpable":          {"libc.prctl(4,0,0,0,0)", must},
		"keeps capabilities":  {"libc.prctl(8,1,0,0,0)", must},
		"a death signal":      {"libc.prctl(1,9,0,0,0)", must},
		"bk/H7 descriptors":   {"[os.set_inheritable(os.open('/etc/passwd',0),True) for _ in range(50)]", must},
	} {
		o := start(t, in, name, tt.prepare, "")
		switch {
		case o.ran:
			if strings.ToUpper(name[:1]) != name[:1] {
				continue // no limit is set
			}
			control := start(t, in, name, tt.prepare, "control").limits
			for limit, v := range o.limits {
				if had, ok := control[limit]; ok && limit != "Max core file size" && (v[0] > had[0] || v[1] > had[1]) {
					t.Errorf("%s: %s is %d, and the caller had %d", name, limit, v, had)
				}
			}
			if core := o.limits["Max core file size"]; core[1] > 1 {
				t.Errorf("%s: core files of %d bytes", name, core)
			}
		case tt.run:
			t.Errorf("%s: %+v; want the program to run", name, o)
		case o.status == 126:
			if n := strings.Count(o.errs, "\n"); n < 1 || n > 2 || !strings.HasPrefix(o.errs, "brainbox-exec: ") {
				t.Errorf("%s: refused by %q", name, o.errs)
			}
		case o.status == 2 && (strings.Contains(o.errs, "runtime") || strings.Contains(o.errs, "fatal error")), o.signal != "", o.status == 99: // the runtime, or the kernel
		default:
			t.Errorf("%s: %+v", name, o)
		}
		t.Logf("%s: ran %v, status %d %s %.200q", name, o.ran, o.status, o.signal, o.errs)
	}
}

// TestSetuidClosedDescriptors: what root opens never takes their numbers, but the null device.
func TestSetuidClosedDescriptors(t *testing.T) {
	in := install(t)
	needs.Program(t, "/usr/bin/python3")
	for set := range 8 {
		name, prepare := "closed", ""
		for fd := range 3 {
			if set>>fd&1 == 1 {
				name += " " + strconv.Itoa(fd)
				prepare += fmt.Sprintf("os.close(%d)\n", fd)
			}
		}
		if o := start(t, in, name, prepare, ""); !o.ran {
			t.Errorf("%s: %+v; want the program to run", name, o)
		}
		// A refusal's text goes to standard error and nowhere else.
		o := start(t, in, name, prepare+"argv=[bin,b'relative']", "")
		if o.ran || o.status != 126 || (o.errs == "") != (set&4 != 0) {
			t.Errorf("%s: %+v; want a refusal", name, o)
		}
	}
}
