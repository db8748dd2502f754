//go:build !brainbox_inject && !brainbox_mutation

package spawn

// envInjection injects nothing: only a build for tests listens to the environment.
func envInjection() *injection { return nil }

// mutatedFlags are those of the clone, as they were decided.
func mutatedFlags(flags uint64, _ ...[]call) uint64 { return flags }
