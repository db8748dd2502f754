package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brainbox/internal/needs"
	"brainbox/internal/setuid/installed"
)

// waiter is a program that needs no descriptor, no memory and no further thread: it can be
// looked at whatever its limits are. It waits for a signal.
const waiter = "/run/bin/waiter"

// waiterText is an executable of one segment (elf(5)).
func waiterText(t *testing.T) []byte {
	t.Helper()
	machine, code := uint16(62), []byte{ // EM_X86_64
		0xb8, 34, 0, 0, 0, // mov eax, SYS_pause
		0x0f, 0x05, // syscall
		0xeb, 0xf7, // jmp to the beginning
	}
	switch runtime.GOARCH {
	case "amd64":
	case "arm64":
		machine, code = 183, nil // EM_AARCH64
		for _, op := range []uint32{
			0xd2800000, 0xd2800001, 0xd2800002, 0xd2800003, 0xd2800004, // mov x0…x4, 0
			0xd2800928, // mov x8, SYS_ppoll
			0xd4000001, // svc 0
			0x17fffff9, // b to the beginning
		} {
			code = binary.LittleEndian.AppendUint32(code, op)
		}
	default:
		t.Skipf("no program for %s", runtime.GOARCH) // gating: its instructions are of amd64 and arm64
	}
	const base, head = 0x400000, 64 + 56
	b := []byte{0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	size := uint64(head + len(code))
	for _, v := range []any{
		uint16(2), machine, uint32(1), uint64(base + head), uint64(64), uint64(0), uint32(0),
		uint16(64), uint16(56), uint16(1), uint16(0), uint16(0), uint16(0),
		uint32(1), uint32(5), uint64(0), uint64(base), uint64(base), size, size, uint64(0x10000), // PT_LOAD, r-x
	} {
		var err error
		if b, err = binary.Append(b, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	return append(b, code...)
}

// wait starts the waiter, under hostile limits. With mode "control" the caller executes it
// himself.
func wait(t *testing.T, in *installed.Installation, set, mode string) outcome {
	t.Helper()
	return startProgram(t, in, set, "argv[1:]=[b'"+waiter+"']\n"+set, mode, waiter)
}

// coreOff is what the policy makes RLIMIT_CORE, hard and soft.
var coreOff = [2]uint64{1, 1}

// limitNames are those of /proc/PID/limits (proc_pid_limits(5)) that package setuid raises for
// itself.
var limitNames = map[string]string{
	"NOFILE": "Max open files", "FSIZE": "Max file size", "AS": "Max address space", "DATA": "Max data size",
	"STACK": "Max stack size", "NPROC": "Max processes", "SIGPENDING": "Max pending signals", "CORE": "Max core file size",
}

// TestSetuidGivesLimitsBack: whatever the caller's limits are, the program has exactly his, but
// for core files, or nothing is started. Where root can raise limits they keep no start from
// being made, unless the runtime itself does not come to main with them.
func TestSetuidGivesLimitsBack(t *testing.T) {
	in := install(t)
	in.Policy(strings.Replace(installed.Policy, "[filesystem]\n", "[filesystem]\nexec = [\""+waiter+"\"]\n", 1))
	text := waiterText(t)
	in.Do(func() error {
		return errors.Join(os.WriteFile(waiter, text, 0o755), os.Chmod(waiter, 0o755))
	})
	raises := in.RaisesLimits()
	t.Logf("root can raise limits: %v", raises)
	const (
		always  = iota // it starts, raised or not
		raised         // it starts where limits can be raised
		runtime        // the runtime may end with this before main
	)
	tests := map[string]struct {
		cur, max string // "" is as it was
		want     int
	}{
		"usual":           {"", "", always},
		"NOFILE 0 0":      {"0", "0", raised},
		"NOFILE 3 3":      {"3", "3", raised},
		"NOFILE 8 8":      {"8", "8", raised},
		"NOFILE 0 400":    {"0", "400", always},
		"NOFILE 3 4096":   {"3", "4096", always},
		"FSIZE 0 0":       {"0", "0", always},
		"FSIZE 0 4096":    {"0", "4096", always},
		"AS 60M 60M":      {"60<<20", "60<<20", runtime},
		"AS 60M -":        {"60<<20", "-1", runtime},
		"AS 2G 2G":        {"2<<30", "2<<30", always},
		"DATA 1M 1M":      {"1<<20", "1<<20", runtime},
		"DATA 1M -":       {"1<<20", "-1", runtime},
		"DATA 64M 64M":    {"64<<20", "64<<20", runtime},
		"DATA 512M 512M":  {"512<<20", "512<<20", always},
		"STACK 16K 16K":   {"16<<10", "16<<10", runtime},
		"STACK 16K -":     {"16<<10", "-1", runtime},
		"STACK 256K 256K": {"256<<10", "256<<10", always},
		"NPROC 1 1":       {"1", "1", raised},
		"NPROC 1 1000":    {"1", "1000", raised},
		"NPROC 0 0":       {"0", "0", raised},
		"SIGPENDING 0 0":  {"0", "0", raised},
		"SIGPENDING 0 99": {"0", "99", always},
		"CORE 0 0":        {"0", "0", always},
		"CORE 0 1":        {"0", "1", always},
		"CORE 1 1":        {"1", "1", always},
		"CORE 0 4096":     {"0", "4096", always},
	}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		tt := tests[name]
		word, _, _ := strings.Cut(name, " ")
		set := ""
		if tt.max != "" {
			number := "r.RLIMIT_" + word
			if word == "SIGPENDING" {
				number = "11" // Python has no name for it
			}
			set = "r.setrlimit(" + number + ",(" + tt.cur + "," + tt.max + "))"
		}
		o := wait(t, in, set, "")
		t.Logf("%s: ran %v, status %d %s %.200q", name, o.ran, o.status, o.signal, o.errs)
		switch {
		case o.ran:
			checkLimits(t, in, name, set, o)
		case tt.want == always, tt.want == raised && raises:
			t.Errorf("%s: %+v; want the program to run", name, o)
		case o.status == 126:
			if strings.Count(o.errs, "brainbox-exec: ") != strings.Count(o.errs, "\n") || strings.Count(o.errs, "\n") > 2 {
				t.Errorf("%s: refused by %q", name, o.errs)
			}
		case tt.want == runtime: // before main: nothing was done
		default:
			t.Errorf("%s: %+v; want it refused", name, o)
		}
	}
}

// checkLimits compares with what the same program has that the caller executes himself.
func checkLimits(t *testing.T, in *installed.Installation, name, set string, o outcome) {
	t.Helper()
	control := wait(t, in, set, "control")
	if !control.ran {
		t.Errorf("%s: the caller himself cannot: %+v", name, control)
		return
	}
	want, core := maps.Clone(control.limits), limitNames["CORE"]
	want[core] = coreOff
	if had := control.limits[core]; had[1] == 0 && !in.RaisesLimits() {
		want[core] = had
	}
	for word, line := range limitNames {
		if _, ok := want[line]; !ok {
			t.Errorf("the kernel has no %q (%s)", line, word)
		}
	}
	if diff := cmp.Diff(want, o.limits); diff != "" {
		t.Errorf("%s: the program's limits (-the caller's +the program's):\n%s", name, diff)
	}
}

// TestSetuidProgramReadsItsLimits: the limits that hold the program are those that can be read
// from outside: it runs into them.
func TestSetuidProgramReadsItsLimits(t *testing.T) {
	in := install(t)
	for name, tt := range map[string]struct{ set, script, want string }{
		"NOFILE": {"ulimit -Sn 200; ulimit -Hn 300", "ulimit -Sn; ulimit -Hn; ulimit -Sn 301 2>/dev/null || echo no more", "200\n300\nno more\n"},
		"FSIZE":  {"ulimit -f 0", "ulimit -f; (echo x >/run/work/big) 2>/dev/null; cat /run/work/big; echo it was cut", "0\nit was cut\n"},
		"usual":  {":", "echo x >/run/work/small; cat /run/work/small", "x\n"}, // positive control
	} {
		c := installed.HostCall("/bin/sh", "-c", tt.set+`; exec "$0" /bin/sh -c "$1"`, in.Bin, tt.script)
		var out, errs bytes.Buffer
		cmd, err := in.Start(c, &out, &errs)
		if err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // the state says it
		state, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if !ok || state.ExitStatus() != 0 || out.String() != tt.want {
			t.Errorf("%s: %v, %q, %q; want %q", name, cmd.ProcessState, out.String(), errs.String(), tt.want)
		}
	}
}

// TestSetuidTimersAreStopped: execve(2) keeps them.
func TestSetuidTimersAreStopped(t *testing.T) {
	in := install(t)
	needs.Program(t, "/usr/bin/python3")
	const set = `import os,signal,sys
for which in (0,1,2): signal.setitimer(which,3600)
os.execv(sys.argv[1],sys.argv[1:])`
	const read = "import signal; print([signal.getitimer(which)[0]>0 for which in (0,1,2)])"
	for name, want := range map[string]string{in.Bin: "[False, False, False]\n", "/usr/bin/env": "[True, True, True]\n"} {
		c := installed.HostCall("/usr/bin/python3", "-c", set, name, "/usr/bin/python3", "-c", read)
		if status, out, errs := in.Run(c); status != 0 || out != want {
			t.Errorf("%s: status %d, %q, %q; want %q", name, status, out, errs, want)
		}
	}
}
