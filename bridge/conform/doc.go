// Package conform checks a host of the bridge by what its tools did: by files and by what
// was run, not by what is said.
//
//	for _, f := range conform.Run(ctx, t.TempDir(), backend, conform.Options{}) {
//		t.Error(f)
//	}
//
// A [Backend] serves one [Scene] after the other, with the bridge, the gate and the tools
// that it serves everything with, and takes from the scene who answers and what is allowed.
// There are two parts.
//
// Every tool of BRIDGE_TOOL_POSTURE, and every mediated one, is called once in a scene
// where it may do what it does (contract brainkit §5.2 and §8.3). A result that is no
// success is a failure of the kind [ErrorResult]: so is a tool that is not there.
//
// Then calls are denied, allowed, edited, and made in a turn where nobody can be asked
// (§3.6). What must not happen has left no file and started no command; what must has
// written, or started, exactly what was approved. These failures are of the kind [Receipt],
// and nothing that is said makes up for one.
//
// # Limits
//
// It sees one call a scene, and no way around the bridge: that is what a sandbox is for. It
// does not look at what a person is shown, nor at limits and hostile peers, which are those
// of package bridge.
package conform
