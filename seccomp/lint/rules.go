package lint

import (
	"fmt"
	"strings"
)

// Rule is one thing that is looked for.
type Rule struct {
	ID       string
	Severity Severity // unless the finding says another one
	What     string
	Remedy   string
}

// Rules returns all rules, by subject.
func Rules() []Rule {
	return append(append(formRules(), matchRules()...), callRules()...)
}

func formRules() []Rule {
	return []Rule{
		{"json", Error, "the text is not JSON of the right form", "brainbox policy export --to seccomp prints a profile to begin with"},
		{"json-key", Error, "a key that no form of profile has", "remove it, or correct its spelling; case counts"},
		{"docker-form", Error, "a key of docker's own form, which the runtime specification does not have", "write the profile out for this machine: names, action and args only"},
		{"refused", Error, "brainbox would not load the profile, for a reason that no other rule names", "see the message"},
		{"start", Error, "a call without which no program starts is refused", "allow it"},
		{"action", Error, "an action that does not exist, or none", "SCMP_ACT_ALLOW, SCMP_ACT_ERRNO or SCMP_ACT_KILL_PROCESS"},
		{"action-notify", Error, "SCMP_ACT_NOTIFY: whoever listens decides, and nobody does", "SCMP_ACT_ERRNO"},
		{"action-trace", Error, "SCMP_ACT_TRACE: a tracer, who may be inside, decides", "SCMP_ACT_ERRNO"},
		{"action-log", Warning, "SCMP_ACT_LOG allows the call", "SCMP_ACT_ERRNO, or SCMP_ACT_ALLOW if that is meant"},
		{"action-trap", Note, "SCMP_ACT_TRAP: a handler of the program's own can pretend that the call was made", "SCMP_ACT_ERRNO or SCMP_ACT_KILL_PROCESS"},
		{"action-kill-thread", Note, "SCMP_ACT_KILL ends one thread, and the rest of the process may hang", "SCMP_ACT_KILL_PROCESS"},
		{"default-allow", Warning, "the default action lets calls run: a deny list, in which every new call is open", "deny by default with SCMP_ACT_ERRNO and defaultErrnoRet 38, and list what is allowed"},
		{"default-errno", Note, "the default is not ENOSYS: programs that try a new call first do not fall back", "defaultErrnoRet 38 (ENOSYS)"},
		{"errno-zero", Error, "errno 0: the call is not made and reports success", "an errno from 1 to 4095"},
		{"errno", Error, "an errno out of range, or with an action that has none", "an errno from 1 to 4095, with SCMP_ACT_ERRNO only"},
		{"errno-missing", Note, "SCMP_ACT_ERRNO without an errno is EPERM", "say errnoRet: 1 for EPERM, 38 for ENOSYS"},
		{"flag", Error, "a flag, which brainbox does not set", "remove it"},
		{"listener", Error, "a listener, which brainbox does not start", "remove it"},
		{"arch-foreign", Error, "calls of another architecture are let in, or asked for", "list the native architecture only, or none"},
		{"arch-x32", Error, "calls of the x32 ABI are let in, or asked for: the same calls by other numbers", "remove SCMP_ARCH_X32"},
		{"arch-subarch", Note, "names that only 32-bit programs use, but their architecture is not listed", "nothing: brainbox ends 32-bit programs"},
	}
}

func matchRules() []Rule {
	return []Rule{
		{"names-empty", Error, "a rule without names", "remove the rule"},
		{"name-unknown", Warning, "a name that no kernel has; an error where the call would stay open", "correct the name"},
		{"name-other-arch", Note, "names that this architecture does not have", "nothing: the calls can not happen here"},
		{"name-library", Note, "names that this libseccomp does not have: brainbox filters them by number, docker and podman with this library pass them over", "for docker and podman: a newer libseccomp"},
		{"duplicate", Note, "a rule that stands twice", "remove one"},
		{"shadowed", Note, "a rule that another one, without its conditions, covers", "remove it, or the wider one"},
		{"conflict", Error, "two rules that may match the same call and say different things: their order means nothing", "give them conditions that exclude each other"},
		{"no-effect", Note, "a rule that says what the default says anyway", "remove it"},
		{"arg-index", Error, "an argument that no call has", "an index from 0 to 5"},
		{"arg-op", Error, "an operator that does not exist", "SCMP_CMP_EQ, NE, LT, LE, GE, GT or MASKED_EQ"},
		{"arg-value-two", Error, "a second value for an operator that compares with one", "remove valueTwo, or use SCMP_CMP_MASKED_EQ"},
		{"arg-twice", Error, "two conditions on one argument of a rule", "one condition, or two rules"},
		{"arg-never", Error, "a condition that nothing meets", "with SCMP_CMP_MASKED_EQ, value is the mask and valueTwo the result"},
		{"arg-always", Note, "a condition that everything meets", "remove it"},
		{"arg-64bit", Error, "an int argument is compared in 64 bits: a refused value runs with a high bit set, which the kernel drops", "SCMP_CMP_MASKED_EQ with value 4294967295 and the wanted value as valueTwo"},
		{"arg-64bit-closed", Note, "an int argument is compared in 64 bits: an allowed value is refused with a high bit set", "SCMP_CMP_MASKED_EQ with value 4294967295 and the wanted value as valueTwo"},
	}
}

