package seccomp

import (
	"fmt"
	"runtime"
)

// observed are the calls that name a file or an address, and whose fate Landlock and the
// mounts decide.
var observed = []string{
	"open", "openat", "openat2", "creat", "execve", "execveat", "connect", "bind", "link", "linkat", "symlink", "symlinkat",
	"rename", "renameat", "renameat2", "mkdir", "mkdirat", "mknod", "mknodat", "unlink", "unlinkat", "rmdir", "truncate",
}

// explained are the calls whose refusal by a filter is worth telling. One that programs only
// try and have an answer for (clone3) is not among them: each refusal costs a round trip.
var explained = []string{
	"acct", "add_key", "adjtimex", "bpf", "chmod", "chroot", "clock_adjtime", "clock_settime", "clone", "delete_module", "fchmod",
	"fchmodat", "finit_module", "fsconfig", "fsmount", "fsopen", "fspick", "init_module", "io_uring_setup", "ioperm", "iopl", "kcmp",
	"kexec_file_load", "kexec_load", "keyctl", "listen", "mount", "mount_setattr", "move_mount", "name_to_handle_at", "open_by_handle_at",
	"open_tree", "perf_event_open", "personality", "pidfd_getfd", "pivot_root", "process_vm_readv", "process_vm_writev", "ptrace",
	"quotactl", "reboot", "request_key", "setdomainname", "sethostname", "setns", "settimeofday", "socket", "socketpair", "swapoff",
	"swapon", "syslog", "umount2", "unshare", "userfaultfd", "vhangup",
}

// Observed returns the names of the calls that a filter made by [Observe] notifies where the
// program's filter allows them, or refuses them with another error than ENOSYS. Names that
// the architecture this program was built for lacks are left out.
func Observed() []string { return existing(observed, runtime.GOARCH) }

// Explained returns the names of the calls that a filter made by [Observe] notifies where the
// program's filter refuses them with any error. Like Observed it leaves out what is not there.
func Explained() []string { return existing(explained, runtime.GOARCH) }

func existing(names []string, goarch string) []string {
	var list []string
	for _, name := range names {
		if _, ok := Number(goarch, name); ok {
			list = append(list, name)
		}
	}
	return list
}

// Mark is a value in the sixth register of a call, which none of the observed calls takes:
// one that has it gets the answer of the program's filter at once. The start marks its own
// calls, since nobody answers notifications before it is over. It is a random number, and
// only the watching is lost to a program that guesses it. Zero marks nothing.
type Mark uint64

// Observe returns the filter for a program whose calls are watched: p, but that the calls of
// [Observed] and [Explained] are handed to the notification listener, who answers a call that
// p refuses with the error of p, and lets the kernel go on with one that p allows. Every other
// call gets from it what p gives, as does a call by another architecture or by x32, and one
// that p answers otherwise (a kill, a trap, [Log]). An empty p is one that allows everything.
//
// The kernel's own table of calls that are always allowed (Linux 5.11) stays as good as it is
// for p, but for the observed calls.
//
// An error wraps [ErrInvalid]: p is not valid, or too long to be held three times.
func Observe(p Program, m Mark) (Program, error) { return observe(p, runtime.GOARCH, m) }

func observe(p Program, goarch string, m Mark) (Program, error) {
	arch, err := AuditArch(goarch)
	if err != nil {
		return nil, err
	}
	if len(p) == 0 {
		p = Program{{Code: opRetK, K: uint32(Allow)}}
	}
	if err := p.Validate(); err != nil {
		return nil, err
	}
	watched := watchedCopy(p, m, func(a Action) bool {
		e, refused := a.Errno()
		return a&actionMask == Allow || refused && e != 0 && e != enosys
	})
	told := watchedCopy(p, m, func(a Action) bool {
		e, refused := a.Errno()
		return refused && e != 0
	})

	head := selector(arch, numbers(observed, goarch), numbers(explained, goarch), len(p), len(watched))
	whole := append(append(append(head, p...), watched...), told...)
	if len(whole) > MaxInsns {
		return nil, fmt.Errorf("seccomp: %w: a filter of %d instructions becomes one of %d when it is observed, the kernel takes %d",
			ErrInvalid, len(p), len(whole), MaxInsns)
	}
	return whole, whole.Validate()
}

