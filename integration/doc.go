// Package integration has no code of its own: its tests run the real brainbox
// binary on the real kernel.
//
//	go test ./integration/                      builds what it runs
//	BRAINBOX_TEST_BIN=/dir ./integration.test   runs /dir/brainbox, /dir/victim, /dir/rejected
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
// The rows are those of isolation landlock. A control that does not work on a
// machine skips its row, or fails it if BRAINBOX_TEST_MUST_RUN is set. The rows
// for user notification, the proxy, the gate and the bridge are not here.
package integration
