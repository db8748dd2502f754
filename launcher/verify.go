package launcher

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"brainbox/policy"
)

// Agreement says whether a plan and the kernel say the same of an operation.
type Agreement uint8

// The agreements. The zero value claims nothing.
const (
	Unverified Agreement = iota
	Agrees
	Disagrees // a fault of brainbox
)

// String returns the word of why --verify.
func (a Agreement) String() string { return [...]string{"unverified", "agrees", "disagrees"}[a] }

// Verification is a judgement beside what the kernel said.
type Verification struct {
	Agreement Agreement
	Tried     Tried  // under the plan's confinement
	Reason    string // of Unverified and Disagrees: a sentence without a stop at its end
}

// Verify asks the kernel about one operation, under exactly the confinement of the plan, and
// says whether it answers as j does. Nothing is executed. What is there is opened, and that
// is all: what an operation would change is tried on files that Verify makes beside it and
// removes again, under names of its own.
//
// An error means that the trial failed, not the operation. Only what the kernel would do
// without the plan is compared, so that an operation is tried without confinement too, as
// the program's user: Linux 5.13 for Landlock, 6.14 for OpExec (execveat(2)).
func (p *Plan) Verify(f *Facts, op Operation, j Judgement) (Verification, error) {
	if j.Verdict == Undecided {
		return unverified("the plan does not decide it"), nil
	}
	if p.Refusal != nil {
		return unverified("nothing would start: " + p.Refusal.Message), nil
	}
	if why := p.untriable(f, &op); why != "" {
		return unverified(why), nil
	}
	free, err := staged(&op, func(o Operation) ([]Tried, error) { return p.TryFree([]Operation{o}) })
	if err == nil {
		if why := passesFree(&op, free); why != "" {
			return unverified(why), nil
		}
		var held Tried
		held, err = staged(&op, func(o Operation) ([]Tried, error) { return p.TryOut(f, []Operation{o}) })
		if err == nil {
			return p.compare(&op, j, free, held), nil
		}
	}
	var why *unstaged
	if errors.As(err, &why) {
		return unverified(why.text), nil
	}
	if errors.Is(err, errNoTrial) {
		return unverified(lastLine(err)), nil
	}
	return Verification{}, p.startError(err)
}

func unverified(why string) Verification { return Verification{Reason: why} }

// lastLine is the reason beside errNoTrial.
func lastLine(err error) string {
	if list, ok := err.(interface{ Unwrap() []error }); ok {
		if all := list.Unwrap(); len(all) > 0 {
			return all[len(all)-1].Error()
		}
	}
	return err.Error()
}

// untriable says why an operation cannot be tried on its path, or beside it; "" if it can.
func (p *Plan) untriable(f *Facts, op *Operation) string {
	if why := p.unknowable(op); why != "" {
		return why
	}
	switch op.Op {
	case OpTruncate, OpCreate, OpRemove, OpRename, OpLink:
		for _, path := range []string{op.Path, op.Dest} {
			if path != "" && p.namedBelow(f, path) {
				return quotePath(path) + ", or something in it, is named by an entry, and another name in its folder would not be"
			}
		}
	case OpRead, OpWrite, OpExec, OpConnect, OpBind, OpUnix, OpSyscall:
	}
	return ""
}

// unknowable says why nothing can be learnt of an operation by trying it; "" if something can.
func (p *Plan) unknowable(op *Operation) string {
	switch op.Op {
	case OpConnect, OpUnix:
		if p.Broker != nil {
			return "the supervisor makes the connection, and a trial has none"
		}
		if op.Op == OpConnect && p.OwnNetwork {
			return "the program has a network of its own"
		}
	case OpBind:
		if p.OwnNetwork && op.Port != 0 && op.Port < privileged {
			return "the kernel refuses the address of the trial before it asks for the privilege that the port needs"
		}
	case OpRead, OpWrite, OpTruncate, OpExec, OpCreate, OpRemove, OpRename, OpLink, OpSyscall:
	}
	for _, path := range []string{op.Path, op.Dest} {
		if place, own := p.ownWritable(path); own {
			return "the program has a " + quotePath(place) + " of its own, and what is there is its own to make"
		}
	}
	switch {
	case p.Isolation == "namespaces" && ofProcess(op.Path):
		return "the processes that the program sees are others"
	case trialOf(op) == nil:
		return "there is no call that would do no harm"
	}
	return ""
}

// ofProcess reports whether a path is of one process (proc(5)).
func ofProcess(path string) bool {
	name, ok := strings.CutPrefix(path, "/proc/")
	return ok && name != "" && (name[0] >= '0' && name[0] <= '9' || policy.Below("/"+name, "/self") || policy.Below("/"+name, "/thread-self"))
}

// ownWritable reports whether a path lies in a folder that the program alone fills.
func (p *Plan) ownWritable(path string) (place string, own bool) {
	if path == "" || p.Isolation != "namespaces" {
		return "", false
	}
	r := p.region(path)
	return r.path, r.own && r.write
}

