package scratch

import (
	"errors"
	"fmt"
	"io/fs"

	"brainbox/dirchain"
)

// Sentinels.
var (
	// ErrNotIgnored: git would let what is in the area be committed. It answers to
	// fs.ErrPermission.
	ErrNotIgnored error = &refusal{"git does not ignore " + Location + " (run: " + Fix + ")", fs.ErrPermission}
	// ErrGit: git gave no answer, which is no yes. It answers to fs.ErrPermission.
	ErrGit error = &refusal{"git did not say whether it ignores " + Location + " (run: " + Fix + ")", fs.ErrPermission}
	// ErrElsewhere: asked for in the area, and lies outside of it. It answers to
	// fs.ErrPermission.
	ErrElsewhere error = &refusal{"the path leads out of " + Location, fs.ErrPermission}
	// ErrTarget: the area itself, or nothing in it, is named. It answers to
	// fs.ErrInvalid.
	ErrTarget error = &refusal{"not a file in " + Location, fs.ErrInvalid}
	// ErrNotGenuine: the area or the directory above it is a link or no directory.
	// It answers to fs.ErrPermission.
	ErrNotGenuine error = &refusal{Location + " is not a directory of the root's own", fs.ErrPermission}
)

// Fix is the command that makes git ignore the area.
const Fix = "brain doctor --fix"

type refusal struct {
	text string
	std  error
}

func (r *refusal) Error() string { return r.text }

func (r *refusal) Is(target error) bool { return target == r.std }

// named puts the package's name and the operation in front, once.
func named(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("scratch: %s: %w", op, err)
}

// genuine gives the error of a walk to the area its meaning.
func genuine(err error) error {
	for _, why := range []error{dirchain.ErrLink, dirchain.ErrNotDirectory, dirchain.ErrMount} {
		if errors.Is(err, why) && !errors.Is(err, ErrNotGenuine) {
			return fmt.Errorf("%w: %w", ErrNotGenuine, err)
		}
	}
	return err
}
