package launcher

import (
	"crypto/rand"
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"

	"brainbox/internal/broker"
	"brainbox/internal/spawn"
	"brainbox/internal/supervise"
	"brainbox/internal/watch"
	"brainbox/seccomp"
)

// observe has the program's calls watched by an observer for this plan. The filter of the job
// is changed so that it notifies them; filter is the plan's own, which still decides.
func (s *session) observe(job *supervise.Job, filter seccomp.Program, o Options) error {
	if o.Observe == nil {
		return nil
	}
	if err := broker.Offered(false).Notify; err != nil {
		return noNotification(err)
	}
	observer, err := o.Observe(s.plan, s.facts)
	if err != nil {
		return err
	}
	var word [8]byte
	_, _ = rand.Read(word[:]) // it never fails (crypto/rand)
	mark := binary.NativeEndian.Uint64(word[:]) | 1
	changed, err := seccomp.Observe(filter, seccomp.Mark(mark))
	if err != nil {
		return &Refusal{
			Status: StatusRefused, Clause: "seccomp", Message: "the calls of the program cannot be watched: " + err.Error(),
			Hint: "a shorter filter, or a run that explains nothing",
		}
	}
	if job.Watch, err = watch.New(filter, observer); err != nil {
		return err
	}
	job.Spawn.Filter, job.Spawn.Mark = sockFilter(changed), mark
	return nil
}

// noNotification refuses to observe where the kernel, or a filter around this process, offers
// no listener.
func noNotification(err error) *Refusal {
	if errors.Is(err, unix.EBUSY) { // what a program with a listener gets, see seccomp.SoleListener
		return taken()
	}
	r := &Refusal{
		Status: StatusRefused, Message: "the calls of the program cannot be watched: seccomp notification: " + errText(err),
		Hint: "a filter around this process refuses it; run without an explanation",
	}
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		r.Hint = "it needs Linux 5.19; run without an explanation"
	}
	return r
}

// listenerTaken is the answer to a filter that was to have a listener below one that has.
func listenerTaken(e *spawn.Error) *Refusal {
	if e.Step != spawn.StepSeccomp || e.Errno != unix.EBUSY {
		return nil
	}
	return taken()
}

func taken() *Refusal {
	return &Refusal{
		Status:  StatusRefused,
		Message: "a filter around this process already has a notification listener, and the kernel takes one",
		Hint:    "neither an explained run nor listed Unix sockets in isolation landlock work inside another explained run; start it outside",
	}
}