// namedBelow reports whether the plan says something of this very path, or of one below it.
func (p *Plan) namedBelow(f *Facts, path string) bool {
	is := func(name string) bool { return name != "" && policy.Below(name, path) }
	for i := range f.Wants {
		if is(f.Wants[i].Abs) || is(f.Paths[i].Target) {
			return true
		}
	}
	for i := range p.Mounts {
		if is(p.Mounts[i].Path) {
			return true
		}
	}
	for i := range p.Watch {
		if is(p.Watch[i].Path) {
			return true
		}
	}
	return is(f.RunDir) || is(f.Home.Dir)
}

// passedErrnos are the answers to an operation that come after what confines: it was allowed.
func passedErrnos(op *Operation) []syscall.Errno {
	switch op.Op {
	case OpRead, OpWrite:
		return []syscall.Errno{unix.ENXIO} // a FIFO that nobody reads; a socket (open(2))
	case OpConnect:
		return []syscall.Errno{unix.ENETUNREACH}
	case OpBind:
		return []syscall.Errno{unix.EADDRNOTAVAIL}
	case OpUnix:
		return []syscall.Errno{unix.ECONNREFUSED, unix.EPROTOTYPE, unix.EAGAIN}
	case OpExec, OpTruncate, OpCreate, OpRemove, OpRename, OpLink, OpSyscall:
	}
	return nil
}

// passed reports whether the kernel let an operation pass.
func passed(op *Operation, t Tried) bool {
	if !t.Made {
		return false
	}
	for _, e := range passedErrnos(op) {
		if t.Errno == e {
			return true
		}
	}
	return t.Errno == 0
}

// passesFree says why nothing can be learnt from an operation, which fails without any
// confinement; "" if it does not. A system call is compared by its errno alone.
func passesFree(op *Operation, free Tried) string {
	switch {
	case op.Op == OpSyscall || passed(op, free):
		return ""
	case op.Op == OpExec && free.Errno == unix.EINVAL:
		return "asking whether a file would be executed needs Linux 6.14"
	}
	return "it fails without any confinement: " + free.String()
}

// another reports whether the program opened something else than a process outside does at
// the same path, where it should have been the same.
func (p *Plan) another(op *Operation, free, held Tried) bool {
	switch {
	case op.Op != OpRead && op.Op != OpWrite:
		return false
	case p.madeForRun(op.Path):
		return false
	case held.Ino == 0 || free.Ino == 0: // one could not be opened, as a socket cannot
		return held.Errno != free.Errno
	}
	return held.Dev != free.Dev || held.Ino != free.Ino
}

// madeForRun reports whether isolation namespaces has something of the run's own at a path.
func (p *Plan) madeForRun(path string) bool {
	if p.Isolation != "namespaces" {
		return false
	}
	made := p.region(path).own || policy.Below(path, "/proc")
	for i := range p.Mounts { // what is inside another comes after it
		switch m := &p.Mounts[i]; {
		case !policy.Below(path, m.Path):
		case m.Kind == MountFile || m.Kind == MountFS:
			made = true
		case m.Kind == MountBind, m.Kind == MountSelf: // the host's, but for a private folder
			made = m.Held.In == HeldHome || m.Held.In == HeldTmp || m.Held.In == HeldGitConfig || m.Held.In == HeldBridge
		}
	}
	return made
}

// compare is the verdict on a judgement. free passed, or is of a system call. A plan may say
// refused of what gives the program no error: then it found something else.
func (p *Plan) compare(op *Operation, j Judgement, free, held Tried) Verification {
	ok := passed(op, held)
	if op.Op == OpSyscall {
		ok = held.Made && held == free // with arguments for which the kernel has an error anyway
		if j.Verdict == Refused && j.Errno != 0 && held.Made && held.Errno == j.Errno {
			ok = false
		}
	}
	v := Verification{Agreement: Agrees, Tried: held}
	other := p.another(op, free, held)
	switch {
	case j.Verdict == Refused && ok && other:
	case j.Verdict == Allowed && ok && other:
		v.Agreement, v.Reason = Disagrees, "the plan says allowed and the program finds another file"
	case j.Verdict == Allowed && !ok:
		v.Agreement, v.Reason = Disagrees, "the plan says allowed and the kernel says "+held.String()
	case j.Verdict == Refused && ok && p.unasked(op, held):
		v.Agreement, v.Reason = Unverified, "nobody listens at the socket, and the kernel says so before it asks Landlock"
	case j.Verdict == Refused && ok:
		v.Agreement, v.Reason = Disagrees, "the plan says refused and the kernel allows it"
	case j.Verdict == Refused && j.Errno != 0 && held.Made && held.Errno != j.Errno:
		v.Agreement = Disagrees
		v.Reason = "the plan says " + errnoName(j.Errno) + " and the kernel says " + held.String()
	}
	return v
}

// unasked reports whether connect(2) came back before the kernel asked what confines: Landlock
// is asked of the socket that listens at a path (ABI 9), and there was none of the kind.
func (p *Plan) unasked(op *Operation, held Tried) bool {
	none := held.Errno == unix.ECONNREFUSED || held.Errno == unix.EPROTOTYPE
	return op.Op == OpUnix && none && !p.Landlock.ResolveUnixElsewhere
}

// beside is a name of ours in the folder of path.
func beside(path, name string) string { return filepath.Join(filepath.Dir(path), name) }
