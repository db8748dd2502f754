// Package integration has no code of its own: its tests run the real brainbox
// binary on the real kernel.
//
//	go test ./integration/                      builds what it runs
//	BRAINBOX_TEST_BIN=/dir ./integration.test   runs /dir/brainbox, /dir/brainbox-mcp, /dir/victim, /dir/rejected, /dir/workerhost, /dir/visitor, /dir/mutated/{brainbox,workerhost}
//
// The escape matrix is a table of rows. Each row is one attempt, made by the
// program integration/victim twice: outside brainbox, where it has to work (the
// positive control), and inside, where it has to be refused with one of the
// row's answers. Afterwards everything outside is compared with what it was.
// What isolation landlock cannot hold is a row too: its attempt has to succeed,
// and "brainbox check" has to declare the clause open.
//
// They hold for root and for an ordinary user; internal/cmd/testas runs them as
// the other one.
//
// # Limits
//
// Every start names its isolation: landlock, and in TestInside namespaces. Containers are
// docker's by its profile, capabilities and covered paths, started by runc; docker's AppArmor
// profile is not in them. A control that does not work on a
// machine skips its row, or fails it if BRAINBOX_TEST_MUST_RUN is set. The rows
// for user notification, the gate and the bridge are not here.
// Names and servers of the network by name are the tests' own, on this machine's loopback:
// nothing here needs the internet. Programs that are not
// installed leave their cases out.
package integration
