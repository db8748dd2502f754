package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"brainbox/internal/setuid/installed"
)

func install(t *testing.T) *installed.Installation {
	t.Helper()
	return installed.New(t, "brainbox/cmd/brainbox-exec", installed.Policy)
}

// identityOf is a policy with this [sandbox].
func identityOf(sandbox string) string {
	return "version = 1\nextends = [\"default\"]\n[sandbox]\ntmp_root = \"/run/vault\"\n" + sandbox
}

// TestSetuidRefuses is what an administrator, or a caller, can get wrong (contract brainkit
// §1.6).
func TestSetuidRefuses(t *testing.T) {
	in := install(t)
	all := in.Copy("everybody") // mode 4755: what the mode keeps out, the code refuses as well
	in.Do(func() error { return os.Chmod(all, 0o755|os.ModeSetuid) })
	run := []string{"/bin/echo", "RAN"}
	by := func(uid uint32, argv ...string) installed.Call {
		return installed.Call{UID: uid, Groups: []uint32{installed.Callers}, Argv: argv}
	}
	in.Refused("a relative name", by(installed.Host, in.Bin, "true"), "absolute path")
	in.Refused("the third user", by(installed.Third, slices.Concat([]string{all}, run)...), "uid 10003 is not among the callers")
	in.Refused("the agent", by(installed.Agent, slices.Concat([]string{all}, run)...), "uid 10002 is not among the callers")
	other := by(installed.Host, slices.Concat([]string{in.Bin}, run)...)
	other.Env = []string{"BRAINBOX_EXEC_POLICY=/run/work/exec.toml"}
	in.Refused("a policy of the caller's", other, "BRAINBOX_EXEC_POLICY")
	if status, _, errs := in.Run(installed.Call{UID: installed.Agent, Groups: []uint32{installed.Host}, Argv: []string{in.Bin, "/bin/true"}}); status != -2 {
		t.Errorf("bk/H4: the agent executes a file with mode 4750: status %d, %q", status, errs)
	}
	for name, tt := range map[string][2]string{
		"no identity":           {identityOf("callers = [\"brain\"]\n"), "needs an identity"},
		"no callers":            {identityOf("identity = { user = \"agent\" }\n"), "uid 10001 is not among"},
		"root":                  {identityOf("identity = { user = 0, group = 5 }\ncallers = [\"brain\"]\n"), "is root"},
		"group root":            {identityOf("identity = { user = \"agent\", group = 0 }\ncallers = [\"brain\"]\n"), "group root"},
		"the caller himself":    {identityOf("identity = { user = \"brain\" }\ncallers = [\"brain\"]\n"), "identity itself"},
		"a user of a directory": {identityOf("identity = { user = \"ldap\" }\ncallers = [\"brain\"]\n"), "hint: only /etc/passwd and /etc/group are asked: name one from there, or use the numeric id"},
		"another file":          {"extends = [\"/run/work/more.toml\"]\n" + identityOf("identity = { user = \"agent\" }\ncallers = [\"brain\"]\n"), ""},
		"a tmp_root of others":  {strings.Replace(identityOf("identity = { user = \"agent\" }\ncallers = [\"brain\"]\n"), "/run/vault", "/run/work", 1), "private folders"},
		"a wrong word":          {identityOf("identiy = 1\n"), "identiy"},
		"none":                  {"", "no policy"},
	} {
		in.Policy(tt[0])
		in.Refused(name, installed.HostCall(slices.Concat([]string{in.Bin}, run)...), tt[1])
		if tt[0] == "" {
			in.Policy(installed.Policy)
		}
	}
	in.Policy(installed.Policy)
	for name, change := range map[string]func(file string) error{
		"set-gid": func(file string) error { return os.Chmod(file, 0o755|os.ModeSetgid) },
		"another owner": func(file string) error {
			return errors.Join(os.Chown(file, installed.Third, 0), os.Chmod(file, 0o755|os.ModeSetuid))
		},
	} {
		file := in.Copy("wrong")
		in.Do(func() error { return change(file) })
		in.Refused(name, installed.HostCall(slices.Concat([]string{file}, run)...), name)
	}
	// Positive control, and by number.
	in.Policy(identityOf("identity = { user = 10002, group = 10002 }\ncallers = [10001]\n"))
	if status, out, errs := in.Run(installed.HostCall(slices.Concat([]string{in.Bin}, run)...)); status != 0 || out != "RAN\n" {
		t.Errorf("by number: status %d, %q, %q", status, out, errs)
	}
}

