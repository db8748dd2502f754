package lint

import (
	"fmt"
	"math"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// maxErrno is the largest error number a filter can return (linux/err.h).
const maxErrno = 4095

// enosys is on every architecture of brainbox the same (asm-generic/errno.h).
const enosys = 38

// fields judges what stands outside the rules.
func (j *judge) fields() {
	s := j.spec
	j.action("", "defaultAction", s.DefaultAction, "defaultErrnoRet", s.DefaultErrnoRet)
	switch {
	case lets(s.DefaultAction):
		j.add("default-allow", "defaultAction", "%s: what is not listed runs", s.DefaultAction)
	case s.DefaultAction == specs.ActErrno && (s.DefaultErrnoRet == nil || *s.DefaultErrnoRet != enosys):
		j.add("default-errno", "defaultAction", "what is not listed gets an errno that is not ENOSYS")
	}
	for i, flag := range s.Flags {
		j.add("flag", fmt.Sprintf("flags[%d]", i), "%q%s", string(flag), flagMeans(flag))
	}
	if s.ListenerPath != "" {
		j.add("listener", "listenerPath", "a listener is asked for")
	}
	if s.ListenerMetadata != "" {
		j.add("listener", "listenerMetadata", "data for a listener")
	}
}

func flagMeans(flag specs.LinuxSeccompFlag) string {
	switch flag {
	case specs.LinuxSeccompFlagSpecAllow:
		return " leaves the processor's protection against speculative store bypass off"
	case specs.LinuxSeccompFlagLog:
		return " logs what is refused"
	case specs.LinuxSeccompFlagWaitKillableRecv:
		return " is for a listener"
	case "SECCOMP_FILTER_FLAG_TSYNC":
		return " is not needed: the filter is loaded before the program has threads"
	}
	return " is unknown"
}

// lets reports whether an action lets a call run, or may.
func lets(a specs.LinuxSeccompAction) bool {
	return a == specs.ActAllow || a == specs.ActLog || a == specs.ActTrace || a == specs.ActNotify
}

// action judges an action with its errno; at is the place of the rule.
func (j *judge) action(at, field string, a specs.LinuxSeccompAction, errnoField string, errno *uint) {
	switch a {
	case specs.ActAllow, specs.ActErrno, specs.ActKillProcess:
	case specs.ActKill, specs.ActKillThread:
		j.add("action-kill-thread", at+field, "%s ends one thread only", a)
	case specs.ActTrap:
		j.add("action-trap", at+field, "%s raises SIGSYS, which a program may handle", a)
	case specs.ActLog:
		j.add("action-log", at+field, "%s allows", a)
	case specs.ActTrace:
		j.add("action-trace", at+field, "%s leaves the call to a tracer", a)
	case specs.ActNotify:
		j.add("action-notify", at+field, "%s leaves the call to a listener", a)
	default:
		j.add("action", at+field, "unknown action %q", string(a))
	}
	switch {
	case errno == nil:
		if a == specs.ActErrno && at != "" {
			j.add("errno-missing", at+field, "%s without errnoRet is EPERM", a)
		}
	case a != specs.ActErrno && a != specs.ActTrace:
		j.add("errno", at+errnoField, "%s has no errno", a)
	case *errno == 0 && a == specs.ActErrno:
		j.add("errno-zero", at+errnoField, "the call is not made and reports success")
	case *errno > maxErrno:
		j.add("errno", at+errnoField, "%d is more than %d", *errno, maxErrno)
	}
}

// rules judges each rule by itself.
func (j *judge) rules() {
	for i, call := range j.spec.Syscalls {
		j.action(j.source[i]+".", "action", call.Action, "errnoRet", call.ErrnoRet)
		if len(call.Names) == 0 {
			j.add("names-empty", j.source[i]+".names", "the rule has no names")
		}
		seen := map[uint]bool{}
		for k, a := range call.Args {
			at := fmt.Sprintf("%s.args[%d]", j.source[i], k)
			if a.Index > 5 {
				j.add("arg-index", at+".index", "argument %d: a call has six, from 0", a.Index)
			}
			if seen[a.Index] {
				j.add("arg-twice", at+".index", "a second condition on argument %d; container runtimes take it as another rule", a.Index)
			}
			seen[a.Index] = true
			j.condition(at, a)
		}
	}
}

// condition judges one condition.
func (j *judge) condition(at string, a specs.LinuxSeccompArg) {
	switch a.Op {
	case specs.OpMaskedEqual:
		switch {
		case a.ValueTwo&^a.Value != 0:
			j.add("arg-never", at, "mask %#x never leaves %#x", a.Value, a.ValueTwo)
		case a.Value == 0:
			j.add("arg-never", at, "a mask of 0: brainbox does not load it")
		}
		return
	case specs.OpEqualTo, specs.OpNotEqual, specs.OpLessThan, specs.OpLessEqual, specs.OpGreaterEqual, specs.OpGreaterThan:
	default:
		j.add("arg-op", at+".op", "unknown operator %q", string(a.Op))
		return
	}
	if a.ValueTwo != 0 {
		j.add("arg-value-two", at+".valueTwo", "%s compares with one value, %#x", a.Op, a.Value)
	}
	switch {
	case a.Op == specs.OpLessThan && a.Value == 0, a.Op == specs.OpGreaterThan && a.Value == math.MaxUint64:
		j.add("arg-never", at, "%s %#x: registers are unsigned", a.Op, a.Value)
	case a.Op == specs.OpGreaterEqual && a.Value == 0, a.Op == specs.OpLessEqual && a.Value == math.MaxUint64:
		j.add("arg-always", at, "%s %#x: registers are unsigned", a.Op, a.Value)
	}
}
