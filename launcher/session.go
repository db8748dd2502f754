package launcher

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/spawn"
	"brainbox/internal/supervise"
)

// Pass hands descriptor From of the caller to the program as number To (≥ 3).
type Pass = spawn.Pass

// Options is what belongs to one run and not to the policy.
type Options struct {
	Stdio    [3]int                 // the program's descriptors 0, 1, 2; all zero means 0, 1, 2
	Pass     []Pass                 // further descriptors
	Sanitize bool                   // escape control characters in the program's output
	Started  func(p *Plan, pid int) // what was started by which plan; see Result

	// Observe, if set, makes an observer for the plan that is carried out. Isolation is what the
	// plan says, and nothing that the observer does changes what the program may do. It needs
	// Linux 5.19, and no filter with a listener around this process (seccomp_unotify(2)). It is
	// called anew if the first plan turns out not to be possible here.
	Observe func(p *Plan, f *Facts) (Observer, error)

	// LogRefusals has the kernel write what Landlock refuses to its audit log, where that is on
	// (Linux 6.15, Landlock ABI 7); before, it does nothing.
	LogRefusals bool

	// Linger is for a command that runs one plan, and has still to report it when Run has returned:
	// from the end of the program on, for as long as the process lives, the signals that were passed
	// on (SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2) are taken; the first is given to the process when it
	// is still there so long after. 0: from the end on they act as they did before. A [Host] ignores it.
	Linger time.Duration

	// Hold, if set, is the end of a socket pair by which whoever asks on the program's
	// terminal has it held (package hold). It is closed when the run is over.
	Hold *os.File
}

// Result is how a run ended, and what it left behind.
type Result struct {
	supervise.Result
	After *Aftermath

	// PidsRefused counts the processes and threads that the run's own pids.max refused (cgroup v2).
	PidsRefused int64

	// OOMByLimit says of OOM that the run's own memory.max was reached. Else it was the
	// machine's memory, or that of a group above.
	OOMByLimit bool

	// Plan is the one that was carried out. It is another than the one that was given only
	// where that one's namespaces were not tried before (Facts.Untried) and are not offered.
	Plan *Plan
}

// session is one run between its preparation and its end.
type session struct {
	plan    *Plan
	facts   *Facts
	dir     *runDir
	cgroup  *cgroup
	ruleset int
	home    int // the private home; the run's own or a kept one
	null    []int
	bridge  *bridge       // nil: there is none
	network *network      // nil: nobody serves it
	swept   chan struct{} // closed at the end of a sweep; nil: there is none
}

// started does what need not be done before the program runs. Where no other run has a
// folder there is nothing to do, and no thread to start for it.
func (s *session) started() {
	if s.dir == nil || s.dir.alone {
		return
	}
	dir, groups := filepath.Dir(s.dir.path), s.facts.Cgroup.Dir
	s.swept = make(chan struct{})
	go func() {
		defer close(s.swept)
		sweep(dir, groups)
	}()
}

// sweepWait is how long the end of a run waits for the sweep, which a short program may
// leave no time for. What is left half removed is still dead to the next start.
const sweepWait = 100 * time.Millisecond

func (s *session) waitSwept() {
	if s.swept == nil {
		return
	}
	select {
	case <-s.swept:
	case <-time.After(sweepWait):
	}
}

// Run carries the plan out: it makes the private folders, starts the program, waits for
// the end of its whole tree, takes away what the program may not leave behind, and removes
// what it made itself. Facts are those of the plan.
//
// An error means that the program never ran and nothing is left. Where the namespaces of
// isolation auto were not tried before and are not offered, the facts keep that, and the plan
// of the same facts without is carried out instead.
func (p *Plan) Run(f *Facts, o Options) (*Result, error) {
	if p.Refusal != nil {
		return nil, p.Refusal
	}
	res, err := p.run(f, o)
	if next := p.without(f, err); next != nil {
		return next.Run(f, o)
	}
	if err != nil {
		return nil, p.startError(err)
	}
	return res, nil
}

// without is the plan for isolation landlock where a start in namespaces that nobody
// insisted on was the first attempt here and showed that they are not offered; else nil.
func (p *Plan) without(f *Facts, err error) *Plan {
	if err == nil || p.Isolation != "namespaces" || p.Asked != "auto" || !f.Untried {
		return nil
	}
	a := attempt(err)
	if a == nil || !a.NotOffered() {
		return nil
	}
	f.Untried, f.Refused = false, a
	return NewPlan(p.policy, f)
}

