//go:build !brainbox_inject

package spawn

// envInjection injects nothing: only a build for tests listens to the environment.
func envInjection() *injection { return nil }
