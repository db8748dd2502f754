package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
	"brainbox/internal/setuid/installed"
)

// TestSetuidEndedAnywhere ends starts at any moment: what root makes is whole or not there, and
// the next start works.
func TestSetuidEndedAnywhere(t *testing.T) {
	in := install(t)
	for i := range 24 {
		cmd, err := in.Start(installed.HostCall(in.Bin, "/bin/sleep", "300"), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		// Any moment is right: the time is what is varied, and nothing is waited for.
		time.Sleep(time.Duration(i) * 250 * time.Microsecond)
		_ = cmd.Process.Signal(unix.SIGSTOP)
		// While it is stopped, whatever it is, the caller cannot look into it.
		for _, file := range []string{"mem", "environ", "maps", "auxv", "fd/0"} {
			if status, out, _ := in.Run(installed.HostCall("/bin/cat", proc(cmd, file))); i%10 == 0 && (status == 0 || out != "") {
				t.Errorf("the caller reads %s of a set-uid process: %q", file, out)
			}
			if i%10 != 0 {
				break
			}
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if status, out, errs := in.Run(installed.HostCall(in.Bin, "/bin/sh", "-c", "echo x >$HOME/x && echo x >$TMPDIR/x && echo RAN")); status != 0 || out != "RAN\n" {
			t.Fatalf("after %d: status %d, %q, %q", i, status, out, errs)
		}
		in.Do(func() error {
			names, err := os.ReadDir("/run/vault/10002")
			if err == nil && len(names) != 4 {
				err = fmt.Errorf("left: %v", names)
			}
			return errors.Join(err, os.RemoveAll("/run/vault/10002"))
		})
	}
}

// TestSetuidConcurrent makes the private folders from many starts at once.
func TestSetuidConcurrent(t *testing.T) {
	in := install(t)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			var out, errs bytes.Buffer
			cmd, err := in.Start(installed.HostCall(in.Bin, "/bin/sh", "-c", "echo x >$HOME/x && echo RAN"), &out, &errs)
			if err != nil {
				t.Error(err)
			} else if err := cmd.Wait(); err != nil || out.String() != "RAN\n" {
				t.Errorf("%v, %q, %q", err, out.String(), errs.String())
			}
		})
	}
	all.Wait()
}

// TestSetuidWithoutPrivilege: where the bit gives nothing, nothing is run as the caller.
func TestSetuidWithoutPrivilege(t *testing.T) {
	in := install(t)
	needs.Program(t, "/usr/bin/python3")
	const traced = `child=os.fork()
if child==0: libc.ptrace(0,0,0,0)
else:
  s=os.waitpid(child,0)[1]
  while os.WIFSTOPPED(s): libc.ptrace(7,child,0,0); s=os.waitpid(child,0)[1]
  os._exit(os.waitstatus_to_exitcode(s))`
	for name, prepare := range map[string]string{"no_new_privs": "libc.prctl(38,1,0,0,0)", "a tracer": traced} {
		o := start(t, in, name, "argv=[bin,b'/bin/echo',b'RAN']\n"+prepare, "")
		if o.status != 126 || !strings.Contains(o.errs, "gave no privilege") {
			t.Errorf("%s: %+v; want a refusal that says so", name, o)
		}
	}
	// In a user namespace of the caller's the bit gives nothing, and his policy binds only him.
	c := installed.HostCall("/usr/bin/unshare", "-Urm", in.Bin, "/bin/echo", "RAN")
	if status, out, errs := in.Run(c); status != 126 || out != "" {
		t.Errorf("a user namespace: status %d, %q, %q", status, out, errs)
	}
}

