package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
	"brainbox/internal/setuid/installed"
)

// TestSetuidWhatProgramsLeave: what a program does to the folders that stay, which chmod(2)
// lets it, is undone by the next start.
func TestSetuidWhatProgramsLeave(t *testing.T) {
	in := install(t)
	run := func(script string) {
		t.Helper()
		if status, out, errs := in.Run(installed.HostCall(in.Bin, "/bin/sh", "-c", script)); status != 0 {
			t.Fatalf("%s: status %d, %q, %q", script, status, out, errs)
		}
	}
	write := func(uid uint32, file string) bool {
		t.Helper()
		c := installed.Call{UID: uid, Argv: []string{"/bin/sh", "-c", ": >>" + file}}
		status, _, _ := in.Run(c)
		return status == 0
	}
	const home, canary = "/run/vault/10002/home/f", "/run/vault/10002/canary"
	run("chmod 0777 $HOME $TMPDIR; ! chmod 0 " + canary)
	if !write(installed.Third, home) { // positive control
		t.Fatal("the program could not open its home to others")
	}
	run("true")
	if write(installed.Third, home) {
		t.Error("a third user can write to the home of the identity")
	}
	// Nothing but the kernel's rules refuses the canary, whatever an earlier version left.
	for _, mode := range []os.FileMode{0, 0o600} {
		in.Do(func() error {
			return errors.Join(os.Chown(canary, installed.Agent, installed.Agent), os.Chmod(canary, mode))
		})
		run("! (: >>" + canary + ")")
		if !write(installed.Agent, canary) {
			t.Errorf("after mode %o the identity itself cannot write the canary", mode)
		}
		if write(installed.Third, canary) {
			t.Error("a third user can write the canary")
		}
	}
}

// TestSetuidWaitsForNoLease: the identity can hold leases on what is its own (fcntl(2),
// F_SETLEASE), and an open by root would wait for them. Whether one was broken is asked
// afterwards: no time is measured.
func TestSetuidWaitsForNoLease(t *testing.T) {
	in := install(t)
	needs.Program(t, "/usr/bin/python3")
	start := func() {
		t.Helper()
		if status, out, errs := in.Run(installed.HostCall(in.Bin, "/bin/echo", "RAN")); status != 0 || out != "RAN\n" {
			t.Fatalf("status %d, %q, %q", status, out, errs)
		}
	}
	start()
	in.Do(func() error { // as an earlier version had it, and due
		return errors.Join(os.Chown("/run/vault/10002/canary", installed.Agent, installed.Agent),
			os.Chtimes("/run/vault/10002/pruned", unixEpoch, unixEpoch))
	})
	var out, errs bytes.Buffer
	holder, err := in.Start(installed.Call{UID: installed.Agent, Argv: []string{"/usr/bin/python3", "-c", `import fcntl as f,os,signal
signal.signal(signal.SIGIO,signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK,[signal.SIGTERM])
held=[os.open("/run/vault/10002/"+n,os.O_RDONLY) for n in ("canary","pruned")]
for fd in held: f.fcntl(fd,f.F_SETLEASE,f.F_RDLCK)
os.mkdir("/run/vault/10002/tmp/held")
signal.sigwait([signal.SIGTERM])
print([f.fcntl(fd,f.F_GETLEASE)==f.F_RDLCK for fd in held])`}}, &out, &errs)
	if err != nil {
		t.Fatal(err)
	}
	held := func() bool {
		var st unix.Stat_t
		return unix.Lstat(fmt.Sprintf("/proc/%d/root/run/vault/10002/tmp/held", holder.Process.Pid), &st) == nil
	}
	eventually(t, held)
	start()
	if err := holder.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := holder.Wait(); err != nil || strings.TrimSpace(out.String()) != "[True, True]" {
		t.Errorf("%v, %q, %q; want both leases held still", err, out.String(), errs.String())
	}
}

var unixEpoch = time.Unix(0, 0)

// eventually waits until a condition holds.
func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not within a minute")
		}
	}
}
