package scratch

import (
	"fmt"
	"slices"

	"brainbox/dirchain"
)

// Location is the area beneath the root.
const Location = ".brain/scratch"

// location is Location, split.
var location = []string{".brain", "scratch"}

// Member says whether a write is one to the scratch area: whether the target was
// asked for in it, or resolves into it. Both are paths beneath the root as
// [dirchain.SplitPath] takes them: asked is what the caller wrote, resolved where
// that leads with every link followed. A target that was asked for in the area and
// lies elsewhere is [ErrElsewhere], the area itself [ErrTarget]. Pure (contract
// brainkit §4.3, "membership test").
func Member(asked, resolved string) (bool, error) {
	wanted, err := within(asked)
	if err != nil {
		return false, named("member", err)
	}
	lies, err := within(resolved)
	if err != nil {
		return false, named("member", err)
	}
	if wanted && !lies {
		return false, named("member", fmt.Errorf("%w: %q is %q", ErrElsewhere, asked, resolved))
	}
	return lies, nil
}

// within says whether a path names something in the area.
func within(path string) (bool, error) {
	parts, err := dirchain.SplitPath(path)
	switch {
	case err != nil:
		return false, err
	case len(parts) < len(location) || !slices.Equal(parts[:len(location)], location):
		return false, nil
	case len(parts) == len(location):
		return false, ErrTarget
	}
	return true, nil
}
