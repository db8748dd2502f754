// Brainbox-kill signals the process group of a confined program, with the
// identity that /etc/brainbox/exec.toml gives to confined programs and with no
// other.
//
//	brainbox-kill 4711 TERM
//
// It takes exactly two arguments, drops to the identity for good, and only then
// signals: a wrong number can hit nothing that the agent does not own already
// (contract brainkit §1.6). It leaves with 0 when the signal was sent and with
// 126 for everything else.
//
// # Limits
//
// The signal reaches the members of the group at that moment. It does not wait
// for their end, does not escalate, and does not reach a descendant that left
// the group; package launcher does the first two.
//
// Two arguments cannot say which turn is meant: every group of the identity can be hit
// (contract brainkit H6).
//
// Root's set-uid bit is known (docs/setuid.md), and never set by the installation. Set-gid,
// file capabilities and another owner are refused.
package main
