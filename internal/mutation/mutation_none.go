//go:build !brainbox_mutation

package mutation

// Built says whether this build listens to anybody.
const Built = false

// On reports whether the layer is left out: never.
func On(string) bool { return false }

// List is what is left out: nothing.
func List() string { return "" }
