//go:build cgo

package lint

import (
	"fmt"
	"strings"
)

// lintCase is a profile with a fault and the nearest one without it.
type lintCase struct {
	rule, place, fault, sound string
	says                      string    // in the message
	severity                  *Severity // if it is not the rule's own
	native                    string    // architecture that it is for
}

func severity(s Severity) *Severity { return &s }

func cases() []lintCase {
	return append(append(formCases(), matchCases()...), callCases()...)
}

// field is the quiet profile with one more field.
func field(f string) string {
	return top(`"defaultAction":"SCMP_ACT_ERRNO","defaultErrnoRet":38,`+f, quiet)
}

func formCases() []lintCase {
	const at = "syscalls[1].action"
	sound := allowing(deny("getpid"))
	foreign := lintCase{rule: "arch-foreign", place: "architectures[1]", native: "amd64", says: "of its calls would run"}
	foreign.fault, foreign.sound = field(`"architectures":["SCMP_ARCH_X86_64","SCMP_ARCH_X86"]`), field(`"architectures":["SCMP_ARCH_X86_64"]`)
	x32 := foreign
	x32.rule, x32.fault = "arch-x32", field(`"architectures":["SCMP_ARCH_X86_64","SCMP_ARCH_X32"]`)
	names32 := allowing(allow("chown32"))
	return []lintCase{
		{rule: "json", fault: allowing()[1:], sound: allowing()},
		{rule: "json-key", place: "syscalls[0].Action", fault: strings.Replace(allowing(), `"action"`, `"Action"`, 1), sound: allowing()},
		{
			rule: "docker-form", place: "syscalls[1].includes", fault: allowing(`{"names":["chroot"],"action":"SCMP_ACT_ALLOW","includes":{"caps":["CAP_SYS_CHROOT"]}}`),
			sound: allowing(allow("chdir")),
		},
		{rule: "refused", fault: allowing(many(1350)...), sound: allowing(many(30)...), says: "more than 4096 instructions"},
		{rule: "start", place: "defaultAction", fault: strings.Replace(allowing(), `"execve",`, "", 1), sound: allowing(), says: "execve"},
		{rule: "action", place: at, fault: allowing(rule("ALLOW", "getpid")), sound: sound},
		{rule: "action-notify", place: at, fault: allowing(rule("SCMP_ACT_NOTIFY", "getpid")), sound: sound},
		{rule: "action-trace", place: at, fault: allowing(rule("SCMP_ACT_TRACE", "getpid")), sound: sound},
		{rule: "action-log", place: at, fault: allowing(rule("SCMP_ACT_LOG", "getpid")), sound: sound},
		{rule: "action-trap", place: at, fault: allowing(rule("SCMP_ACT_TRAP", "getpid")), sound: sound},
		{rule: "action-kill-thread", place: at, fault: allowing(rule("SCMP_ACT_KILL", "getpid")), sound: allowing(rule("SCMP_ACT_KILL_PROCESS", "getpid"))},
		{rule: "default-allow", place: "defaultAction", fault: denyList(deny("getpid")), sound: sound},
		{rule: "default-errno", place: "defaultAction", fault: top(`"defaultAction":"SCMP_ACT_ERRNO","defaultErrnoRet":1`, quiet), sound: allowing()},
		{rule: "errno-zero", place: "syscalls[1].errnoRet", fault: allowing(strings.Replace(deny("getpid"), `"errnoRet":1`, `"errnoRet":0`, 1)), sound: sound},
		{rule: "errno", place: "syscalls[1].errnoRet", fault: allowing(strings.Replace(deny("getpid"), `"errnoRet":1`, `"errnoRet":4096`, 1)), sound: sound},
		{rule: "errno-missing", place: at, fault: allowing(rule("SCMP_ACT_ERRNO", "getpid")), sound: sound},
		{rule: "flag", place: "flags[0]", fault: field(`"flags":["SECCOMP_FILTER_FLAG_SPEC_ALLOW"]`), sound: field(`"flags":[]`), says: "speculative"},
		{rule: "listener", place: "listenerPath", fault: field(`"listenerPath":"/x"`), sound: allowing()},
		foreign, x32,
		{rule: "arch-subarch", place: "syscalls[1].names[0]", fault: names32, sound: strings.Replace(names32, `"syscalls"`, `"architectures":["SCMP_ARCH_X86"],"syscalls"`, 1)},
	}
}

// many are rules that no program has room for.
func many(n int) (rules []string) {
	for i := range n {
		rules = append(rules, allow("getpriority", arg(1, "EQ", uint64(i)<<33, 0)))
	}
	return rules
}

