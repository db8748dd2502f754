// Package shell reads the text of a shell command for the rules of the gate: the
// simple commands in it, the paths it names, and what about it no rule can judge.
//
// It decides prompts, never containment. A program that is started may do what
// the kernel lets it do, whatever its command line looked like; the sandbox is
// the boundary.
//
//	cmd := shell.Read("cd src && git status > log", shell.Env{Dir: "/w", Home: "/h"})
//	cmd.Units // cd src; git status
//	cmd.Paths // src, judged from /w; log, a write, judged from /w/src
//
// Every simple command is a unit, wherever it stands: in a list, a pipe, a
// subshell, a substitution, a redirect, the body of a heredoc that is not
// quoted, a function, a loop. What encloses it is a unit too, so that nesting
// only adds. A [Floor] says why a unit needs a question although a rule allows
// it: it runs another program, runs text, changes how programs are found, or
// could not be read.
//
// # Limits
//
// Bash is what is read; another shell may read the text in another way. A text
// over [MaxText] is not read at all. Bash evaluates the text of a variable where it
// wants a number or a name; one that the text gives anything but a number has a floor
// there, one that it does not set is taken for harmless. Values of variables are not
// followed otherwise, but
// for HOME and PWD where the text does not set them; a word with another
// expansion in it has a hole. Options such as -C of git, make and tar, which
// move the base of relative paths, are not followed. A copied or renamed program
// is the program that its name says. The tables of wrappers and interpreters
// name what is common; a program that runs others and is not in them has no
// floor.
package shell
