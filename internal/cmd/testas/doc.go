// Command testas runs tests as another user: it builds every test binary once,
// copies the module to a folder that everybody may read, and runs each binary
// there under a fixed uid, in its package's own folder, with a HOME, a TMPDIR
// and caches of its own.
//
//	go run ./internal/cmd/testas -uid 61000 ./...
//
// Before the first test it starts itself under that uid and asserts that uid,
// gid, groups and capabilities are what they should be. A package that has test
// files and runs no test is a failure, as is a test that fails. Each package is
// one line: "ok", the import path, and how many tests ran and were skipped.
//
// A test that failed and passes three times when its binary runs it alone is unsteady: its
// failure is printed, its name stands at the end of the package's line, and the package
// passes. It is a fault of the test or of the code, and is to be looked for. Where a single
// failure is what a test looks for (races, attacks, the escape matrix, what the tables say in
// isolation namespaces), and where the binary crashed or took too long, there is no second run.
//
// The environment is made anew. BRAINBOX_TEST_MUST_RUN is handed over, with the
// word "root" replaced by "user" for an ordinary user, and the other way for
// root; -must-run sets it where that user can have less (cgroups, loop devices,
// tools in root's home). BRAINBOX_TEST_UID has the uid for tests that assert it;
// other variables with that prefix are handed over. The module cache of the
// user has what go.mod asks for.
//
// With -goarch the tests are built for another architecture, without cgo; something has to
// run them: hack/arm64-test registers an emulator. -report lists, for each package, how many
// tests passed and each that was skipped or failed, with the first line that it said.
//
// # Limits
//
// Another uid than the caller's needs root. Tools that only the caller may reach
// (in /root) are missing for the tests. The user's build cache is empty at
// first.
package main
