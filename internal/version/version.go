// Package version names this build. All commands of one build say the same, and refuse a
// helper that says otherwise.
//
//	fmt.Println("brainbox", version.String())
//
// # Limits
//
// The name is what the builder gave: -ldflags "-X brainbox/internal/version.name=1.2.3".
package version

// name is set by the linker.
var name = "0.1.0-dev"

// String returns the version of this build.
func String() string { return name }
