package dirchain

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// lock keeps out every other publication in the last directories of the chains, and
// gives what lets go again: of this root by a turn that ctx bounds, of other roots
// and processes by the lock of the directory (flock(2)), which any program that may
// open it can hold. So it is not waited for long.
func (r *Root) lock(ctx context.Context, chains ...*chain) (unlock func(), err error) {
	if err = r.asked(ctx); err != nil {
		return nil, err
	}
	for range lockTries {
		unlock, err = r.tryLock(ctx, chains)
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return unlock, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(lockWait):
		}
	}
	return nil, because(ErrBusy, "the directory is locked")
}

// A publication takes far less: it may hash a file up to the root's limit.
const (
	lockTries = 1000
	lockWait  = time.Millisecond
)

// asking marks the context of a caller's Before, who would wait for himself.
type asking struct{ r *Root }

func (r *Root) asked(ctx context.Context) error {
	if ctx.Value(asking{r}) != nil {
		return because(ErrBusy, "a publication of this root is asking")
	}
	return nil
}

// tryLock locks everything, or nothing.
func (r *Root) tryLock(ctx context.Context, chains []*chain) (unlock func(), err error) {
	select {
	case r.publish <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	held := map[Identity]int{} // one descriptor of each directory: two would exclude each other
	unlock = func() {
		for _, fd := range held {
			_ = r.flock(fd, unix.LOCK_UN) // goes with the descriptor at the latest
		}
		<-r.publish
	}
	for _, ch := range chains {
		last := ch.links[len(ch.links)-1]
		if _, ok := held[last.id]; ok {
			continue
		}
		if err = r.flock(last.fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
			unlock()
			return nil, err
		}
		held[last.id] = last.fd
	}
	return unlock, nil
}
