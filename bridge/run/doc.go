// Package run runs one command of a caller, keeps what it prints within bounds, and ends
// its session: for a launcher that starts it inside a sandbox, and for a program that
// is inside already.
//
//	res, err := run.Run(ctx, run.Command{Argv: run.Bash("make test"), Dir: dir, Env: env}, run.Limits{})
//
// Both streams go into one buffer in the order in which they were read, marked by stream;
// of more than it holds the last part is kept. The command leads a session of its own, and
// is ended with all of it, whatever groups there are in it, when it prints more than it may, when its time is over, and when
// ctx ends: first asked (SIGTERM), then not (SIGKILL). Who has stdout open after the command
// has exited is waited for, not long, and then ended too (contract brainkit §8.2 F10, §8.3
// CT14 to CT16).
//
// # Limits
//
// The order between the two streams is that of reading, not of writing. What is read from
// a stream is waited for no longer than Limits.Hold after the command's exit: what a
// process prints later, that has left the group with setsid(2), is not seen, and it is not
// ended. Background processes that hold neither stream go on. The sandbox ends what is left.
package run
