package seccomp

import (
	"errors"
	"io/fs"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// whole is a filter in the usual form, with gates in front of the verdict.
func whole(gates ...Insn) Program {
	p := append(Program{}, gates...)
	return append(p, ret, Insn{Code: opRetK, K: uint32(KillProcess)})
}

// jump is a conditional jump by K.
func jump(op uint16, k uint32, jt, jf uint8) Insn {
	return Insn{Code: classJmp | op, K: k, Jt: jt, Jf: jf}
}

func ld(off uint32) Insn { return Insn{Code: opLdAbs, K: off} }

func TestCheck(t *testing.T) {
	archGate := []Insn{ld(offArch), jump(jmpEq, auditAMD64, 0, 3), ld(offNr), jump(jmpGe, x32Bit, 1, 0)}
	tests := []struct {
		name   string
		p      Program
		goarch string
		want   error
	}{
		{"both gates", whole(archGate...), "amd64", nil},
		{
			"x32 by its bit", whole(ld(offArch), jump(jmpEq, auditAMD64, 0, 3), ld(offNr), jump(jmpSet, x32Bit, 1, 0)),
			"amd64", ErrForeign,
		}, // sound, but not proved: intervals do not know bits
		{"-1 allowed, as libseccomp does", whole(ld(offArch), jump(jmpEq, auditAMD64, 0, 4), ld(offNr),
			jump(jmpGe, x32Bit, 0, 1), jump(jmpEq, 1<<32-1, 0, 1)), "amd64", nil},
		{"no gate", whole(), "amd64", ErrForeign},
		{"the gate of another architecture", whole(archGate...), "arm64", ErrForeign},
		{"a gate that is turned round", whole(ld(offArch), jump(jmpEq, auditAMD64, 1, 0)), "amd64", ErrForeign},
		{"no gate for x32", whole(ld(offArch), jump(jmpEq, auditAMD64, 0, 1)), "amd64", ErrForeign},
		{"arm64 has no x32", whole(ld(offArch), jump(jmpEq, auditARM64, 0, 1)), "arm64", nil},
		{"x32 from 0x40000001 on", whole(ld(offArch), jump(jmpEq, auditAMD64, 0, 3), ld(offNr),
			jump(jmpGt, x32Bit, 1, 0)), "amd64", ErrForeign},
		{"log for another architecture", Program{{Code: opRetK, K: uint32(Log)}}, "arm64", ErrForeign},
		{"trace for another architecture", Program{{Code: opRetK, K: uint32(Trace)}}, "arm64", ErrForeign},
		{"notify for another architecture", Program{{Code: opRetK, K: uint32(Notify)}}, "arm64", ErrForeign},
		{"an errno for everything", Program{{Code: opRetK, K: uint32(Errno(1))}}, "amd64", nil},
		{"a return of what was loaded", Program{ld(offArgs), {Code: opRetA}}, "amd64", ErrForeign},
		{"no program", nil, "amd64", ErrInvalid},
		{"an unknown architecture", whole(archGate...), "riscv64", errors.ErrUnsupported},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := check(tt.p, tt.goarch); !errors.Is(got, tt.want) || tt.want == nil && got != nil {
				t.Errorf("check = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestCheckTakesEveryDefault(t *testing.T) {
	for _, goarch := range arches {
		for _, o := range AllOptions() {
			if err := check(defaultOf(t, goarch, o), goarch); err != nil {
				t.Errorf("%s %+v: %v", goarch, o, err)
			}
		}
	}
}

func TestExplain(t *testing.T) {
	tests := []struct {
		o          Options
		name, want string
	}{
		{Options{}, "read", "allow"},
		{Options{}, "openat", "allow"},
		{Options{}, "ptrace", "errno EPERM"},
		{Options{Debug: true}, "ptrace", "allow"},
		{Options{}, "clone3", "errno ENOSYS"},
		{Options{}, "connect", "allow"},
		{Options{UnixBroker: true, Network: NetHost}, "connect", "notify"},
		{Options{UnixBroker: true, UnixSockets: true}, "connect", "allow"},
		{Options{UnixBroker: true, Namespaces: true}, "connect", "allow"},
		{Options{}, "rseq_slice_yield", "errno ENOSYS"},
		{Options{}, "setxattrat", "errno EOPNOTSUPP"},
		{Options{}, "clone", "depends on arguments: allow, errno EPERM"},
		{Options{}, "socket", "depends on arguments: errno EAFNOSUPPORT, errno ENOSYS, errno EPERM"},
		{Options{Network: NetHost}, "socket", "depends on arguments: allow, errno EAFNOSUPPORT, errno ENOSYS, errno EPERM"},
		{Options{}, "ioctl", "depends on arguments: allow, errno EPERM"},
		{Options{}, "prlimit64", "depends on arguments: allow, errno EPERM"},
		{Options{KeepsRoot: true}, "openat", "depends on arguments: allow, errno EPERM"},
		{Options{KeepsRoot: true}, "openat2", "errno ENOSYS"},
		{Options{}, "listen", "errno EPERM"},
		{Options{UnixSockets: true}, "listen", "allow"},
	}
	for _, goarch := range arches {
		for _, tt := range tests {
			v, err := explain(defaultOf(t, goarch, tt.o), goarch, tt.name)
			if err != nil || v.String() != tt.want || v.Partial {
				t.Errorf("%s %+v: explain(%s) = %v, %v, want %s", goarch, tt.o, tt.name, v, err, tt.want)
			}
			if v.Allowed() != (tt.want == "allow") || v.Depends() != strings.HasPrefix(tt.want, "depends") {
				t.Errorf("%s %+v: %s: Allowed %v, Depends %v", goarch, tt.o, tt.name, v.Allowed(), v.Depends())
			}
		}
	}
	if _, err := explain(defaultOf(t, "arm64", Options{}), "arm64", "open"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("explain of open on arm64 = %v, want ErrNotExist", err)
	}
	if _, err := Explain(whole(), "reed"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Explain of an unknown name = %v, want ErrNotExist", err)
	}
	if _, err := Explain(nil, "read"); !errors.Is(err, ErrInvalid) {
		t.Errorf("Explain of no program = %v, want ErrInvalid", err)
	}
}

func TestVerdictOfManyArgumentsIsPartial(t *testing.T) {
	var p Program
	for arg := range uint32(6) { // too many combinations to try
		for k := range uint32(20) {
			p = append(p, ld(offArgs+8*arg), jump(jmpEq, 100*k, 0, 0))
		}
	}
	v := append(p, ret).verdict(0, auditAMD64, maxTries)
	if !v.Partial || !v.Allowed() {
		t.Errorf("verdict = %+v, want allow, partial", v)
	}
}

func TestNumbers(t *testing.T) {
	for name, want := range map[string]uint32{
		"read": unix.SYS_READ, "writev": unix.SYS_WRITEV, "accept": unix.SYS_ACCEPT,
		"newfstatat": unix.SYS_NEWFSTATAT, "statmount": unix.SYS_STATMOUNT, "file_setattr": unix.SYS_FILE_SETATTR,
		"clone3": unix.SYS_CLONE3, "rseq_slice_yield": unix.SYS_RSEQ_SLICE_YIELD,
	} {
		if got, ok := Number(runtime.GOARCH, name); !ok || got != want {
			t.Errorf("Number(%s) = %d, %v, want %d", name, got, ok, want)
		}
	}
	for _, name := range []string{"", "reed", "a", "zz", "read ", "read 0", "socketcall"} {
		if got, ok := Number("amd64", name); ok {
			t.Errorf("Number(%q) = %d, want none", name, got)
		}
	}
	if _, ok := Number("arm64", "open"); ok {
		t.Error("arm64 has no open")
	}
	for _, goarch := range arches {
		names := Names(goarch)
		if len(names) < 320 {
			t.Errorf("%s has %d names", goarch, len(names))
		}
		for i, name := range names {
			nr, ok := Number(goarch, name)
			if !ok || Name(goarch, nr) != name {
				t.Errorf("%s: %s = %d, %v, which is called %q", goarch, name, nr, ok, Name(goarch, nr))
			}
			if i > 0 && names[i-1] >= name {
				t.Errorf("%s: %s stands before %s", goarch, names[i-1], name)
			}
		}
	}
	if got := Name("amd64", 600); got != "" {
		t.Errorf("Name(600) = %q", got)
	}
}

func TestLinkRefusesADamagedBlob(t *testing.T) {
	raw := defaultBlob
	alter := func(at int, to byte) string { return raw[:at] + string([]byte{to}) + raw[at+1:] }
	for name, b := range map[string]string{
		"nothing": "", "another version": alter(0, 9), "no parts": alter(2, 0), "a strange header": alter(3, 1),
		"one byte less": raw[:len(raw)-1], "one byte more": raw + "\x00", "a longer part": alter(4, raw[4]+1),
		"no switches":         raw[:1] + "\x00" + raw[2:],
		"a switch to no part": alter(4+2*int(raw[2]), 0), "a switch behind the parts": alter(4+2*int(raw[2]), raw[2]),
	} {
		if _, err := Link(b, Options{}); !errors.Is(err, errBlob) {
			t.Errorf("Link(%s) = %v, want an error", name, err)
		}
	}
	if _, err := Link(raw, Options{Network: 4}); !errors.Is(err, errNetwork) {
		t.Errorf("Link with an unknown network = %v", err)
	}
}

func TestOptionsHaveTheirIndex(t *testing.T) {
	for i, o := range AllOptions() {
		if got, err := o.index(); err != nil || got != i {
			t.Errorf("index of %+v = %d, %v, want %d", o, got, err, i)
		}
	}
}

func TestActionString(t *testing.T) {
	for a, want := range map[Action]string{
		KillProcess: "kill process", KillThread: "kill thread", Trap | 7: "trap", Errno(0): "errno 0",
		Errno(38):   "errno ENOSYS",
		Errno(4000): "errno 4000", Notify: "notify", Trace | 3: "trace", Log: "log", Allow: "allow",
		0x12340000: "kill process (unknown action 0x12340000)",
	} {
		if got := a.String(); got != want {
			t.Errorf("String of %#x = %q, want %q", uint32(a), got, want)
		}
	}
}

// TestHotCallsStayInTheAllowBitmap: the kernel answers a call without running
// the filter only if no argument is loaded on its way to allow (Linux 5.11).
func TestHotCallsStayInTheAllowBitmap(t *testing.T) {
	hot := []string{
		"read", "write", "close", "openat", "newfstatat", "fstat", "statx", "lseek", "mmap", "munmap", "mprotect", "brk",
		"futex", "epoll_pwait", "getdents64", "readlinkat", "faccessat", "pread64", "getpid", "clock_gettime", "fcntl",
		"rt_sigaction", "rt_sigprocmask", "madvise", "execve", "wait4", "recvfrom", "connect", "getrandom",
	}
	for _, o := range AllOptions() {
		if o.KeepsRoot {
			continue // pays for its rules about open
		}
		for _, goarch := range arches {
			p, arch := defaultOf(t, goarch, o), auditOf(t, goarch)
			for _, name := range hot {
				want := Allow
				if name == "connect" && o.UnixBroker && !o.UnixSockets && !o.Namespaces {
					want = Notify
				}
				nr, ok := Number(goarch, name)
				if !ok {
					t.Fatalf("%s: no number for %s", goarch, name)
				}
				actions := p.reach(only(nr), only(arch), func(in Insn, _ knowledge) {
					if in.Code == opLdAbs && in.K >= offArgs {
						t.Errorf("%s %+v: %s loads %s", goarch, o, name, fieldName(in.K))
					}
				})
				if len(actions) != 1 || actions[0] != want {
					t.Errorf("%s %+v: %s = %v, want %v", goarch, o, name, actions, want)
				}
			}
		}
	}
}
