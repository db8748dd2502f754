package launcher

import (
	"errors"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"brainbox/internal/spawn"
)

// Tried is what the kernel said to one operation. Not Made: it said nothing, because the
// filter killed who asked, or because nobody asked.
type Tried struct {
	Made  bool
	Errno syscall.Errno // 0: it was done

	Dev, Ino uint64 // of what was opened (inode(7)); both 0: nothing was, or it is not known
}

// String is the kernel's word: "done", or the name of the error.
func (t Tried) String() string {
	switch {
	case !t.Made:
		return "the caller is killed"
	case t.Errno == 0:
		return "done"
	}
	return errnoName(t.Errno)
}

// errNoTrial says of a plan that it cannot be tried without effects.
var errNoTrial = errors.New("not to be tried")

// TryOut makes the calls of operations under exactly the confinement of a plan, one after the
// other in one process, which executes nothing and ends. What an operation does is done: a
// file that it may make is there afterwards. [Verify] is for questions about what is there.
//
// What a broker connects to has no answer, nor has what [Operation] cannot say to a kernel,
// such as a path longer than a socket's address. AT_EXECVE_CHECK, which executes nothing, is
// of Linux 6.14: below, OpExec gives EINVAL (execveat(2)).
func (p *Plan) TryOut(f *Facts, ops []Operation) ([]Tried, error) {
	if p.Refusal != nil {
		return nil, p.Refusal
	}
	s := &session{plan: p, facts: f}
	defer s.close()
	null, err := openNull()
	if err != nil {
		return nil, err
	}
	defer unix.Close(null)
	r, err := s.trial(null)
	if err != nil {
		return nil, err
	}
	return tryOut(r, ops, trialOf, p.Broker != nil)
}

// TryFree makes the same calls in a process with the user, the groups and the capabilities
// of the plan's program, that is not confined: what it is refused is refused by the mode of
// a file, or for what is there, and says nothing of the plan. It follows no link: the paths
// are those that links lead to.
func (p *Plan) TryFree(ops []Operation) ([]Tried, error) {
	null, err := openNull()
	if err != nil {
		return nil, err
	}
	defer unix.Close(null)
	r := &spawn.Request{
		Path: "/", Argv: []string{"trial"}, Unconfined: true, Stdio: [3]int{null, null, null},
		Umask: p.Umask, Session: true, DieWithParent: true, Bounding: p.Bounding,
	}
	r.Identity = spawnIdentity(p.Identity)
	return tryOut(r, ops, freeTrialOf, p.Broker != nil)
}

func openNull() (int, error) {
	fd, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	return fd, os.NewSyscallError("open /dev/null", err)
}

// trial is the start of a run that ends before its program. What a run keeps for the next
// one, or has somebody serve, is not made for it.
func (s *session) trial(null int) (*spawn.Request, error) {
	p := s.plan
	switch {
	case p.Bridge != nil:
		return nil, joinNoTrial("the program would have a bridge, which is made for a run")
	case p.Network != nil:
		return nil, joinNoTrial("the program's network would be served, which is done for a run")
	}
	if err := s.trialFolders(); err != nil {
		return nil, err
	}
	var err error
	if s.ruleset, err = s.buildRuleset(); err != nil {
		return nil, err
	}
	filter, err := p.FilterProgram()
	if err != nil {
		return nil, err
	}
	r := s.request(Options{Stdio: [3]int{null, null, null}}, filter)
	if r.Path == "" { // a plan without a command
		r.Path, r.Argv = "/", []string{"trial"}
	}
	r.Session = true // the terminal is nobody's to lose
	return &r, nil
}

func joinNoTrial(why string) error { return errors.Join(errNoTrial, errors.New(why)) }

// trialFolders makes the private folders of one run. A home that outlives the run is used as
// it is, and not made.
func (s *session) trialFolders() (err error) {
	f := s.facts
	if s.plan.HomeKind == homeScratch || f.Home.Kind == "run" {
		return s.makeFolders()
	}
	if s.dir, err = makeRunDir(f.RunDir, false, s.plan.Identity); err != nil {
		return err
	}
	fd, err := openFolder(unix.AT_FDCWD, f.Home.Dir, f.Home.Dir)
	if errors.Is(err, unix.ENOENT) {
		return joinNoTrial("the home of the program is made by the first run")
	}
	if err != nil {
		return err
	}
	s.home = fd
	if err := f.privateFolder(fd, f.Home.Dir); err != nil {
		return err
	}
	return s.writeGitConfig()
}

// spawnIdentity is an identity in the terms of package spawn; nil: the caller's.
func spawnIdentity(id *IdentityFact) *spawn.Identity {
	if id == nil {
		return nil
	}
	return &spawn.Identity{UID: id.UID, GID: id.GID, Groups: id.Groups}
}

// tryOut makes the calls of those operations that have some.
func tryOut(r *spawn.Request, ops []Operation, calls func(*Operation) spawn.Trial, broker bool) ([]Tried, error) {
	var list []spawn.Trial
	var of []int
	for i := range ops {
		if broker && (ops[i].Op == OpConnect || ops[i].Op == OpUnix) {
			continue // the supervisor decides, and there is none
		}
		if t := calls(&ops[i]); t != nil {
			list, of = append(list, t), append(of, i)
		}
	}
	answers, err := spawn.TryCalls(r, list)
	if err != nil {
		return nil, err
	}
	out := make([]Tried, len(ops))
	for n, i := range of {
		out[i] = triedOf(list[n], answers[n])
	}
	return out, nil
}

// triedOf takes what an operation's calls gave together: the first refusal counts, and that of
// what only looks at a descriptor or closes it does not.
func triedOf(t spawn.Trial, answers []spawn.Answer) Tried {
	var out Tried
	for i, a := range answers {
		switch {
		case t[i].Nr == unix.SYS_CLOSE:
			return out
		case t[i].Nr == unix.SYS_FSTAT:
			if a.Made && a.Errno == 0 {
				st := (*unix.Stat_t)(unsafe.Pointer(&a.Out[0]))
				out.Dev, out.Ino = st.Dev, st.Ino
			}
			continue
		case !a.Made || a.Errno != 0:
			return Tried{Made: a.Made, Errno: a.Errno}
		}
		out.Made = true
	}
	return out
}
