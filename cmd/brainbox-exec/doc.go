// Command brainbox-exec becomes a program that the kernel holds to
// /etc/brainbox/exec.toml. It takes no flags: every word belongs to the program.
//
//	brainbox-exec /usr/bin/git status
//
// It confines its own thread and then executes the program in place: the process number
// stays, and no supervisor exists that could be attacked. Its manual page is
// man/brainbox-exec.8.
//
// # Limits
//
// Nothing supervises the program, so the policy holds only what needs no supervisor.
//
// Root's set-uid bit is known (docs/setuid.md), and never set by the installation. Set-gid,
// file capabilities and another owner are refused.
package main
