// Package tty asks on the terminal of whoever started brainbox: a user interface of package
// prompt.
//
//	ui := tty.New(tty.Options{Program: run}) // /dev/tty, whatever standard input is
//	go broker.Serve(ctx, "terminal", ui)
//
// A prompt shows every fact, then asks for a word of four random letters, once nothing is
// folded or more was typed:
//
//	  ask| bash  npm publish
//	  ask| reason  bash: npm *
//	  ask| type kfmu to allow once, kfmu run to the end of this run, kfmu 10m for a time,
//	  ask| n to deny (n why), more to see all of it
//	answer:
//
// What was typed before is thrown away (tcflush(3)) right before the word is shown, and
// the word cannot have been typed ahead, pasted, or sent by a terminal that was tricked
// into answering a query. Denying needs no word.
//
// # A terminal that is shared
//
// The terminal of a prompt should not be the program's own. brainbox run gives a program the
// terminal that it was started on, so there it is. The kernel keeps a program from typing
// (TIOCSTI is refused by the default filter, and since Linux 6.2 may be off altogether,
// CONFIG_LEGACY_TIOCSTI), but not from reading what is typed and from writing over what is
// shown. So [Options.Program] is asked to hold the program and its output before anything
// is shown, until the answer is there; if it cannot, nothing is asked, and the request ends
// as one that nobody could answer. When the job was stopped and continued (the shell's
// continue reaches the program too) the program is held anew, and the prompt is shown
// anew with another word. Attributes and character set are reset before the prompt: text
// must not be concealed or redrawn by what the program set before.
//
// # The state of the terminal
//
// A terminal in line mode is left as it is, and nothing is to be put back. One that the
// program has in raw mode is set to line mode, and back after the answer, on a panic and
// when the prompt is withdrawn. ^C, ^Z and ^\ are the terminal's own and act on the job as
// always; who dies of ^C leaves line mode, which is what a shell wants. In the background
// nothing is read and nothing is set: the prompt waits for the foreground.
//
// # Limits
//
// Colours are not reset: a program may have set a palette in which nothing can be read; then
// nothing can be answered. A user who types the word without reading has approved. Rows are
// at most 80 columns wide, whatever the window is said to be. Rows wider than the window can
// come from one that was narrowed meanwhile, or, in one of less than 80 columns, from a
// program that told the terminal another size (TIOCSWINSZ).
package tty
