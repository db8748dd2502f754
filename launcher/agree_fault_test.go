package launcher

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// disagreement is one operation, and what was said of it.
type disagreement struct {
	c agreeCase
	v Verification
	j Judgement
}

func (d disagreement) show(p agreePolicy) string {
	return fmt.Sprintf("%s\nof %s\njudged %+v\nunder\n%s", d.v.Reason, showOperation(d.c.op), d.j, p.text())
}

func showOperation(o Operation) string {
	words := [...]string{"read", "write", "truncate", "exec", "create", "remove", "rename", "link", "connect", "bind", "unix", "syscall"}
	kinds := [...]string{"absent", "regular", "folder", "link", "socket", "fifo", "char", "block"}
	return fmt.Sprintf("%s %q (%s) dest %q (%s) port %d", words[o.Op], o.Path, kinds[o.Kind], o.Dest, kinds[o.Over], o.Port)
}

// onlyOpen are the operations that leave everything as it is, at their places.
func onlyOpen(ops []Operation) []Operation {
	list := make([]Operation, len(ops))
	for i := range ops {
		list[i] = Operation{Op: OpSyscall} // no call at all
		if ops[i].Op == OpRead || ops[i].Op == OpWrite {
			list[i] = ops[i]
		}
	}
	return list
}

// forgetsExecute is a fault that can only show where the kernel says whether it would execute.
const forgetsExecute = "forgets execute"

// asksExecute reports whether it does (AT_EXECVE_CHECK, Linux 6.14): of a folder it says EACCES
// then, and else that it does not know the flag.
func asksExecute() bool {
	root := [...]byte{'/', 0}
	at := unix.AT_FDCWD
	_, _, e := unix.Syscall6(unix.SYS_EXECVEAT, uintptr(at), uintptr(unsafe.Pointer(&root[0])), 0, 0, execveCheck, 0)
	return e != unix.EINVAL
}

// insideOnly is a fault that can only show in namespaces.
const insideOnly = "takes a name away from under a mount"

// faultyJudges are judges with one fault each, by what they do wrong. Beside the judge they
// get the same answers of the kernel, which has to find each of them out: a test that could
// not would show nothing of the judge.
func faultyJudges() map[string]func(*Plan, *Operation, Judgement) Judgement {
	allow := func(when func(*Operation, Judgement) bool) func(*Plan, *Operation, Judgement) Judgement {
		return func(_ *Plan, op *Operation, j Judgement) Judgement {
			if j.Verdict == Refused && when(op, j) {
				return Judgement{Verdict: Allowed}
			}
			return j
		}
	}
	right := func(word string) func(*Plan, *Operation, Judgement) Judgement {
		return allow(func(_ *Operation, j Judgement) bool { return j.Right == word })
	}
	return map[string]func(*Plan, *Operation, Judgement) Judgement{
		"forgets refer":       right("refer"),
		forgetsExecute:        right("execute"),
		"lets all be read":    allow(func(op *Operation, j Judgement) bool { return op.Op == OpRead && j.Errno != 0 }),
		"forgets connect_tcp": right("connect_tcp"),
		"forgets sockets":     allow(func(op *Operation, _ Judgement) bool { return op.Op == OpUnix }),
		"forgets truncate":    allow(func(op *Operation, _ Judgement) bool { return op.Op == OpTruncate }),
		"forgets the new name of a link": allow(func(op *Operation, j Judgement) bool {
			return op.Op == OpLink && j.Errno != syscall.EXDEV
		}),
		"mistakes EXDEV for EACCES": func(_ *Plan, _ *Operation, j Judgement) Judgement {
			if j.Errno == syscall.EXDEV {
				j.Errno = syscall.EACCES
			}
			return j
		},
		"refuses every write": func(_ *Plan, op *Operation, j Judgement) Judgement {
			if op.Op == OpWrite && j.Verdict == Allowed {
				return Judgement{Verdict: Refused}
			}
			return j
		},
		insideOnly: allow(func(_ *Operation, j Judgement) bool { return j.Errno == syscall.EBUSY }),
	}
}
