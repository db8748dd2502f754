//go:build brainbox_inject && !brainbox_mutation

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

// mutatedFlags are those of the clone, as they were decided.
func mutatedFlags(flags uint64, _ ...[]call) uint64 { return flags }
