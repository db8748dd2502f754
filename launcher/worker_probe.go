package launcher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"brainbox/internal/fixture"
	"brainbox/internal/mutation"
	"brainbox/policy"
)

// probeTime bounds a probe.
const probeTime = 5 * time.Second

// fileGrant lets the fixture be executed where it is.
func fileGrant(path string) policy.Grant {
	return policy.Grant{Path: policy.Path{Text: path, Abs: path, Source: sourceWorkers}, Right: policy.RightExec}
}

// tryProbe launches the fixture as the agent would be, and looks from outside at what became
// of the sentinel. nil means that all of it was as it must be, now.
func (w *Worker) tryProbe(ctx context.Context, look *workerLook) *WorkerRefusal {
	if mutation.On("skip-probe") {
		return nil
	}
	id, err := newRunName()
	if err == nil {
		err = w.probe(ctx, look, id)
	}
	if err != nil {
		return refuseWorker(requirementOf(err), id, look.tuple())
	}
	return nil
}

func (w *Worker) probe(ctx context.Context, look *workerLook, id string) (err error) {
	exe, err := openBrainbox(w.Dir)
	if err != nil {
		return err
	}
	file := exe.Name()
	_ = exe.Close()
	s, err := makeSentinel(look.repo.Target, id)
	if err != nil {
		return fmt.Errorf("the host cannot make the probe's sentinel in the repo: %w", err)
	}
	defer func() { err = errors.Join(err, s.remove()) }()
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	job := fixture.Job{Sentinel: s.path(), Scratch: look.scratch, Relay: w.Relay, OwnNetwork: !w.HostNetwork}
	run, err := w.launch(ctx, look, launchee{file: file, command: append([]string{file, fixture.Verb}, job.Args()...)})
	if err != nil {
		return timedOut(ctx, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = run.spawner.Kill() })
	defer stop()
	said := run.collect()
	res, err := run.Wait()
	if err != nil {
		return timedOut(ctx, err)
	}
	return errors.Join(judge(res.Status, said), s.unchanged())
}

func timedOut(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("the probe did not end in %v", probeTime)
	}
	return err
}

// collect reads both outputs to their ends.
func (r *WorkerRun) collect() (said [2]string) {
	_ = r.Stdin.Close()
	errOut := make(chan string, 1)
	read := func(f *os.File) string {
		b, _ := io.ReadAll(io.LimitReader(f, 4<<10))
		_, _ = io.Copy(io.Discard, f)
		return string(b)
	}
	go func() { errOut <- read(r.Stderr) }()
	said[0] = read(r.Stdout)
	said[1] = <-errOut
	return said
}

// judge says what a fixture's end means.
func judge(status int, said [2]string) error {
	what := map[int]string{
		fixture.StatusNetwork:   "private network namespace with only loopback failed",
		fixture.StatusRelay:     "relay mount failed",
		fixture.StatusSentinel:  "read-only repository failed",
		fixture.StatusScratch:   "writable scratch failed",
		fixture.StatusNamespace: "pid namespace failed",
	}[status]
	switch {
	case what != "":
		return fmt.Errorf("%s: %s", what, said[1])
	case status != 0:
		return fmt.Errorf("namespaces, read-only repository, writable scratch or pipes failed: the fixture ended with status %d: %s", status, said[1])
	case said[0] != fixture.Token:
		return fmt.Errorf("the fixture said %q", said[0])
	}
	return nil
}