func matchCases() []lintCase {
	const name, first = "syscalls[1].names[0]", "syscalls[1].args[0]"
	closed := severity(Error)
	return []lintCase{
		{rule: "names-empty", place: "syscalls[1].names", fault: allowing(`{"names":[],"action":"SCMP_ACT_ALLOW"}`), sound: allowing(allow("getpid"))},
		{rule: "name-unknown", place: name, fault: allowing(allow("getpidd")), sound: allowing(allow("getpid")), says: ": getpid?"},
		{rule: "name-unknown", place: "syscalls[0].names[0]", fault: denyList(deny("ptrase")), sound: denyList(deny("ptrace")), says: "stays open: ptrace?", severity: closed},
		{rule: "name-other-arch", place: name, fault: allowing(allow("socketcall")), sound: allowing(allow("getpid"))},
		{rule: "name-library", place: name, fault: allowing(allow("listns")), sound: allowing(allow("getpid"))}, // newer than all of them
		{rule: "duplicate", place: "syscalls[2].names[0]", fault: allowing(allow("getpid"), allow("getpid")), sound: allowing(allow("getpid"), allow("getppid"))},
		{rule: "shadowed", place: "syscalls[2].names[0]", fault: allowing(allow("kill"), allow("kill", low(0, 1))), sound: allowing(allow("kill", low(0, 2)), allow("kill", low(0, 1)))},
		{rule: "conflict", place: "syscalls[2].names[0]", fault: allowing(allow("kill"), deny("kill", low(0, 1))), sound: allowing(allow("kill", low(0, 2)), deny("kill", low(0, 1)))},
		{rule: "no-effect", place: "syscalls[0].action", fault: denyList(allow("getpid")), sound: denyList(deny("getpid"))},
		{rule: "arg-index", place: first + ".index", fault: allowing(allow("kill", low(6, 1))), sound: allowing(allow("kill", low(5, 1)))},
		{rule: "arg-op", place: first + ".op", fault: allowing(allow("kill", arg(0, "IS", 1, 0))), sound: allowing(allow("kill", arg(0, "EQ", 1, 0)))},
		{rule: "arg-value-two", place: first + ".valueTwo", fault: allowing(allow("kill", arg(0, "EQ", 1, 1))), sound: allowing(allow("kill", arg(0, "EQ", 1, 0)))},
		{rule: "arg-twice", place: "syscalls[1].args[1].index", fault: allowing(allow("kill", low(0, 1), low(0, 2))), sound: allowing(allow("kill", low(0, 1), low(1, 2)))},
		{rule: "arg-never", place: first, fault: allowing(allow("kill", arg(0, "MASKED_EQ", 1, 2))), sound: allowing(allow("kill", arg(0, "MASKED_EQ", 2, 2)))},
		{rule: "arg-always", place: first, fault: allowing(allow("kill", arg(0, "GE", 0, 0))), sound: allowing(allow("kill", arg(0, "GE", 1, 0)))},
		{
			rule: "arg-64bit", place: "syscalls[0].args[0]", fault: denyList(deny("ioctl", arg(1, "EQ", 0x5412, 0))),
			sound: denyList(deny("ioctl", low(1, 0x5412))), says: "0x5412 (TIOCSTI), and runs with 0x100005412",
		},
		{
			rule: "arg-64bit", place: "syscalls[0].args[0]", fault: denyList(deny("socket", arg(0, "EQ", 40, 0))),
			sound: denyList(deny("socket", low(0, 40))), says: "AF_VSOCK",
		},
		{
			rule: "arg-64bit", place: first, fault: allowing(allow("socket", arg(0, "NE", 40, 0))),
			sound: allowing(allow("socket", low(0, 1))), says: "AF_VSOCK",
		},
		{rule: "arg-64bit-closed", place: first, fault: allowing(allow("socket", arg(0, "EQ", 1, 0))), sound: allowing(allow("socket", low(0, 1)))},
	}
}

// noNamespaces is the mask of clone's flags, and unshareMask that of unshare.
const (
	noNamespaces = 0x7e020000
	unshareMask  = 0x7e020080
)

func callCases() []lintCase {
	const at = "syscalls[1].names[0]"
	list := []lintCase{
		{rule: "clone-namespaces", place: at, fault: allowing(allow("clone")), sound: allowing(allow("clone", arg(0, "MASKED_EQ", noNamespaces, 0))), says: "CLONE_NEWUSER"},
		{
			rule: "clone-namespaces", place: at, fault: allowing(allow("clone", arg(0, "MASKED_EQ", noNamespaces&^0x10000000, 0))),
			sound: allowing(allow("clone", arg(0, "MASKED_EQ", noNamespaces, 0))), says: "clone runs with CLONE_NEWUSER",
		},
		{rule: "unshare", place: at, fault: allowing(allow("unshare", arg(0, "MASKED_EQ", noNamespaces, 0))), sound: allowing(allow("unshare", arg(0, "MASKED_EQ", unshareMask, 0))), says: "CLONE_NEWTIME"},
		{rule: "tiocsti", place: at, fault: allowing(allow("ioctl")), sound: allowing(allow("ioctl", low(1, 0x5413)))},
		{rule: "tioclinux", place: "defaultAction", fault: denyList(deny("ioctl", low(1, 0x5412))), sound: denyList(deny("ioctl", low(1, 0x541c)))},
		{rule: "rseq", place: at, fault: strings.Replace(allowing(deny("rseq")), `"rseq",`, "", 1), sound: allowing()},
		{rule: "rseq", place: "defaultAction", fault: strings.Replace(allowing(), `"rseq",`, "", 1), sound: allowing(), severity: severity(Note)},
		{rule: "clone3-errno", place: at, fault: allowing(deny("clone3")), sound: allowing(missing("clone3"))},
		{rule: "clone3-errno", place: at, fault: allowing(rule("SCMP_ACT_KILL_PROCESS", "clone3")), sound: allowing(), says: "kill process"},
		{rule: "personality", place: at, fault: allowing(allow("personality")), sound: allowing(allow("personality", low(0, 0)))},
		{rule: "socket-family", place: at, fault: allowing(allow("socket")), sound: allowing(allow("socket", low(0, 1))), says: "AF_ALG"},
	}
	for _, name := range []string{"openat2", "faccessat2", "close_range", "fchmodat2"} {
		list = append(list, lintCase{rule: "fallback-errno", place: at, fault: allowing(deny(name)), sound: allowing(missing(name)), says: name})
	}
	for _, f := range families() {
		for _, name := range f.calls {
			if name == "iopl" || name == "ioperm" {
				continue // not on arm64
			}
			list = append(list, lintCase{rule: f.rule, place: at, fault: allowing(allow(name)), sound: allowing(missing(name)), says: fmt.Sprintf("%s runs", name)})
		}
	}
	return list
}
