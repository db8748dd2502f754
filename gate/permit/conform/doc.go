// Package conform checks an adapter of package permit by what its tools did: by files,
// not by what it says.
//
//	for _, f := range conform.Run(ctx, t.TempDir(), backend) {
//		t.Error(f)
//	}
//
// A tool of a scenario writes a receipt when it runs, and acquiring a runtime leaves a
// mark. What must not happen has left no file; what must, has left exactly the snapshot
// that was approved (contract brainkit §3.6).
//
// # Limits
//
// It sees one call a turn. That a backend has ways to run a tool without being asked must
// be made visible by the backend: Scenario.Shortcut is where it says yes.
package conform