// became waits until the process is that program, and says false if it ended before.
func became(t *testing.T, in *installed.Installation, cmd *exec.Cmd, program string) bool {
	t.Helper()
	var want, st unix.Stat_t
	in.Do(func() error { return unix.Stat(program, &want) })
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if unix.Stat(proc(cmd, "exe"), &st) == nil && st.Ino == want.Ino && st.Dev == want.Dev {
			// execve(2) sets the arguments after the file, the signals and the environment.
			if args, err := os.ReadFile(proc(cmd, "cmdline")); err == nil && len(args) > 0 {
				return true
			}
		}
		// Not by its state: while execve(2) by another thread ends the first one, that is Z.
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if err != nil && !errors.Is(err, unix.EINTR) || info.Signo != 0 {
			return false
		}
	}
	t.Fatal("neither a program nor an end within a minute")
	return false
}

func proc(cmd *exec.Cmd, name string) string {
	return "/proc/" + strconv.Itoa(cmd.Process.Pid) + "/" + name
}

// lines are those of a file of /proc that begin with one of the names.
func lines(t *testing.T, file string, names ...string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for line := range strings.Lines(string(text)) {
		if name, _, _ := strings.Cut(line, ":"); slices.Contains(names, name) {
			list = append(list, strings.Join(strings.Fields(line), " "))
		}
	}
	return strings.Join(list, "\n")
}

// agentsOwn is what the status of a program says, read from outside: nothing of root's, and
// nothing of the caller's.
const agentsOwn = `Uid: 10002 10002 10002 10002
Gid: 10002 10002 10002 10002
Groups: 10001
SigBlk: 0000000000000000
SigIgn: 0000000000000000
SigCgt: 0000000000000000
CapInh: 0000000000000000
CapPrm: 0000000000000000
CapEff: 0000000000000000
CapBnd: 0000000000000000
CapAmb: 0000000000000000
NoNewPrivs: 1
Seccomp: 2`

func checkStatus(t *testing.T, name string, cmd *exec.Cmd) {
	t.Helper()
	got := lines(t, proc(cmd, "status"), "Uid", "Gid", "Groups", "SigBlk", "SigIgn", "SigCgt",
		"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp")
	if diff := cmp.Diff(agentsOwn, got); diff != "" {
		t.Errorf("%s: the program's status (-want +got):\n%s", name, diff)
	}
}

// TestSetuidProgram looks at a running program from outside.
func TestSetuidProgram(t *testing.T) {
	in := install(t)
	c := installed.HostCall(in.Bin, "/bin/sleep", "300")
	c.Env = []string{
		"PATH=/run/work:/usr/bin", "PATH=/evil", "HOME=/root", "USER=root", "LOGNAME=root", "SUDO_USER=x", "SUDO_UID=0", "no-equals",
		"LD_PRELOAD=/run/work/x.so", "GOPATH=/run/work", "GODEBUG=gctrace=1", "TERM=dumb", "TZ=/etc/shadow", "-GOFLAGS=-x", "AWS_SECRET_ACCESS_KEY=s3cret",
	}
	cmd, err := in.Start(c, new(bytes.Buffer), new(bytes.Buffer))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	if !became(t, in, cmd, "/bin/sleep") {
		t.Fatal("it did not start: ", cmd.Stderr)
	}
	checkStatus(t, "usual", cmd)
	environ, err := os.ReadFile(proc(cmd, "environ"))
	if err != nil {
		t.Fatal(err)
	}
	env := strings.Split(strings.TrimSuffix(string(environ), "\x00"), "\x00")
	path := slices.DeleteFunc([]string{"/usr/local/bin", "/usr/bin", "/bin"}, func(dir string) bool {
		return unix.Access(dir, unix.F_OK) != nil // is left out
	})
	for _, want := range []string{
		"HOME=/run/vault/10002/home", "TMPDIR=/run/vault/10002/tmp", "USER=agent", "LOGNAME=agent", "PATH=" + strings.Join(path, ":"), "TERM=dumb",
	} {
		if !slices.Contains(env, want) {
			t.Errorf("no %q in %q", want, env)
		}
	}
	for _, bad := range []string{"SUDO_", "LD_PRELOAD", "GODEBUG", "GOTRACEBACK", "s3cret", "/evil", "/root", "-GO", "no-equals"} {
		if strings.Contains(string(environ), bad) {
			t.Errorf("%q came through in %q", bad, env)
		}
	}
	if n, err := unix.Getsid(cmd.Process.Pid); err != nil || n != cmd.Process.Pid {
		t.Errorf("session %d, %v: the process changed its number", n, err)
	}
	for _, dir := range []string{"home", "tmp", "pruned"} {
		in.Do(func() error {
			var st unix.Stat_t
			err := unix.Lstat("/run/vault/10002/"+dir, &st)
			if err == nil && (st.Uid != installed.Agent || st.Mode&0o077 != 0) {
				err = fmt.Errorf("%s: uid %d, mode %o", dir, st.Uid, st.Mode)
			}
			return err
		})
	}
	if status, out, errs := in.Run(installed.HostCall(in.Bin, "/bin/sh", "-c", "umask; id -u; echo x >file; stat -c '%u %a' file; while read -r a b c d e uid x; do [ $uid = 10002 ] || echo key of $uid; done </proc/keys")); status != 0 || out != "0002\n10002\n10002 664\n" {
		t.Errorf("status %d, %q, %q", status, out, errs)
	}
}

