//go:build brainbox_mutation

package mutation

import (
	"os"
	"slices"
	"strings"
)

// Built says whether this build listens to anybody.
const Built = true

// Variable names the layers that are left out, separated by commas.
const Variable = "BRAINBOX_MUTATION"

// List is what is left out. A worker's bootstrap and its probe have no such environment: they
// are told by their last argument.
func List() string {
	if len(os.Args) == 3 && os.Args[1] == "worker" {
		return os.Args[2]
	}
	if len(os.Args) == 7 && os.Args[1] == "worker-probe" {
		return os.Args[6]
	}
	return os.Getenv(Variable)
}

// On reports whether the layer is left out.
func On(name string) bool { return slices.Contains(strings.Split(List(), ","), name) }