func (p *Plan) run(f *Facts, o Options) (*Result, error) {
	s := &session{plan: p, facts: f}
	defer s.close()
	job, err := s.prepare(o)
	if err != nil {
		return nil, err
	}
	var out *Result
	job.Ended = func(res *supervise.Result) { out = s.ended(res) } // a second ^C does not end it
	_, err = supervise.Run(job, func(pid int) {
		if o.Started != nil {
			o.Started(p, pid)
		}
		s.started()
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// ended looks at what the run left when its whole tree has ended.
func (s *session) ended(res *supervise.Result) *Result {
	byLimit, pids := false, int64(0)
	if s.cgroup != nil {
		res.OOM, byLimit = s.cgroup.oomKilled()
		pids = s.cgroup.pidsRefused()
	}
	return &Result{Result: *res, OOMByLimit: byLimit, PidsRefused: pids, After: s.plan.After(s.facts), Plan: s.plan}
}

// startError turns a failed step into the status that a shell would give.
func (p *Plan) startError(err error) error {
	var refused *Refusal // of the hook that the start calls
	if errors.As(err, &refused) {
		return refused
	}
	var e *spawn.Error
	if !errors.As(err, &e) {
		return err
	}
	if p.Isolation == "namespaces" && e.NotOffered() {
		return p.notOffered(attempt(err))
	}
	if taken := listenerTaken(e); taken != nil {
		return taken
	}
	r := &Refusal{Status: StatusRefused, Message: "start: " + e.Error()}
	if e.Step >= spawn.StepNamespaces {
		r.Hint = p.hintWithout()
	}
	if e.Step == spawn.StepExec {
		errno := e.Errno
		if errno == unix.ENOENT && p.notShown() {
			errno = unix.EACCES // found, and not to be seen from inside
		}
		r.Status, r.Message = StatusNotRun, quotePath(p.File)+": "+errno.Error()
		if errno == unix.ENOENT {
			r.Status = StatusNotFound
		}
		r.Hint = p.NotRunHint(errno)
	}
	return r
}

// notOffered refuses a start whose plan is known and holds no longer: insisted on, or tried
// before with another answer.
func (p *Plan) notOffered(a *Attempt) *Refusal {
	insisted := *p
	insisted.Asked = "namespaces"
	_, r := FallBack(&insisted, *a)
	return r
}

// prepare makes everything that the start needs.
func (s *session) prepare(o Options) (*supervise.Job, error) {
	if o.Stdio == [3]int{} {
		o.Stdio = [3]int{0, 1, 2}
	}
	err := s.plan.checkHanded(s.facts, o.Stdio, o.Pass)
	if err != nil {
		return nil, err
	}
	if err := s.serveNetwork(); err != nil {
		return nil, err
	}
	if s.plan.Isolation != "namespaces" { // there it is opened inside
		o.Stdio, s.null = keepNull(o.Stdio)
	}
	if err := s.makeFolders(); err != nil {
		return nil, err
	}
	if s.ruleset, err = s.buildRuleset(); err != nil {
		return nil, err
	}
	filter, err := s.plan.FilterProgram()
	if err != nil {
		return nil, err
	}
	if s.plan.UseCgroup {
		if s.cgroup, err = makeCgroup(s.facts.Cgroup, s.dir.path, s.plan.Cgroup); err != nil {
			return nil, err
		}
	}
	if err := s.openBridge(&o); err != nil {
		return nil, err
	}
	job := &supervise.Job{
		Spawn: s.request(o, filter), Terminal: s.plan.Terminal, Timeout: s.plan.Timeout, KillAfter: s.plan.KillAfter,
		OutputLimit: s.plan.OutputLimit, Relay: s.plan.Relay, Sanitize: o.Sanitize, Linger: o.Linger,
	}
	if s.cgroup != nil {
		job.Spawn.Cgroup = s.cgroup.fd
	}
	job.Broker, job.Hold = s.broker(), o.Hold
	return job, s.observe(job, filter, o)
}

// makeFolders makes the run's private folders. A worker has none; with a cgroup it has one
// all the same, whose lock says that the run lives.
func (s *session) makeFolders() (err error) {
	bare := s.plan.HomeKind == homeScratch
	if bare && !s.plan.UseCgroup {
		return nil
	}
	if s.dir, err = makeRunDir(s.facts.RunDir, s.facts.Home.Kind == "run", s.plan.Identity); err != nil || bare {
		return err
	}
	return s.makeHome()
}

// canary is what the self-test must not be able to make.
func (s *session) canary() string {
	if s.dir == nil {
		return "/canary"
	}
	return s.dir.path + "/canary"
}

// close gives everything back, whatever was made.
func (s *session) close() {
	s.network.close()
	s.bridge.close()
	for _, fd := range s.null {
		unix.Close(fd)
	}
	if s.ruleset > 0 {
		unix.Close(s.ruleset)
	}
	if s.cgroup != nil {
		s.cgroup.remove()
	}
	if s.dir != nil {
		if s.home > 0 && s.home != s.dir.home {
			unix.Close(s.home)
		}
		s.dir.remove()
	}
	s.waitSwept()
}
