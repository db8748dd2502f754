//go:build cgo

// Brainbox-seccomp compiles a user's seccomp profile, in the JSON form of the
// OCI runtime specification, into a filter program.
//
//	brainbox-seccomp <profile.json
//
// It reads the profile on standard input and writes one JSON object on standard
// output: {"protocol":1,"version":…,"arch":"amd64","bpf":base64,"dropped":[…],
// "libseccomp":"2.5.4"}. The exit status is 0 or 125; what is wrong with the
// profile is said on standard error, with the field. With --lint it judges the
// profile (package brainbox/seccomp/lint) instead, and has findings in place of
// a program.
//
// # Limits
//
// It loads nothing and restricts nothing. brainbox starts it confined, and
// checks the program by [brainbox/seccomp.Check] before it is used. A profile of
// more than 1 MiB, a key that is unknown, repeated or in another case, and
// anything behind the object are refused. It is the only binary that is linked
// with libseccomp, for which it needs cgo.
package main
