package mask

import (
	"context"
	"errors"
	"fmt"

	"brainbox/dirchain/scratch"
)

// Scratch is the scratch area of a host as masks need it; nil gives nil. The area
// must be made over the same directory as the root of the masks.
func Scratch(area *scratch.Area) ScratchArea {
	if area == nil {
		return nil
	}
	return scratchArea{area}
}

type scratchArea struct{ area *scratch.Area }

// Prepare gives a refusal its code where dirchain's errors do not say it: a git that
// takes too long has a context of its own, whose end is no cancelled turn.
func (s scratchArea) Prepare(ctx context.Context) error {
	err := s.area.Ready(ctx)
	switch {
	case err == nil, ctx.Err() != nil:
		return err
	case errors.Is(err, scratch.ErrNotGenuine):
		return &Refusal{Code: AliasDenied, Err: err}
	case errors.Is(err, scratch.ErrGit):
		return &Refusal{Code: ApplicationFailed, Err: err}
	}
	return err
}

// Prune makes an error of what a report says was left: a pass that met it goes on.
func (s scratchArea) Prune(ctx context.Context) ([]Removal, error) {
	rep, err := s.area.Prune(ctx)
	removed := make([]Removal, len(rep.Removed))
	for i, r := range rep.Removed {
		removed[i] = Removal{Path: r.Path, Bytes: r.Bytes, Reason: string(r.Reason)}
	}
	if n := len(rep.Failed); n > 0 {
		first := rep.Failed[0]
		err = also(err, fmt.Errorf("what could not be removed: %d, the first is %.100q (%s)", n, first.Path, first.Reason))
	}
	if rep.Truncated {
		err = also(err, errors.New("a limit was met before its end"))
	}
	return removed, err
}

// also gives both errors on one line, for an outcome.
func also(err, more error) error {
	if err == nil {
		return more
	}
	return fmt.Errorf("%w; %w", err, more)
}