// TestSetuidSpeaksAsTheCaller: a text is written with the caller's rights, whatever he made
// standard error. A full pipe holds the writer up while it is looked at.
func TestSetuidSpeaksAsTheCaller(t *testing.T) {
	in := install(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if _, err := w.Write(make([]byte, 1<<16)); err != nil { // pipe(7): as much as it holds
		t.Fatal(err)
	}
	in.Policy(identityOf("callers = [\"brain\"]\n"))
	long := installed.HostCall(in.Bin, "/bin/true")
	long.Env = []string{"GO=" + strings.Repeat("x", 128<<10-4)} // cannot be quoted: refused by package early
	for name, c := range map[string]installed.Call{
		"a wrong call": installed.HostCall(in.Bin, "relative"), "a policy": installed.HostCall(in.Bin, "/bin/true"),
		"help": installed.HostCall(in.Bin, "--help"), "early": long,
	} {
		cmd, err := in.StartWriting(c, w)
		if err != nil {
			t.Fatal(err)
		}
		const callers = "Uid: 10001 10001 10001 10001"
		got := ""
		for deadline := time.Now().Add(20 * time.Second); got != callers && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			got = writesAs(t, cmd)
		}
		if got != callers {
			t.Errorf("%s: it writes as %q", name, got)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// writesAs is who the thread is that writes to standard output or error: not always the first one. Ids
// are a thread's.
func writesAs(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	tasks, err := filepath.Glob(proc(cmd, "task/*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		call, err := os.ReadFile(task + "/syscall") // proc_pid_syscall(5)
		if text := string(call); err == nil && (strings.HasPrefix(text, fmt.Sprintf("%d 0x1 ", unix.SYS_WRITE)) ||
			strings.HasPrefix(text, fmt.Sprintf("%d 0x2 ", unix.SYS_WRITE))) {
			return lines(t, task+"/status", "Uid")
		}
	}
	return ""
}

// TestSetuidLoader: a loader takes variables out of the environment before the program runs,
// and package early would look for it in the wrong place. Such a build is refused.
func TestSetuidLoader(t *testing.T) {
	in := install(t)
	dynamic := in.Built("dynamic", "-buildmode=pie")
	for _, env := range [][]string{{}, {"TMPDIR=/x"}, {"GODEBUG=inittrace=1", "TMPDIR=/x", "A=1"}} {
		c := installed.HostCall(dynamic, "/bin/echo", "RAN")
		c.Env = env
		status, out, errs := in.Run(c)
		if status != 126 || out != "" || !strings.Contains(errs, "CGO_ENABLED=0") || strings.Contains(errs, "init os @") {
			t.Errorf("%q: status %d, %q, %q; want a refusal before package os starts", env, status, out, errs)
		}
	}
	// Positive controls: it runs where nothing is raised, and the usual build has the variable.
	plain := installed.Call{Argv: []string{dynamic, "--version"}}
	if status, _, errs := in.Run(plain); status != 0 {
		t.Errorf("by root: status %d, %q", status, errs)
	}
	if status, out, errs := in.Run(installed.HostCall(in.Bin, "/bin/echo", "RAN")); status != 0 || out != "RAN\n" {
		t.Errorf("the usual build: status %d, %q, %q", status, out, errs)
	}
}

// TestSetuidTmpIsNotTheCallers: TMPDIR, which an ordinary start grants, would let a caller
// choose among the identity's private folders.
func TestSetuidTmpIsNotTheCallers(t *testing.T) {
	in := install(t)
	in.Do(func() error {
		return errors.Join(os.Mkdir("/run/keys", 0o700), os.WriteFile("/run/keys/key", []byte("s3cret\n"), 0o644),
			os.Chown("/run/keys", installed.Agent, installed.Agent))
	})
	script := []string{"/bin/sh", "-c", "cat /run/keys/key; (: >/run/keys/new); true"}
	c := installed.HostCall(append([]string{in.Bin}, script...)...)
	root := installed.Call{Argv: append([]string{in.Plain}, script...)}
	c.Env, root.Env = []string{"TMPDIR=/run/keys"}, []string{"TMPDIR=/run/keys"}
	status, out, errs := in.Run(c)
	if status != 0 || out != "" || strings.Count(errs, "ermission denied") != 2 {
		t.Errorf("by the caller: status %d, %q, %q; want both refused", status, out, errs)
	}
	in.Do(func() error {
		if _, err := os.Stat("/run/keys/new"); errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return errors.New("the caller's program has written to the folder")
	})
	if status, out, errs := in.Run(root); status != 0 || out != "s3cret\n" { // positive control
		t.Errorf("by root: status %d, %q, %q", status, out, errs)
	}
}
