package version

// name is set by the linker.
var name = "0.1.0-dev"

// String returns the version of this build.
func String() string { return name }
