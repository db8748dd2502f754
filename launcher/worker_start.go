package launcher

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"brainbox/internal/remote"
	"brainbox/internal/version"
)

// WorkerRun is a worker that runs. Its pipes are the host's ends; they are closed by Wait.
type WorkerRun struct {
	PID    int      // of the worker's program, as the host counts
	PidFD  *os.File // of it, until Wait has returned
	Plan   *Plan    // what it is held by
	Stdin  *os.File
	Stdout *os.File
	Stderr *os.File

	spawner *remote.Spawner
	run     *remote.Run
	session *session
	lines   sync.Once
	reader  *LineReader
}

// Start launches the worker for one turn. It makes a fresh probe first, each time: the real
// launch, with a fixture in the agent's place. A *WorkerRefusal means that nothing was
// started for the turn. ctx bounds the start alone; [WorkerRun.Kill] ends what runs.
//
// When the calling process ends, by SIGKILL too, the worker does.
func (w Worker) Start(ctx context.Context, turn Turn) (*WorkerRun, error) {
	s := workerStart{w: &w, look: w.look, probe: w.tryProbe, launch: w.launch}
	return s.start(ctx, turn)
}

// Probe makes the probe of a turn alone: nil, or a *WorkerRefusal. What it says holds for the
// moment; [Worker.Start] never relies on an earlier one.
func Probe(ctx context.Context, w Worker, turn Turn) error {
	look := w.look()
	if missing := w.check(look, turn); missing != "" {
		return refuseWorker(missing, "", look.tuple())
	}
	if r := w.tryProbe(ctx, look); r != nil {
		return r
	}
	return nil
}

// workerStart is one start with the parts that tests replace.
type workerStart struct {
	w      *Worker
	look   func() *workerLook
	probe  func(context.Context, *workerLook) *WorkerRefusal
	launch func(context.Context, *workerLook, launchee) (*WorkerRun, error)
}

func (s *workerStart) start(ctx context.Context, turn Turn) (run *WorkerRun, err error) {
	look := s.look()
	if missing := s.w.check(look, turn); missing != "" {
		return nil, refuseWorker(missing, "", look.tuple())
	}
	if r := s.guarded(ctx, look); r != nil {
		return nil, r
	}
	run, err = s.launch(ctx, look, launchee{command: s.w.Command})
	if err != nil {
		return nil, refuseWorker(requirementOf(err), "", look.tuple())
	}
	return run, nil
}

// guarded makes a refusal of a probe that ends in a panic: it has not said that the worker
// may run.
func (s *workerStart) guarded(ctx context.Context, look *workerLook) (r *WorkerRefusal) {
	done := false
	defer func() {
		if !done {
			r = refuseWorker("the probe did not end: "+panicText(recover()), "", look.tuple())
		}
	}()
	r = s.probe(ctx, look)
	done = true
	return r
}

func panicText(v any) string {
	switch v := v.(type) {
	case error:
		return v.Error()
	case string:
		return v
	}
	return "internal error"
}

// launchee is the program of one launch: the agent, or the fixture.
type launchee struct {
	command []string
	file    string // also to be executed; "" for the agent's program
}

// prepare decides one launch. Agent and fixture go the same way.
func (w *Worker) prepare(look *workerLook, who launchee) (*Plan, *Facts, error) {
	place, err := workerPlace(look.repo.Target)
	if err != nil {
		return nil, nil, err
	}
	pol := w.policy(look)
	if who.file != "" {
		pol.Grants = append(pol.Grants, fileGrant(who.file))
	}
	// Untried: nothing else than namespaces will do, so the start in them, by a small process,
	// is the trial.
	facts, err := Observe(pol, place, Request{Command: who.command, Untried: true})
	if err != nil {
		return nil, nil, err
	}
	plan := NewPlan(pol, facts)
	switch open, moved := openClause(plan, w), look.moved(w, facts); {
	case moved != "":
		err = errors.New(quotePath(moved) + " was replaced during the start")
	case plan.Refusal != nil:
		err = plan.Refusal
	case open != "":
		err = errors.New(open)
	}
	if err != nil {
		facts.Close()
		return nil, nil, err
	}
	return plan, facts, nil
}

