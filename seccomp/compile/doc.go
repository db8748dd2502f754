// Package compile turns a user's OCI seccomp profile into a filter program by
// libseccomp, without loading it.
//
//	result, err := compile.Compile(profile)
//	// result.Program is what seccomp.Check accepts; result.Dropped names the
//	// allowed calls that this machine does not have.
//
// It is the only package that needs cgo, and is linked into brainbox-seccomp
// alone: libseccomp takes some milliseconds, and a profile is untrusted input.
//
// # Limits
//
// A profile is compiled as it is written or refused: nothing in it is passed
// over but names of calls that can not happen. Refused are the fields that only
// a loader or a listener could honour, other architectures than the native one,
// the actions notify and trace, two conditions on one argument of a rule, and
// rules of one call that may match together but ask for different actions:
// libseccomp gives such rules an order of its own.
//
// Plain comparisons look at all 64 bits of a register, where the kernel may read
// an int; SCMP_CMP_MASKED_EQ with 0xffffffff is what a profile should say.
package compile
