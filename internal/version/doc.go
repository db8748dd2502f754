// Package version names this build. All commands of one build say the same, and refuse a
// helper that says otherwise.
//
//	fmt.Println("brainbox", version.String())
//
// # Limits
//
// The name is what the builder gave: -ldflags "-X brainbox/internal/version.name=1.2.3".
package version
