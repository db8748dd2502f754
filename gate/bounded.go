package gate

import (
	"context"
	"time"
)

// within runs f for so long and no longer. What f panics with, the caller panics with; a
// late result is handed to late, which may be nil.
func within[T any](ctx context.Context, wait time.Duration, f func(context.Context) T, late func(T)) (got T, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	type result struct {
		value T
		panic any
	}
	done := make(chan result, 1)
	go func() {
		var r result
		finished := false
		defer func() {
			if !finished {
				if r.panic = recover(); r.panic == nil {
					r.panic = "goexit"
				}
			}
			done <- r
		}()
		r.value = f(ctx)
		finished = true
	}()
	select {
	case r := <-done:
		if r.panic != nil {
			panic(r.panic)
		}
		return r.value, true
	case <-ctx.Done():
		if late != nil {
			go func() {
				if r := <-done; r.panic == nil {
					late(r.value)
				}
			}()
		}
		return got, false
	}
}
