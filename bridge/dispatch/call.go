package dispatch

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"brainbox/bridge/envelope"
	"brainbox/internal/keeper"
)

// drainWait is how long pipes are read after the program has exited.
const drainWait = 250 * time.Millisecond

// Keep is what the main function of a program calls first that names itself as a keeper. It
// returns when the process was started for something else, and else does not.
func Keep() {
	if keeper.Asked(os.Args) {
		os.Exit(keeper.Serve()) //nolint:forbidigo // a keeper is a process of its own, with nothing else in it
	}
}

// call is one run of a command.
type call struct {
	c        *Command
	r        *envelope.Request
	deadline time.Time

	dir     *os.File // working directory
	files   *os.File // folder of the file transport, or nil
	cgroup  *os.File // or nil
	remove  []string // folders to remove
	env     []string
	kept    *keeper.Kept
	stdin   *os.File // our end, or nil
	stopped func()   // ends the writing of stdin
	stdout  *capture // or nil
	stderr  *capture
}

// Dispatch runs the command once.
func (c *Command) Dispatch(ctx context.Context, r *envelope.Request) (res *envelope.Result) {
	defer func() {
		if recover() != nil {
			res = fail(r, envelope.Failed, envelope.CodeInternalError)
		}
	}()
	if c.problem != nil {
		return c.problem.unavailable(r)
	}
	run := &call{c: c, r: r, deadline: time.Now().Add(c.timeout), env: slices.Clone(c.env)}
	if ctx.Err() != nil {
		return run.ended(stopCode(ctx))
	}
	defer run.clean()
	if err := run.start(); err != nil {
		return run.notStarted(err)
	}
	code := run.wait(ctx)
	end := run.finish()
	if code == "" {
		res = run.result(end)
	} else {
		res = run.ended(code)
	}
	run.diagnose(res, end)
	return res
}

// start makes everything ready and starts the program. What it made is for clean.
func (run *call) start() error {
	c := run.c
	if err := c.program.same(c.rule); err != nil {
		return err
	}
	dir, fresh, err := c.folder.open()
	if err != nil {
		return err
	}
	run.dir, run.remove = dir, append(run.remove, fresh)
	if err := run.makeCgroup(); err != nil {
		return err
	}
	p := &keeper.Program{
		Keeper: c.keeper, File: c.program.file, Argv: c.argv, Dir: dir, Cgroup: run.cgroup, Grace: c.grace,
	}
	if c.program.script {
		p.Path = c.program.path
	}
	text := append(run.r.Encode(), '\n')
	theirs, err := run.wire(p, text)
	defer closeAll(theirs)
	if err != nil {
		return err
	}
	p.Env = run.env
	if run.kept, err = keeper.Start(p, run.deadline); err != nil {
		return err
	}
	if run.stdin != nil {
		run.stopped = feed(run.stdin, text)
	}
	return nil
}

// wire connects the transport. It returns the ends that are the program's.
func (run *call) wire(p *keeper.Program, text []byte) (theirs []*os.File, err error) {
	pipe := func(to **os.File, write bool) (ours *os.File) {
		r, w, e := os.Pipe()
		err = errors.Join(err, e)
		if e != nil {
			return nil
		}
		if write {
			r, w = w, r
		}
		*to, theirs = w, append(theirs, w)
		return r
	}
	if out := pipe(&p.Stderr, false); out != nil {
		run.stderr = newCapture(out, maxStderr)
	}
	if run.c.transport == File {
		return theirs, errors.Join(err, run.wireFiles(p, text, &theirs))
	}
	if out := pipe(&p.Stdout, false); out != nil {
		run.stdout = newCapture(out, maxResult)
	}
	run.stdin = pipe(&p.Stdin, true)
	return theirs, err
}

// wireFiles makes the folder with the request.
func (run *call) wireFiles(p *keeper.Program, text []byte, theirs *[]*os.File) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	*theirs = append(*theirs, null)
	p.Stdin, p.Stdout = null, null
	files, path, err := run.c.folder.fresh("brainbox-files-")
	if err != nil {
		return err
	}
	run.files, run.remove = files, append(run.remove, path)
	run.env = append(run.env,
		"BRAINBOX_PARENT_TOOL_REQUEST_FILE="+filepath.Join(path, requestName),
		"BRAINBOX_PARENT_TOOL_RESULT_FILE="+filepath.Join(path, resultName))
	return writeRequest(filepath.Join(path, requestName), text)
}

// wait returns when nothing of the program runs any more. It returns the code of what ended it,
// which is empty when it ended by itself.
func (run *call) wait(ctx context.Context) (code string) {
	timer := time.NewTimer(time.Until(run.deadline))
	defer timer.Stop()
	var over <-chan struct{}
	if run.stdout != nil {
		over = run.stdout.over
	}
	exited, callerDone := run.kept.Exited(), ctx.Done()
	var drained <-chan time.Time
	for {
		select {
		case <-run.kept.Ended():
			return code
		case <-exited:
			// A caller or a deadline that comes now changes nothing: the program is through.
			exited, callerDone = nil, nil
			drained = time.After(max(0, min(drainWait, time.Until(run.deadline))))
		case <-drained:
			drained = nil
			run.kept.Kill()
		case <-over:
			code, over, callerDone = envelope.CodeResultTooLarge, nil, nil
			run.kept.Kill()
		case <-callerDone:
			code, over, callerDone = stopCode(ctx), nil, nil
			run.kept.Stop(run.c.grace)
		case <-timer.C:
			if exited != nil && code == "" {
				code, over, callerDone = envelope.CodeDispatchTimeout, nil, nil
				run.kept.Stop(run.c.grace)
			}
		}
	}
}

// stopCode is the code of a call that its context ended.
func stopCode(ctx context.Context) string {
	if gone(ctx) {
		return envelope.CodeCallerGone
	}
	return envelope.CodeDispatchTimeout
}

// finish waits until nothing of the program runs, and reads what is left in the pipes. A
// second time does nothing.
func (run *call) finish() keeper.End {
	var end keeper.End
	if run.kept != nil {
		end = run.kept.Wait()
	}
	if run.stopped != nil {
		run.stopped()
	} else if run.stdin != nil {
		run.stdin.Close()
	}
	for _, c := range []*capture{run.stdout, run.stderr} {
		if c != nil {
			c.finish()
		}
	}
	return end
}

// makeCgroup makes a group for this call in the delegated folder.
func (run *call) makeCgroup() error {
	if run.c.cgroup == "" {
		return nil
	}
	path, err := os.MkdirTemp(run.c.cgroup, "brainbox-call-")
	if err != nil {
		return err
	}
	run.cgroup, err = os.Open(path)
	if err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// clean lets go of everything. Whatever happened, nothing of the program runs.
func (run *call) clean() {
	if run.kept != nil {
		run.kept.Kill() // it has ended, but in a panic
	}
	run.finish()
	if run.cgroup != nil {
		removeCgroup(run.cgroup)
	}
	for _, f := range []*os.File{run.dir, run.files, run.cgroup} {
		if f != nil {
			f.Close()
		}
	}
	for _, path := range run.remove {
		remove(path)
	}
}

// removeCgroup removes a group. A process that was killed a moment ago may still count.
func removeCgroup(f *os.File) {
	for pause := time.Millisecond; pause < time.Second; pause *= 2 {
		if err := os.Remove(f.Name()); err == nil || errors.Is(err, fs.ErrNotExist) {
			return
		}
		time.Sleep(pause)
	}
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}
