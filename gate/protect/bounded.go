package protect

import (
	"context"
	"time"
)

// mostLooks is how many looks of one judge can be out at a time: one that never returns
// keeps a thread of the process, of which there are 10 000 (debug.SetMaxThreads).
const mostLooks = 64

// bounded runs work for at most so long, or until the task ends, and then gives what
// instead says; so it does when there is no room for one more. What work makes after that
// is closed, by whoever made it.
func bounded[T interface{ Close() }](ctx context.Context, looks chan struct{}, wait time.Duration, work, instead func(context.Context) T) T {
	ctx, cancel := context.WithTimeoutCause(ctx, wait, errWait)
	defer cancel()
	select {
	case looks <- struct{}{}:
	case <-ctx.Done():
		return instead(ctx)
	}
	result := make(chan T) // without a buffer: handed over, or kept
	go func() {
		defer func() { <-looks }()
		made := work(ctx)
		select {
		case result <- made:
		case <-ctx.Done():
			made.Close()
		}
	}()
	select {
	case made := <-result:
		if ctx.Err() == nil {
			return made
		}
		made.Close() // an environment that gave up because the time did
	case <-ctx.Done():
	}
	return instead(ctx)
}