func callRules() []Rule {
	const deny = "refuse it with SCMP_ACT_ERRNO"
	return []Rule{
		{"clone3", Error, "clone3 runs: its flags lie in memory, where no filter sees a new namespace", "SCMP_ACT_ERRNO with errnoRet 38 (ENOSYS), on which libraries use clone"},
		{"clone-namespaces", Error, "clone runs with a flag for a new namespace", "allow clone where argument 0 has none: SCMP_CMP_MASKED_EQ, value 2114060288, valueTwo 0"},
		{"unshare", Error, "unshare runs with a flag for a new namespace", deny + ", or allow it with a mask of 2114060416"},
		{"setns", Error, "setns runs", deny},
		{"io-uring", Error, "io_uring runs: it does in the kernel what the filter would refuse", "SCMP_ACT_ERRNO with errnoRet 38 (ENOSYS)"},
		{"tiocsti", Error, "ioctl runs with TIOCSTI, which types into the caller's terminal", "refuse argument 1 where SCMP_CMP_MASKED_EQ with value 4294967295 is 21522 (0x5412)"},
		{"tioclinux", Error, "ioctl runs with TIOCLINUX, which pastes into a console", "refuse argument 1 where SCMP_CMP_MASKED_EQ with value 4294967295 is 21532 (0x541c)"},
		{"rseq", Warning, "rseq, which the C library (glibc 2.35) registers at every start, is not answered with ENOSYS", "allow rseq, or answer ENOSYS"},
		{"clone3-errno", Warning, "clone3 is not answered with ENOSYS: programs start no thread and no process", "SCMP_ACT_ERRNO with errnoRet 38 (ENOSYS)"},
		{"fallback-errno", Warning, "a call that programs try first is not answered with ENOSYS: they do not fall back", "SCMP_ACT_ERRNO with errnoRet 38 (ENOSYS), or allow it"},
		{"mount", Warning, "a call of the mount family runs; Landlock stops neither chroot nor open_tree", deny},
		{"handles", Warning, "open_by_handle_at runs: file handles go round every path", deny},
		{"keyring", Warning, "a call for keyrings runs: the user's keys outlive the run", deny},
		{"bpf", Warning, "bpf runs", deny},
		{"perf", Warning, "perf_event_open runs", deny},
		{"userfaultfd", Warning, "userfaultfd runs: it holds up the kernel in the middle of a copy", deny},
		{"kexec", Warning, "a call that loads a kernel runs", deny},
		{"modules", Warning, "a call for kernel modules runs", deny},
		{"admin", Warning, "a call for the administrator runs", deny},
		{"fanotify", Warning, "fanotify runs: listening to files works without privilege", deny},
		{"ptrace", Warning, "ptrace runs: a tracer reads and writes other processes, and goes round the filter below Linux 4.8", deny + "; --seccomp debug opens it"},
		{"process-memory", Warning, "a call into another process's memory or descriptors runs", deny + "; --seccomp debug opens it"},
		{"personality", Warning, "personality runs with READ_IMPLIES_EXEC: data is executable", "allow the values 0, 8, 0x20000, 0x20008, 0x40000 and 0xffffffff only"},
		{"socket-family", Warning, "socket runs for families that no Landlock rule covers and the default refuses", "allow AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK only"},
	}
}

// add tells of a finding with the severity of its rule.
func (j *judge) add(rule, place, format string, args ...any) {
	j.addAs(ruleOf(rule).Severity, rule, place, format, args...)
}

// maxAlike bounds the findings of one rule and severity; the others are counted.
const maxAlike = 100

func (j *judge) addAs(s Severity, rule, place, format string, args ...any) {
	if j.told == nil {
		j.told = map[kind]int{}
	}
	k := kind{rule, s}
	if j.told[k]++; j.told[k] > maxAlike {
		return
	}
	j.put(k, place, fmt.Sprintf(format, args...))
}

// kind is what is counted.
type kind struct {
	rule     string
	severity Severity
}

func (j *judge) put(k kind, place, message string) {
	r := ruleOf(k.rule)
	j.report.Findings = append(j.report.Findings, Finding{
		Rule: k.rule, Severity: k.severity, Place: place, Message: strings.Map(visible, message), Why: r.What, Hint: r.Remedy,
	})
}

// rest tells how many findings were only counted.
func (j *judge) rest() {
	for _, r := range Rules() {
		for s := Error; s <= Note; s++ {
			if n := j.told[kind{r.ID, s}]; n > maxAlike {
				j.put(kind{r.ID, s}, "", fmt.Sprintf("%d more of these", n-maxAlike))
			}
		}
	}
}

// visible keeps what a profile says from being a command to a terminal.
func visible(r rune) rune {
	if r < ' ' || r == 0x7f {
		return '?'
	}
	return r
}

// ruleOf returns the rule of an id; a test sees to it that each that is used exists.
func ruleOf(id string) Rule {
	for _, r := range Rules() {
		if r.ID == id {
			return r
		}
	}
	return Rule{ID: id}
}
