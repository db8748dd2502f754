//go:build brainbox_inject

package spawn

import "os"

// envInjection makes the step fail that BRAINBOX_INJECT names: for tests of the whole
// command. A build without the tag has no such door.
func envInjection() *injection {
	name := os.Getenv("BRAINBOX_INJECT")
	for _, s := range append(Steps(), NamespaceSteps()...) {
		if s.String() == name {
			return &injection{step: s}
		}
	}
	return nil
}
