// Package profile holds the default seccomp profile in the OCI form, before it
// is compiled: the base list of github.com/moby/profiles/seccomp, changed by the
// groups that [Groups] lists.
//
//	oci, err := profile.For("amd64", seccomp.Options{Network: seccomp.NetPorts})
//
// The programs that package seccomp embeds are generated from it, and so is the
// table in docs/seccomp.md; tests hold both to it. Start-critical binaries do
// not link this package.
//
// # Limits
//
// What the base list allows without conditions is allowed here too, unless a
// group says otherwise. A newer base list shows as a changed golden file.
package profile

//go:generate go test . -run ^TestGenerated -update
//go:generate go test .. -run ^TestGolden -update
//go:generate go test ../compile -run ^TestRecorded -update
