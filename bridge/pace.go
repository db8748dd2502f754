package bridge

import (
	"context"
	"time"

	"brainbox/bridge/wire"
	"brainbox/gate/prompt"
)

// lane is the rates of one connection. Who comes after it goes on with them: a rate would
// be none for who connects anew for every call.
type lane struct {
	pace    *pace // of the reader's goroutine
	checks  *prompt.Bucket
	prompts *prompt.Bucket
	calls   *prompt.Bucket
}

func newLane(l *Limits) *lane {
	return &lane{
		pace: newPace(l.FramesPerSec), checks: prompt.NewBucket(l.ChecksPerSec),
		prompts: prompt.NewBucket(l.PromptsPerSec), calls: prompt.NewBucket(l.CallsPerSecond),
	}
}

func (l *lane) bucket(method string) *prompt.Bucket {
	switch method {
	case wire.MethodPermissionCheck:
		return l.checks
	case wire.MethodPermissionPrompt:
		return l.prompts
	}
	return l.calls
}

// pace slows down who sends more than a number of frames a second. They are not refused:
// the peer waits, and the host's processor does not work for it alone.
type pace struct {
	each  time.Duration // what one costs
	burst time.Duration // what may be saved up
	next  time.Time     // when all that was taken is paid for
}

// perFrame is how much of a frame's weight is one more frame, in bytes.
const perFrame = 64 << 10

func newPace(perSecond int) *pace {
	each := time.Second / time.Duration(perSecond)
	return &pace{each: each, burst: 2 * time.Second}
}

// wait takes a frame of some weight, and waits until it may be dealt with.
func (p *pace) wait(ctx context.Context, weight int64) {
	now := time.Now()
	if since := now.Add(-p.burst); p.next.Before(since) {
		p.next = since
	}
	p.next = p.next.Add(p.each * time.Duration(1+weight/perFrame))
	ahead := p.next.Sub(now)
	if ahead <= 0 {
		return
	}
	t := time.NewTimer(ahead)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