const (
	opJeq  = classJmp | jmpEq
	opAndK = classAlu | aluAnd
	enosys = 38
)

// selector leads a call to one of three programs that stand behind it, the first two of them
// with these lengths: by another architecture or of another number than the listed ones to
// the first one, which begins as it would alone, with an accumulator of 0.
func selector(arch uint32, second, third []uint32, lenFirst, lenSecond int) Program {
	const head = 4
	at := head + len(second) + len(third) // the first of three ways out, each of two instructions
	s := Program{
		{Code: opLdAbs, K: offArch}, {Code: opJeq, K: arch, Jt: 1}, {Code: opJa, K: uint32(at - 3)}, {Code: opLdAbs, K: offNr},
	}
	for way, list := range [...][]uint32{second, third} {
		for _, nr := range list {
			s = append(s, Insn{Code: opJeq, K: nr, Jt: uint8(at + 2*(way+1) - len(s) - 1)})
		}
	}
	end := at + 6
	for _, to := range [...]int{end, end + lenFirst, end + lenFirst + lenSecond} {
		s = append(s, Insn{Code: opAndK}, Insn{Code: opJa, K: uint32(to - len(s) - 2)})
	}
	return s
}

func numbers(names []string, goarch string) []uint32 {
	var list []uint32
	for _, name := range names {
		if nr, ok := Number(goarch, name); ok {
			list = append(list, nr)
		}
	}
	return list
}

// watchedCopy is p with a notification in the place of each action that is meant, unless the
// call is marked. A return becomes a jump to a tail that does both.
func watchedCopy(p Program, m Mark, meant func(Action) bool) Program {
	out := append(Program{}, p...)
	tails := map[Insn]int{}
	for pc, in := range p {
		var tail Program
		switch {
		case in.Code == opRetK && meant(Action(in.K)):
			tail = unlessMarked(m, Program{in})
		case in.Code == opRetA:
			tail = computedTail(m, meant)
		default:
			continue
		}
		if tails[in] == 0 {
			tails[in] = len(out)
			out = append(out, tail...)
		}
		out[pc] = Insn{Code: opJa, K: uint32(tails[in] - pc - 1)}
	}
	return out
}

// unlessMarked notifies, but for a marked call, with which it goes on.
func unlessMarked(m Mark, marked Program) Program {
	notify := Insn{Code: opRetK, K: uint32(Notify)}
	if m == 0 {
		return Program{notify}
	}
	const sixth = offArgs + 5*8
	n := uint8(len(marked))
	return append(append(Program{
		{Code: opLdAbs, K: sixth},
		{Code: opJeq, K: uint32(m), Jf: n + 2},
		{Code: opLdAbs, K: sixth + 4},
		{Code: opJeq, K: uint32(m >> 32), Jf: n},
	}, marked...), notify)
}

// computedTail is for a return of the accumulator: an allowance or a refusal is recognised
// by its action, whatever error it has.
func computedTail(m Mark, meant func(Action) bool) Program {
	tail := Program{{Code: opTax}, {Code: opAndK, K: actionMask}}
	back := Program{{Code: opTxa}, {Code: opRetA}}
	ask := unlessMarked(m, back)
	jump := func(a Action) Insn { return Insn{Code: opJeq, K: uint32(a)} }
	if meant(Allow) {
		// An allowance, or an error but for 0 and ENOSYS.
		tail = append(tail, jump(Allow))
		tail[2].Jt = 6
		tail = append(tail, jump(errnoAction), Insn{Code: opTxa}, Insn{Code: opRetA}, Insn{Code: opTxa})
		tail[3].Jt = 2
		return append(append(tail, errnoJumps(uint8(len(ask)), enosys)...), append(ask, back...)...)
	}
	tail = append(tail, jump(errnoAction), Insn{Code: opTxa}, Insn{Code: opRetA}, Insn{Code: opTxa})
	tail[2].Jt = 2
	return append(append(tail, errnoJumps(uint8(len(ask)), 0)...), append(ask, back...)...)
}

// errnoJumps passes over n instructions for an error of 0, and for one more.
func errnoJumps(n uint8, other uint32) Program {
	return Program{
		{Code: opJeq, K: uint32(errnoAction), Jt: n + 1},
		{Code: opJeq, K: uint32(errnoAction) | other, Jt: n},
	}
}