// TestSetuidTellsNothing: what is said of a path does not depend on what only root can see.
func TestSetuidTellsNothing(t *testing.T) {
	in := install(t)
	in.Do(func() error {
		return errors.Join(os.MkdirAll("/run/secret/there", 0o700), os.Chmod("/run/secret", 0o700), os.WriteFile("/run/secret/there/x", nil, 0o755))
	})
	said := func(file string, env ...string) string {
		c := installed.HostCall(in.Bin, file)
		c.Env = env
		status, out, errs := in.Run(c)
		return fmt.Sprint(status, out, errs)
	}
	for what, pair := range map[string][2]string{
		"program": {said("/run/secret/there/x"), strings.ReplaceAll(said("/run/secret/gone/x"), "gone", "there")},
		"TMPDIR":  {said("/bin/true", "TMPDIR=/run/secret/there"), said("/bin/true", "TMPDIR=/run/secret/gone")},
		"HOME":    {said("/bin/true", "HOME=/run/secret/there"), said("/bin/true", "HOME=/run/secret/gone")},
		"XDG":     {said("/bin/true", "XDG_CACHE_HOME=/run/secret/there"), said("/bin/true", "XDG_CACHE_HOME=/run/secret/gone")},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: %q where it is there, %q where it is not", what, pair[0], pair[1])
		}
	}
	if got := said("/bin/gone"); !strings.HasPrefix(got, "127") { // positive control
		t.Errorf("a program that everybody sees to be missing: %q", got)
	}
	in.Do(func() error {
		return os.WriteFile("/etc/brainbox/exec.toml", []byte("version = 1\ns3cret = 1\n"), 0o600)
	})
	in.Do(func() error { return os.Chmod("/etc/brainbox/exec.toml", 0o600) })
	if got := said("/bin/true"); strings.Contains(got, "s3cret") || !strings.HasPrefix(got, "126") {
		t.Errorf("a policy that the caller cannot read: %q", got)
	}
	for _, sandbox := range []string{ // what it says is wrong, and not how it says it
		"identity = { user = \"s3cret\" }\n", "identity = { user = \"agent\" }\ncallers = [\"brain\", \"s3cret\"]\n", "",
	} {
		in.Policy(identityOf(sandbox))
		open := said("/bin/true")
		in.Do(func() error { return os.Chmod("/etc/brainbox/exec.toml", 0o600) })
		if got := said("/bin/true"); got == open || !strings.Contains(got, "cannot be used") {
			t.Errorf("a policy with %q that the caller cannot read: %q; if he can: %q", sandbox, got, open)
		}
	}
	in.Policy("version = 1\ns3cret = 1\n")
	in.Do(func() error { return os.Chmod("/etc/brainbox/exec.toml", 0o644) })
	if got := said("/bin/true"); !strings.Contains(got, "s3cret") {
		t.Errorf("a policy that the caller can read: %q", got)
	}
}