// launch starts what was decided, in the process that all workers are started in.
func (w *Worker) launch(ctx context.Context, look *workerLook, who launchee) (*WorkerRun, error) {
	exe, err := openBrainbox(w.Dir)
	if err != nil {
		return nil, err
	}
	defer exe.Close()
	plan, facts, err := w.prepare(look, who)
	if err != nil {
		return nil, err
	}
	run := &WorkerRun{Plan: plan, session: &session{plan: plan, facts: facts}}
	if err := run.begin(ctx, w, exe); err != nil {
		run.close()
		return nil, err
	}
	return run, nil
}

// begin makes the pipes, starts the bootstrap with their other ends, and hands it the job.
func (r *WorkerRun) begin(ctx context.Context, w *Worker, exe *os.File) error {
	theirs, err := r.pipes()
	defer func() {
		for _, f := range theirs {
			if f != nil {
				_ = f.Close()
			}
		}
	}()
	if err != nil {
		return err
	}
	mutatePipes(&theirs)
	job, err := r.session.prepare(Options{Stdio: [3]int{int(theirs[0].Fd()), int(theirs[1].Fd()), int(theirs[2].Fd())}})
	if err != nil {
		return err
	}
	release := mutate(job, w)
	defer release()
	if r.spawner, err = remote.StartWorker(exe, theirs); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = r.spawner.Kill() })
	defer stop()
	if err := r.spawner.Greet(version.String()); err != nil {
		for i := range theirs {
			_ = theirs[i].Close()
		}
		return errors.New(firstOf(r.diagnostic(), err.Error()))
	}
	if r.run, err = r.spawner.Run(job); err != nil {
		return errors.Join(r.Plan.startError(err), ctx.Err())
	}
	r.session.started()
	r.PID, r.PidFD = r.run.PID, r.run.PidFD
	return nil
}

// pipes makes the three pipes and returns the worker's ends.
func (r *WorkerRun) pipes() (theirs [3]*os.File, err error) {
	if theirs[0], r.Stdin, err = os.Pipe(); err != nil {
		return theirs, err
	}
	if r.Stdout, theirs[1], err = os.Pipe(); err != nil {
		return theirs, err
	}
	r.Stderr, theirs[2], err = os.Pipe()
	return theirs, err
}

// diagnostic is what a bootstrap said that ended.
func (r *WorkerRun) diagnostic() string {
	_ = r.Stderr.SetReadDeadline(time.Now().Add(time.Second))
	text, _ := io.ReadAll(io.LimitReader(r.Stderr, maxRequirement))
	return oneClause(string(text))
}

// Signal sends a signal to the worker's program. After Wait it is os.ErrProcessDone.
func (r *WorkerRun) Signal(sig syscall.Signal) error { return r.run.Signal(sig) }

// Kill ends the worker and everything that it started, at once. Wait has still to be called.
func (r *WorkerRun) Kill() error {
	if r.Signal(syscall.SIGKILL) == nil {
		return nil
	}
	return r.spawner.Kill() // the init follows it
}

// Wait returns when the worker's program and all that it started have ended, and closes the
// pipes. Read what is left of them before. It is an error if the process that supervises the
// worker has gone; then the worker has gone too.
func (r *WorkerRun) Wait() (*Result, error) {
	res, err := r.run.Wait()
	if err != nil {
		r.close()
		return nil, err
	}
	out := r.session.ended(res)
	r.close()
	return out, nil
}

// close gives everything back.
func (r *WorkerRun) close() {
	for _, f := range []*os.File{r.Stdin, r.Stdout, r.Stderr} {
		if f != nil {
			_ = f.Close()
		}
	}
	if r.spawner != nil {
		_ = r.spawner.Close()
	}
	r.session.close()
	r.session.facts.Close()
}
