// Command brainbox runs a program that the kernel holds to a policy.
//
//	brainbox run -- npm test
//	brainbox check -- npm test
//	brainbox why read ~/.ssh/id_ed25519
//
// The command reads flags and policy files, and prints; what is decided and done is
// package launcher's. Its manual page is man/brainbox.1.
//
// # Limits
//
// It is the small command: nothing that it links reads HTTP or
// shell, and its start is counted in fractions of a millisecond.
package main
