package scratch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"brainbox/dirchain"
)

// Ready is Check that makes a missing area first. When it returns an error, nothing
// that it made is left.
func (a *Area) Ready(ctx context.Context) error {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return named("ready", a.ready(ctx))
}

func (a *Area) ready(ctx context.Context) error {
	made, err := a.root.Mkdir(ctx, Location, dirchain.MkdirRequest{Parents: true})
	if err == nil {
		a.at("made", Location)
		err = a.check(ctx)
	} else if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%w: %w", ErrNotGenuine, err)
	}
	if err != nil {
		a.unmake(made)
	}
	return genuine(err)
}

// unmake removes the directories that ready made, if nothing is in them.
func (a *Area) unmake(made dirchain.MkdirResult) {
	ctx := context.Background() // also when the caller's has ended
	if made.Created {
		_, err := a.root.Remove(ctx, Location, dirchain.RemoveRequest{})
		if err == nil && made.Parents > 0 {
			_, _ = a.root.Remove(ctx, location[0], dirchain.RemoveRequest{}) // the refusal is the error to tell
		}
	}
}

// Write makes or replaces a file in the area under a name that the caller chose, as
// req.Mode says. The path is from the root; missing directories in it are made.
func (a *Area) Write(ctx context.Context, unsafePath string, req dirchain.WriteRequest) (dirchain.WriteResult, error) {
	res, err := a.write(ctx, unsafePath, req)
	return res, named("write", err)
}

// Publish makes a file in the area under a name that was generated: an occupied
// name is always fs.ErrExist, whoever was faster.
func (a *Area) Publish(
	ctx context.Context, unsafePath string, req dirchain.WriteRequest,
) (dirchain.WriteResult, error) {
	req.Mode = dirchain.Create
	res, err := a.write(ctx, unsafePath, req)
	return res, named("publish", err)
}

func (a *Area) write(ctx context.Context, unsafePath string, req dirchain.WriteRequest) (dirchain.WriteResult, error) {
	switch in, err := within(unsafePath); {
	case err != nil:
		return dirchain.WriteResult{}, err
	case !in:
		return dirchain.WriteResult{}, ErrTarget
	}
	a.mu.RLock()
	defer a.mu.RUnlock()
	if err := a.ready(ctx); err != nil {
		return dirchain.WriteResult{}, err
	}
	a.at("ready", unsafePath)
	req.Parents = true
	return a.root.Write(ctx, unsafePath, req)
}
