package launcher

import (
	"errors"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"

	"brainbox/internal/spawn"
	"brainbox/internal/supervise"
	"brainbox/landlock"
	"brainbox/seccomp"
)

// Options is what belongs to one run and not to the policy.
type Options struct {
	Stdio    [3]int       // the program's descriptors 0, 1, 2; all zero means 0, 1, 2
	Pass     []spawn.Pass // further descriptors
	Sanitize bool         // escape control characters in the program's output
	Started  func(pid int)
}

// Result is how a run ended, and what it left behind.
type Result struct {
	supervise.Result
	After *Aftermath
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
}

// started does what need not be done before the program runs. The end of the run does not
// wait for it either: what is left half removed is still dead to the next start.
func (s *session) started() {
	dir, groups := filepath.Dir(s.dir.path), s.facts.Cgroup.Dir
	go sweep(dir, groups)
}

// Run carries the plan out: it makes the private folders, starts the program, waits for
// the end of its whole tree, takes away what the program may not leave behind, and removes
// what it made itself. Facts are those of the plan.
//
// A *Refusal or *spawn.Error means that the program never ran and nothing is left.
func (p *Plan) Run(f *Facts, o Options) (*Result, error) {
	if p.Refusal != nil {
		return nil, p.Refusal
	}
	s := &session{plan: p, facts: f}
	defer s.close()
	job, err := s.prepare(o)
	if err != nil {
		return nil, err
	}
	started := o.Started
	if started == nil {
		started = func(int) {}
	}
	res, err := supervise.Run(job, func(pid int) {
		started(pid)
		s.started()
	})
	if err != nil {
		return nil, p.startError(err)
	}
	return s.ended(res), nil
}

// ended looks at what the run left when its whole tree has ended.
func (s *session) ended(res *supervise.Result) *Result {
	if s.cgroup != nil {
		res.OOM = s.cgroup.oomKilled()
	}
	return &Result{Result: *res, After: s.plan.After(s.facts)}
}

// startError turns a failed step into the status that a shell would give.
func (p *Plan) startError(err error) error {
	var e *spawn.Error
	if !errors.As(err, &e) {
		return err
	}
	if p.Isolation == "namespaces" && e.NotOffered() {
		_, r := FallBack(p, Attempt{Step: e.Step, Errno: e.Errno})
		return r
	}
	r := &Refusal{Status: StatusRefused, Message: "start: " + e.Error()}
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

// prepare makes everything that the start needs.
func (s *session) prepare(o Options) (*supervise.Job, error) {
	if o.Stdio == [3]int{} {
		o.Stdio = [3]int{0, 1, 2}
	}
	err := checkStdio(o.Stdio)
	if err != nil {
		return nil, err
	}
	o.Stdio, s.null = keepNull(o.Stdio)
	if s.dir, err = makeRunDir(s.facts.RunDir, s.facts.Home.Kind == "run", s.plan.Identity); err != nil {
		return nil, err
	}
	if err := s.makeHome(); err != nil {
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
		if s.cgroup, err = makeCgroup(s.facts.Cgroup.Dir, s.dir.path, s.plan.Cgroup); err != nil {
			return nil, err
		}
	}
	job := &supervise.Job{
		Spawn: s.request(o, filter), Terminal: s.plan.Terminal, Timeout: s.plan.Timeout, KillAfter: s.plan.KillAfter,
		OutputLimit: s.plan.OutputLimit, Relay: s.plan.Relay, Sanitize: o.Sanitize,
	}
	if s.cgroup != nil {
		job.Spawn.Cgroup = s.cgroup.fd
	}
	return job, nil
}

// request is the start itself.
func (s *session) request(o Options, filter seccomp.Program) spawn.Request {
	p := s.plan
	r := spawn.Request{
		Path: p.File, Argv: p.Command, Env: p.Env, Ruleset: s.ruleset, Filter: sockFilter(filter), Unconfined: p.NoFilter,
		Stdio: o.Stdio, Pass: o.Pass, Dir: s.facts.Cwd.fd, Umask: p.Umask, Session: !p.Terminal, Bounding: p.Bounding,
		DieWithParent: true, Probes: p.probes(s.dir.path+"/canary", filter), Namespaces: s.namespaces(),
	}
	switch {
	case p.Cwd != "/":
	case r.Namespaces != nil:
		r.Dir = 0 // the program's own root is another folder
	case s.facts.Cwd.Target != "/":
		r.Dir = s.rootDir()
	}
	for _, l := range p.Limits {
		r.Limits = append(r.Limits, spawn.Limit(l))
	}
	if id := p.Identity; id != nil {
		r.Identity = &spawn.Identity{UID: id.UID, GID: id.GID, Groups: id.Groups}
	}
	return r
}

// rootDir replaces the working directory by /.
func (s *session) rootDir() int {
	s.facts.Cwd.close()
	s.facts.Cwd = openPath("/")
	return s.facts.Cwd.fd
}

// sockFilter shows a program as the kernel's own type; both have one layout.
func sockFilter(p seccomp.Program) []unix.SockFilter {
	if len(p) == 0 {
		return nil
	}
	return unsafe.Slice((*unix.SockFilter)(unsafe.Pointer(&p[0])), len(p))
}

// FilterProgram is the filter that the plan decided for.
func (p *Plan) FilterProgram() (seccomp.Program, error) {
	if p.NoFilter {
		return nil, nil
	}
	if len(p.Filter) > 0 {
		return p.Filter, nil
	}
	return seccomp.Default(p.Seccomp)
}

// buildRuleset makes the ruleset from the held descriptors; it changes no thread.
func (s *session) buildRuleset() (int, error) {
	spec := s.plan.Landlock
	spec.Rules = make([]landlock.Rule, 0, len(s.plan.Rules)+3)
	for _, r := range s.plan.Rules {
		p := &s.facts.Paths[r.Path]
		spec.Rules = append(spec.Rules, landlock.Rule{FD: p.fd, Dir: p.Dir, Right: r.Right, Device: r.Device, Unix: r.Unix})
	}
	spec.Rules = append(spec.Rules,
		landlock.Rule{FD: s.home, Dir: true, Right: landlock.WriteExec},
		landlock.Rule{FD: s.dir.tmp, Dir: true, Right: landlock.WriteExec})
	if s.dir.gitConfig > 0 {
		spec.Rules = append(spec.Rules, landlock.Rule{FD: s.dir.gitConfig, Right: landlock.Read})
	}
	return landlock.Build(spec, s.facts.Landlock)
}

// close gives everything back, whatever was made.
func (s *session) close() {
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
}
