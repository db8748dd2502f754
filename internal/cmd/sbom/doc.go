// Command sbom says what the programs in a folder are linked with.
//
//	go run ./internal/cmd/sbom bin bin/doc
//
// It reads the build information that Go puts into each program (debug/buildinfo) and
// writes two files: sbom.txt, a line for each program and module with version, h1 sum and
// licence, the licence by the list in NOTICE; and licenses.txt, the texts of the licences,
// from the module cache and from the system's folders. What NOTICE does not name is an
// error.
//
// # Limits
//
// A module is named if one of its packages was compiled for the program, even if the
// linker left all of it out. The version of libseccomp is what brainbox-seccomp says when
// it is run; that of the C library is the header's of the compiler that is found.
package main
