// Package tree turns resolved seccomp rules into a classic BPF program that
// finds a system call by a balanced search over ranges of numbers.
//
//	policy, err := tree.Resolve(profile, "amd64") // OCI profile: names become numbers
//	program, err := tree.Compile(policy)
//
// Neighbouring numbers with the same verdict share a leaf, and arguments are
// loaded only for the calls whose verdict depends on them: the kernel then
// answers the others from its allow bitmap (Linux 5.11) without running the
// filter. It is used when the default filter is generated and in tests;
// brainbox itself never links it.
//
// # Limits
//
// Conditions are masked comparisons of the low 32 bits of an argument. Rules of
// one call that may match together must agree on the action, so that their
// order never matters; everything else is an error. Profiles that users bring
// go through package compile.
package tree
